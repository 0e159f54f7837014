//! Accounts for the memory that each connection holds in this server: incomplete messages and unsent answers.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures::task::AtomicWaker;
use tenure_core::Rejection;

use crate::limits::{
    Budget, Buffer, Buffers, INCOMPLETE, INCOMPLETE_OF_CONNECTION, Share, UNSENT, UNSENT_OF_CONNECTION, WATCHES_UNSENT,
    WATCHES_UNSENT_AT_LEAST,
};
use crate::telemetry::log_throttle::LogThrottle;

/// The interval at which closed connections are logged.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// The accounts of all connections.
#[derive(Clone)]
pub(crate) struct Accounts(Arc<Shared>);

struct Shared {
    incomplete: Budget,
    incomplete_counts: Buffer,
    unsent: AtomicUsize,
    unsent_counts: Buffer,
    next: AtomicU64,
    open: Mutex<HashMap<u64, Weak<Account>>>,
    closed: Mutex<LogThrottle>,
}

/// The account of one connection.
pub(crate) struct Account {
    shared: Arc<Shared>,
    number: u64,
    host: Option<IpAddr>,
    incomplete: AtomicUsize,
    unsent: Mutex<Sending>,
    /// Wakes the task that serves the connection.
    task: AtomicWaker,
}

/// The unsent answers of a connection.
#[derive(Default)]
struct Sending {
    bytes: usize,
    /// On closing, its bytes are subtracted from the total.
    is_closed: bool,
    /// Watches that wait for fewer unsent bytes.
    waiting: Vec<Waker>,
}

/// The received part of an incomplete message.
pub(crate) struct Incomplete {
    account: Arc<Account>,
    share: Option<Share>,
}

/// An answer, or part of one, counted until it is sent or dropped.
pub(crate) struct Unsent {
    account: Arc<Account>,
    bytes: usize,
}

impl Accounts {
    pub(crate) fn new(buffers: &Buffers) -> Self {
        let (incomplete_counts, unsent_counts) = (buffers.of("incomplete_messages"), buffers.of("unsent_answers"));
        unsent_counts.limit.set(i64::try_from(UNSENT).unwrap_or(i64::MAX));
        Self(Arc::new(Shared {
            incomplete: Budget::new(INCOMPLETE, incomplete_counts.clone()),
            incomplete_counts,
            unsent: AtomicUsize::new(0),
            unsent_counts,
            next: AtomicU64::new(0),
            open: Mutex::default(),
            closed: Mutex::new(LogThrottle::every(LOG_INTERVAL)),
        }))
    }

