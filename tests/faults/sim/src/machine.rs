//! Replaces the C library's sources of time and randomness for all code that runs in the simulation; other threads get
//! the real ones. A run is therefore a function of its seed, including the behaviour of libraries, from the order of a
//! hash map to the clock of a lease.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use libc::{c_int, c_long, c_uint, c_void, clockid_t, size_t, ssize_t, timespec};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::time::Instant;

/// A host's clocks, derived from the clock of its runtime.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    /// Start of the runtime, by its own clock.
    pub start: Instant,
    /// Uptime of the machine at that time.
    pub uptime: Duration,
    /// Wall clock at that time, since 1970.
    pub wall: Duration,
}

thread_local! {
    static CLOCKS: Cell<Option<Clocks>> = const { Cell::new(None) };
    static RANDOMNESS: RefCell<Option<StdRng>> = const { RefCell::new(None) };
    static PANICS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Derives all randomness of this thread from a seed. Call it before anything else in the thread.
pub fn seed(seed: u64) {
    RANDOMNESS.set(Some(StdRng::seed_from_u64(seed)));
}

/// Takes the panics of programs in this thread. The runtime continues without the panicked task.
#[must_use]
pub fn panics() -> Vec<String> {
    PANICS.take()
}

/// While this guard lives, programs of this thread read the time from these clocks.
#[derive(Debug)]
pub struct ClockGuard(());

impl ClockGuard {
    /// Installs the clocks until the guard is dropped.
    #[must_use]
    pub fn install(clocks: Clocks) -> Self {
        CLOCKS.set(Some(clocks));
        Self(())
    }
}

impl Drop for ClockGuard {
    fn drop(&mut self) {
        CLOCKS.set(None);
    }
}

/// Keeps the functions below linked into the program, and installs a panic hook that records panics.
pub fn install() {
    std::panic::set_hook(Box::new(|panic| {
        // A simulation thread may already have dropped its thread locals; panics of other threads are printed as usual.
        let _ = PANICS.try_with(|panics| panics.borrow_mut().push(panic.to_string()));
        if RANDOMNESS
            .try_with(|randomness| randomness.try_borrow().is_ok_and(|seeded| seeded.is_none()))
            .unwrap_or(true)
        {
            eprintln!("{panic}");
        }
    }));
    std::hint::black_box(clock_gettime as unsafe extern "C" fn(clockid_t, *mut timespec) -> c_int);
    std::hint::black_box(getrandom as unsafe extern "C" fn(*mut c_void, size_t, c_uint) -> ssize_t);
}

fn simulated_time(clock: clockid_t) -> Option<Duration> {
    // The clocks are taken out for the duration of the call, because the runtime may ask for the time itself.
    let clocks = CLOCKS.try_with(Cell::take).ok()??;
    let elapsed = Instant::now().saturating_duration_since(clocks.start);
    CLOCKS.set(Some(clocks));
    Some(elapsed + if clock == libc::CLOCK_REALTIME { clocks.wall } else { clocks.uptime })
}

/// Replaces the C library's function.
///
/// # Safety
/// Same as the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    let Some(now) = simulated_time(clock) else {
        // SAFETY: the caller's arguments are passed on unchanged.
        return unsafe { libc::syscall(libc::SYS_clock_gettime, c_long::from(clock), time) } as c_int;
    };
    let now = timespec { tv_sec: now.as_secs() as i64, tv_nsec: c_long::from(now.subsec_nanos() as i32) };
    // SAFETY: the caller guarantees that `time` is writable.
    unsafe { time.write(now) };
    0
}

/// Replaces the C library's function.
///
/// # Safety
/// Same as the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(buffer: *mut c_void, len: size_t, flags: c_uint) -> ssize_t {
    let drawn = RANDOMNESS.try_with(|randomness| {
        let mut randomness = randomness.try_borrow_mut().ok()?;
        let randomness = randomness.as_mut()?;
        for index in 0..len {
            // SAFETY: the caller guarantees that `len` bytes are writable.
            unsafe { buffer.cast::<u8>().add(index).write(randomness.random()) };
        }
        Some(len as ssize_t)
    });
    match drawn {
        Ok(Some(drawn)) => drawn,
        // SAFETY: the caller's arguments are passed on unchanged.
        _ => unsafe { libc::syscall(libc::SYS_getrandom, buffer, len, flags) as ssize_t },
    }
}
