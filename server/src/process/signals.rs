//! Receives the signals that a server handles.

use std::future::poll_fn;
use std::task::Poll;

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Some signals with their names. From its creation on, they no longer end the process.
pub struct Signals([(&'static str, Signal); 3]);

impl Signals {
    /// The signals that ask a server to stop.
    ///
    /// # Errors
    /// If the system does not deliver them.
    pub fn stop() -> anyhow::Result<Self> {
        Ok(Self([
            listen("SIGINT", SignalKind::interrupt())?,
            listen("SIGTERM", SignalKind::terminate())?,
            listen("SIGQUIT", SignalKind::quit())?,
        ]))
    }

    /// The signals after which a server continues.
    ///
    /// # Errors
    /// If the system does not deliver them.
    pub fn notice() -> anyhow::Result<Self> {
        Ok(Self([
            listen("SIGHUP", SignalKind::hangup())?,
            listen("SIGUSR1", SignalKind::user_defined1())?,
            listen("SIGUSR2", SignalKind::user_defined2())?,
        ]))
    }

    /// Waits for the next signal and returns its name.
    pub async fn next(&mut self) -> &'static str {
        poll_fn(|context| {
            let mut signals = self.0.iter_mut();
            let received = signals.find_map(|(name, signal)| signal.poll_recv(context).is_ready().then_some(*name));
            received.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

fn listen(name: &'static str, kind: SignalKind) -> anyhow::Result<(&'static str, Signal)> {
    Ok((name, signal(kind).with_context(|| format!("listening for {name}"))?))
}
