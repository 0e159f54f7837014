//! What a program is told by its machine: the time, and randomness. Here the C library's functions for both are replaced, for
//! all that runs in the simulation; elsewhere they do what they always do. So everything is a function of the seed: also what
//! libraries do, from the order of a hash map to the clock of a lease.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use libc::{c_int, c_long, c_uint, c_void, clockid_t, size_t, ssize_t, timespec};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::time::Instant;

/// The time of a host's clocks, from those of its runtime.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    /// When the host's runtime was started, by its own clock.
    pub start: Instant,
    /// How long its machine had been running then.
    pub uptime: Duration,
    /// The wall clock then, since 1970.
    pub wall: Duration,
}

thread_local! {
    static CLOCKS: Cell<Option<Clocks>> = const { Cell::new(None) };
    static RANDOMNESS: RefCell<Option<StdRng>> = const { RefCell::new(None) };
    static PANICS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Makes all randomness of this thread follow from a seed. To be called before anything else in the thread.
pub fn seed(seed: u64) {
    RANDOMNESS.set(Some(StdRng::seed_from_u64(seed)));
}

/// What programs of this thread have panicked about: the runtime goes on without the task.
#[must_use]
pub fn panics() -> Vec<String> {
    PANICS.take()
}

/// While this lives, programs of this thread are told the time of these clocks.
#[derive(Debug)]
pub struct Told(());

impl Told {
    /// From now on.
    #[must_use]
    pub fn by(clocks: Clocks) -> Self {
        CLOCKS.set(Some(clocks));
        Self(())
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        CLOCKS.set(None);
    }
}

/// Keeps the functions below in the program, and has panics noted.
pub fn install() {
    std::panic::set_hook(Box::new(|panic| {
        // Threads of the simulation end with all that is theirs; what others panic about is for them to say.
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

fn told(clock: clockid_t) -> Option<Duration> {
    // Taken away meanwhile: the runtime may ask for the time itself.
    let clocks = CLOCKS.try_with(Cell::take).ok()??;
    let elapsed = Instant::now().saturating_duration_since(clocks.start);
    CLOCKS.set(Some(clocks));
    Some(elapsed + if clock == libc::CLOCK_REALTIME { clocks.wall } else { clocks.uptime })
}

/// The C library's function.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    let Some(told) = told(clock) else {
        // SAFETY: the caller's arguments, as they are.
        return unsafe { libc::syscall(libc::SYS_clock_gettime, c_long::from(clock), time) } as c_int;
    };
    let told = timespec { tv_sec: told.as_secs() as i64, tv_nsec: c_long::from(told.subsec_nanos() as i32) };
    // SAFETY: the caller says that a time may be written there.
    unsafe { time.write(told) };
    0
}

/// The C library's function.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(buffer: *mut c_void, len: size_t, flags: c_uint) -> ssize_t {
    let drawn = RANDOMNESS.try_with(|randomness| {
        let mut randomness = randomness.try_borrow_mut().ok()?;
        let randomness = randomness.as_mut()?;
        for place in 0..len {
            // SAFETY: the caller says that so many bytes may be written there.
            unsafe { buffer.cast::<u8>().add(place).write(randomness.random()) };
        }
        Some(len as ssize_t)
    });
    match drawn {
        Ok(Some(drawn)) => drawn,
        // SAFETY: the caller's arguments, as they are.
        _ => unsafe { libc::syscall(libc::SYS_getrandom, buffer, len, flags) as ssize_t },
    }
}
