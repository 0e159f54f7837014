//! Detection of warnings that PostgreSQL issues during a statement. The driver reports them only to `tracing`.

use std::cell::Cell;
use std::pin::pin;
use std::sync::LazyLock;

use tracing::dispatcher::{self, Dispatch};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// The target under which the driver reports them.
const TARGET: &str = "sqlx::postgres::notice";

static LISTENER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(Registry::default().with(Listener)));

thread_local! {
    /// Whether a warning was issued since the last check.
    static WARNED: Cell<bool> = const { Cell::new(false) };
}

/// Receives these warnings only.
struct Listener;

impl<S: Subscriber> Layer<S> for Listener {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.target() == TARGET && *metadata.level() <= Level::WARN
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::WARN)
    }

    fn on_event(&self, _: &Event<'_>, _: Context<'_, S>) {
        WARNED.set(true);
    }
}

/// Runs a request, and returns whether PostgreSQL issued a warning meanwhile.
pub(crate) async fn with_warnings<T>(asked: impl Future<Output = T>) -> (T, bool) {
    let mut asked = pin!(asked);
    let mut warned = false;
    let done = std::future::poll_fn(|context| {
        WARNED.set(false);
        let polled = dispatcher::with_default(&LISTENER, || asked.as_mut().poll(context));
        warned |= WARNED.take();
        polled
    });
    (done.await, warned)
}