    /// Opens the account of a connection from this host.
    pub(crate) fn open(&self, host: Option<IpAddr>) -> Arc<Account> {
        let shared = self.0.clone();
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        let account = Arc::new(Account {
            shared,
            number,
            host,
            incomplete: AtomicUsize::new(0),
            unsent: Mutex::default(),
            task: AtomicWaker::new(),
        });
        self.0.open().insert(number, Arc::downgrade(&account));
        account
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, HashMap<u64, Weak<Account>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the connection with the most unsent bytes when the total exceeds its limit.
    fn close_worst(&self) {
        // Collected first: dropping the last reference to an account takes the lock.
        let all: Vec<_> = self.open().values().filter_map(Weak::upgrade).collect();
        let worst = all.iter().max_by_key(|account| account.sending().bytes);
        if let Some(worst) = worst {
            worst.close();
        }
    }

    fn add_unsent(&self, bytes: usize) -> usize {
        self.unsent_counts.bytes.inc_by(signed(bytes));
        self.unsent.fetch_add(bytes, Ordering::Relaxed) + bytes
    }

    fn subtract_unsent(&self, bytes: usize) {
        self.unsent_counts.bytes.dec_by(signed(bytes));
        self.unsent.fetch_sub(bytes, Ordering::Relaxed);
    }
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

impl Account {
    fn sending(&self) -> MutexGuard<'_, Sending> {
        self.unsent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the connection.
    pub(crate) fn close(&self) {
        let unsent = {
            let mut sending = self.sending();
            if std::mem::replace(&mut sending.is_closed, true) {
                return;
            }
            std::mem::take(&mut sending.bytes)
        };
        self.shared.subtract_unsent(unsent);
        self.shared.unsent_counts.refused.inc();
        self.task.wake();
        let mut closed = self.shared.closed.lock().unwrap_or_else(PoisonError::into_inner);
        if closed.on_error(tokio::time::Instant::now()) {
            tracing::warn!(from = ?self.host, unsent, "closing connections whose clients do not read their responses");
        }
    }

    /// Starts accounting for a new message.
    pub(crate) fn incomplete(self: &Arc<Self>) -> Incomplete {
        Incomplete { account: self.clone(), share: None }
    }

    /// Counts an answer. If the connection exceeds its limit, it is closed; if the total does, the worst connection is.
    pub(crate) fn unsent(self: &Arc<Self>, bytes: usize) -> Unsent {
        let of_this = {
            let mut sending = self.sending();
            if sending.is_closed {
                return Unsent { account: self.clone(), bytes: 0 };
            }
            sending.bytes += bytes;
            sending.bytes
        };
        let all = self.shared.add_unsent(bytes);
        if of_this > UNSENT_OF_CONNECTION {
            self.close();
        } else if all > UNSENT {
            self.shared.close_worst();
        }
        Unsent { account: self.clone(), bytes }
    }

    /// Whether the connection is closed because its client does not read its answers.
    pub(crate) fn is_closed(&self) -> bool {
        self.sending().is_closed
    }

    /// Waits until a watch may send more.
    pub(crate) fn poll_room(&self, context: &Context<'_>) -> Poll<()> {
        let is_much = self.shared.unsent.load(Ordering::Relaxed) >= UNSENT / 2;
        let limit = if is_much { WATCHES_UNSENT_AT_LEAST } else { WATCHES_UNSENT };
        let mut sending = self.sending();
        if sending.bytes < limit {
            return Poll::Ready(());
        }
        sending.waiting.push(context.waker().clone());
        Poll::Pending
    }

    /// Whether the connection is closed; otherwise registers this task to be woken when it is.
    pub(super) fn poll_closed(&self, context: &Context<'_>) -> bool {
        self.task.register(context.waker());
        self.is_closed()
    }
}

impl std::fmt::Debug for Account {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Account").field(&self.number).finish()
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.shared.open().remove(&self.number);
    }
}

impl Drop for Unsent {
    fn drop(&mut self) {
        let waiting = {
            let mut sending = self.account.sending();
            if sending.is_closed {
                return;
            }
            sending.bytes -= self.bytes;
            // With hysteresis, so that not every sent byte wakes all watches.
            if sending.bytes <= WATCHES_UNSENT / 2 { std::mem::take(&mut sending.waiting) } else { Vec::new() }
        };
        self.account.shared.subtract_unsent(self.bytes);
        waiting.into_iter().for_each(Waker::wake);
    }
}

impl Incomplete {
    /// Sets the number of bytes held for the message.
    ///
    /// # Errors
    /// If the connection or the server has no room for them.
    pub(crate) fn hold(&mut self, bytes: usize) -> Result<(), Rejection> {
        let Account { shared, incomplete, .. } = &*self.account;
        let held = self.share.as_ref().map_or(0, Share::bytes);
        let Some(more) = bytes.checked_sub(held) else {
            incomplete.fetch_sub(held - bytes, Ordering::Relaxed);
            match &mut self.share {
                Some(share) if bytes > 0 => share.shrink_to(bytes),
                _ => self.share = None,
            }
            return Ok(());
        };
        if incomplete.fetch_add(more, Ordering::Relaxed) + more > INCOMPLETE_OF_CONNECTION {
            incomplete.fetch_sub(more, Ordering::Relaxed);
            shared.incomplete_counts.refused.inc();
            let (limit, bound) = ("incomplete message bytes of a connection", INCOMPLETE_OF_CONNECTION);
            return Err(Rejection::LimitReached { limit, bound });
        }
        let has_room = match &mut self.share {
            Some(share) => share.try_grow(&shared.incomplete, more),
            none => {
                *none = shared.incomplete.try_take(more);
                none.is_some()
            }
        };
        if !has_room {
            incomplete.fetch_sub(more, Ordering::Relaxed);
            return Err(Rejection::LimitReached {
                limit: "incomplete message bytes of this server",
                bound: INCOMPLETE,
            });
        }
        Ok(())
    }
}

impl Drop for Incomplete {
    fn drop(&mut self) {
        // Shrinking cannot fail.
        let _ = self.hold(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1024 * 1024;

    #[test]
    fn incomplete_messages_are_bounded_for_each_connection_and_for_all() {
        let accounts = Accounts::new(&Buffers::default());
        let limit = |held: Result<(), Rejection>| match held {
            Err(Rejection::LimitReached { limit, .. }) => Some(limit),
            _ => None,
        };
        let open = || accounts.open(None);
        let (connection, mut held) = (open(), Vec::new());
        for _ in 0..INCOMPLETE_OF_CONNECTION / MIB {
            let mut message = connection.incomplete();
            assert_eq!(message.hold(MIB / 2).and_then(|()| message.hold(MIB)), Ok(()));
            held.push(message);
        }
        let mut more = connection.incomplete();
        assert_eq!(limit(more.hold(1)), Some("incomplete message bytes of a connection"));
        held.pop();
        assert_eq!(more.hold(MIB), Ok(()));
        assert_eq!(more.hold(0).and_then(|()| more.hold(1)), Ok(()), "a complete message no longer counts");
        drop((held, more));
        let mut held: Vec<_> = (0..INCOMPLETE / MIB).map(|_| open().incomplete()).collect();
        held.iter_mut().for_each(|message| assert_eq!(message.hold(MIB), Ok(())));
        assert_eq!(limit(open().incomplete().hold(1)), Some("incomplete message bytes of this server"));
        held.clear();
        assert_eq!(open().incomplete().hold(1), Ok(()));
        assert_eq!(accounts.0.incomplete_counts.bytes.get(), 0);
    }

    #[test]
    fn connection_with_too_many_unsent_bytes_is_closed() {
        let accounts = Accounts::new(&Buffers::default());
        let (connection, other) = (accounts.open(None), accounts.open(None));
        let first = connection.unsent(UNSENT_OF_CONNECTION);
        assert!(!connection.is_closed());
        drop(first);
        let _all = connection.unsent(UNSENT_OF_CONNECTION);
        let _more = connection.unsent(1);
        assert!(connection.is_closed() && !other.is_closed());
        assert_eq!((accounts.0.unsent.load(Ordering::Relaxed), accounts.0.unsent_counts.refused.get()), (0, 1));
    }

    #[test]
    fn connection_with_the_most_unsent_bytes_is_closed_if_all_have_too_many() {
        let accounts = Accounts::new(&Buffers::default());
        let (small, large) = (accounts.open(None), accounts.open(None));
        let _large = large.unsent(2 * MIB);
        let others: Vec<_> = (0..UNSENT / MIB - 2).map(|_| accounts.open(None)).collect();
        let _others: Vec<_> = others.iter().map(|other| other.unsent(MIB)).collect();
        assert!(!large.is_closed(), "below the limit of all connections");
        let _small = small.unsent(1);
        assert!(large.is_closed() && !small.is_closed());
        assert!(!others.iter().any(|other| other.is_closed()));
        drop((small, large, others));
    }

    #[test]
    fn watches_wait_until_their_client_has_received_the_unsent_bytes() {
        let accounts = Accounts::new(&Buffers::default());
        let (connection, woken) = (accounts.open(None), Arc::<Woken>::default());
        let waker = Waker::from(woken.clone());
        let context = Context::from_waker(&waker);
        let (half, rest) = (connection.unsent(WATCHES_UNSENT / 2), connection.unsent(WATCHES_UNSENT / 2));
        assert!(connection.poll_room(&context).is_pending());
        assert_eq!(woken.0.load(Ordering::Relaxed), 0);
        drop(half);
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        assert!(connection.poll_room(&context).is_ready());
        drop(rest);
    }

    #[test]
    fn watches_wait_for_less_while_much_is_unsent_in_all_connections() {
        let accounts = Accounts::new(&Buffers::default());
        let (one, other, woken) = (accounts.open(None), accounts.open(None), Arc::<Woken>::default());
        let waker = Waker::from(woken.clone());
        let context = Context::from_waker(&waker);
        let sent = one.unsent(WATCHES_UNSENT_AT_LEAST);
        assert!(one.poll_room(&context).is_ready());
        let _unread = other.unsent(UNSENT / 2);
        assert!(one.poll_room(&context).is_pending());
        drop(sent);
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        assert!(one.poll_room(&context).is_ready(), "its own client has read everything");
    }

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl std::task::Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}
