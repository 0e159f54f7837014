//! The build version metric.

use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

pub(super) fn register(registry: &mut Registry) {
    let labels = vec![("version", env!("CARGO_PKG_VERSION"))];
    registry.register("build", "Version of the server", Info::new(labels));
}
