//! Number of watchers, and lag of the slowest one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::task::AtomicWaker;
use tokio::time::Instant;

use super::Hub;

/// Number of readers examined before the lock is released for others.
const LOOKED_AT: usize = 1_024;

/// The watchers of a namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Watchers {
    pub(crate) count: usize,
    /// Longest time for which a watcher has had something to read; 0 if all have caught up.
    pub(crate) lag: Duration,
}

/// Wakes a reader and records since when it lags.
pub(super) struct Notifier {
    waker: AtomicWaker,
    began: Instant,
    /// When it began to lag, in ms after `began`, plus one; 0 if it does not lag.
    lags_since: AtomicU64,
}

impl Notifier {
    /// The notifier of a new reader, which lags until it has read the current state.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { waker: AtomicWaker::new(), began: Instant::now(), lags_since: AtomicU64::new(1) })
    }

    pub(super) fn register(&self, waker: &std::task::Waker) {
        self.waker.register(waker);
    }

    pub(super) fn wake(&self) {
        self.waker.wake();
    }

    pub(super) fn notify(&self) {
        self.lags();
        self.wake();
    }

    pub(super) fn lags(&self) {
        if self.lags_since.load(Ordering::Relaxed) == 0 {
            let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX - 1) + 1;
            let _ = self.lags_since.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    pub(super) fn caught_up(&self) {
        self.lags_since.store(0, Ordering::Relaxed);
    }

    fn lag(&self) -> Duration {
        match self.lags_since.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            since => self.began.elapsed().saturating_sub(Duration::from_millis(since - 1)),
        }
    }
}

impl Hub {
    pub(crate) fn watchers(&self) -> Watchers {
        let subscriptions: Vec<_> = self.index().all().cloned().collect();
        let mut watchers = Watchers::default();
        for subscription in subscriptions {
            for readers in subscription.reader_pages(LOOKED_AT) {
                watchers.count += readers.len();
                watchers.lag = readers.iter().map(|reader| reader.lag()).fold(watchers.lag, Duration::max);
            }
        }
        watchers
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use tenure_core::{Event, Recorded, Revision, ServerId, Table};

    use super::*;
    use crate::limits::Budget;
    use crate::limits::Buffer;
    use crate::store::Batch;
    use crate::watch::{Encoded, Encoder, Filter, Groups, Reader, Received};

    /// Encodes every event as an empty message.
    struct Empty;

    impl Encoder for Empty {
        fn events(&self, _: &Filter, _: &Batch, _: &Groups) -> Encoded {
            Encoded::Messages(Bytes::new())
        }

        fn progress(&self, _: Revision) -> Bytes {
            Bytes::new()
        }
    }

    fn publish(hub: &Hub, revision: u64) {
        let event = Event::LockConfigured {
            name: "job".into(),
            settings: tenure_core::LockSettings::default(),
            by: tenure_core::Eviction { operator: "ann".into(), note: "".into() },
        };
        let (previous, revision) = (Revision(revision - 1), Revision(revision));
        let events = vec![Recorded { revision, event }];
        let (namespace, server) = ("default".into(), ServerId(1));
        let batch = Batch { namespace, previous, events, server, number: revision.0, at_ms: 0 };
        hub.publish(Arc::new(batch), &Table::default());
    }

    async fn receive(reader: &mut Reader, known: u64) -> Received {
        std::future::poll_fn(|context| reader.poll_receive(Revision(known), context)).await
    }

    /// Lets the fan-out run.
    async fn settle() {
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn lag_counts_from_the_oldest_message_that_was_not_received() {
        let hub = Arc::new(Hub::new(Budget::new(1_000, Buffer::default())));
        assert_eq!(hub.watchers(), Watchers::default());
        let filter = Filter { names: ["job".to_owned()].into(), ..Filter::default() };
        let (mut reader, fan_out) = Reader::new(&hub, filter, 1);
        let fan_out = fan_out.expect("the first one");
        tokio::spawn(fan_out.run(&Empty, std::future::pending(), std::future::pending()));
        let second = Duration::from_secs(1);
        tokio::time::advance(second).await;
        assert_eq!(hub.watchers(), Watchers { count: 1, lag: second }, "the message is not received");

        assert!(reader.join(Revision(0)));
        assert!(futures::poll!(Box::pin(receive(&mut reader, 0))).is_pending());
        tokio::time::advance(second).await;
        assert_eq!(hub.watchers(), Watchers { count: 1, lag: Duration::ZERO });

        publish(&hub, 1);
        settle().await;
        tokio::time::advance(second).await;
        publish(&hub, 2);
        settle().await;
        tokio::time::advance(second).await;
        assert_eq!(hub.watchers().lag, 2 * second, "neither message is received");
        receive(&mut reader, 0).await;
        receive(&mut reader, 1).await;
        assert!(futures::poll!(Box::pin(receive(&mut reader, 2))).is_pending());
        assert_eq!(hub.watchers().lag, Duration::ZERO);
        drop(reader);
        assert_eq!(hub.watchers(), Watchers::default());
    }
}
