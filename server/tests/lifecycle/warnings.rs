//! Counts log lines.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

/// Counts the warnings of this thread while this value lives.
pub struct Warnings {
    count: Arc<AtomicUsize>,
    _logging: DefaultGuard,
}

impl Warnings {
    pub fn start() -> Self {
        let count = Arc::<AtomicUsize>::default();
        let logging = tracing_subscriber::registry().with(Counting(count.clone()));
        Self { count, _logging: tracing::subscriber::set_default(logging) }
    }

    pub fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }
}

struct Counting(Arc<AtomicUsize>);

impl<S: Subscriber> Layer<S> for Counting {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() <= Level::WARN {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
}
