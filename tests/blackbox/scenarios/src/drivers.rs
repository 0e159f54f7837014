//! Drivers that have run a scenario and run another: some languages take a second of processor time to start.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use anyhow::bail;
use serde_json::Map;
use tokio::time::timeout;

use crate::clients::ClientSpec;
use crate::driver::Driver;
use crate::participant::START;

/// The idle drivers of each client.
#[derive(Debug, Default)]
pub(crate) struct Drivers(Mutex<HashMap<String, Vec<Driver>>>);

impl Drivers {
    /// An idle driver, or a new one.
    ///
    /// # Errors
    /// If it cannot be started, or does not reply.
    pub(crate) async fn take(&self, client: &ClientSpec) -> anyhow::Result<Driver> {
        let idle = self.lock().get_mut(&client.name).and_then(Vec::pop);
        let mut driver = match idle {
            Some(driver) => driver,
            None => Driver::start(client.driver()?)?,
        };
        let (_, answer) = driver.channel.ask("hello", &Map::new()).await?;
        match timeout(START, answer).await {
            Ok(Ok(_)) => Ok(driver),
            Ok(Err(_)) => bail!("the driver ended instead of starting:\n{}", driver.channel.log()),
            Err(_) => bail!("the driver did not start within {START:?}:\n{}", driver.channel.log()),
        }
    }

    /// Keeps an idle driver, whose clients are closed.
    pub(crate) fn put(&self, client: &ClientSpec, driver: Driver) {
        self.lock().entry(client.name.clone()).or_default().push(driver);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Vec<Driver>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
