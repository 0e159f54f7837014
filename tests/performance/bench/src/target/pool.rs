//! A connection pool, as used by programs for their database.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Connections that are used by one client at a time, first come, first served.
#[derive(Debug)]
pub struct Pool<C> {
    connections: Mutex<Vec<C>>,
    free: Semaphore,
}

/// A borrowed connection.
#[derive(Debug)]
pub struct Taken<'a, C> {
    pool: &'a Pool<C>,
    // None only while it is dropped.
    connection: Option<C>,
    _permit: SemaphorePermit<'a>,
}

impl<C> Pool<C> {
    /// A pool of these connections.
    pub fn new(connections: Vec<C>) -> Self {
        Self { free: Semaphore::new(connections.len()), connections: Mutex::new(connections) }
    }

    /// Waits for a free connection.
    pub async fn take(&self) -> anyhow::Result<Taken<'_, C>> {
        let permit = self.free.acquire().await?;
        let connection = self.connections.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Ok(Taken { pool: self, connection: Some(connection.context("the pool is empty")?), _permit: permit })
    }
}

impl<C> Deref for Taken<'_, C> {
    type Target = C;

    fn deref(&self) -> &C {
        self.connection.as_ref().expect("a connection until the drop")
    }
}

impl<C> DerefMut for Taken<'_, C> {
    fn deref_mut(&mut self) -> &mut C {
        self.connection.as_mut().expect("a connection until the drop")
    }
}

impl<C> Drop for Taken<'_, C> {
    fn drop(&mut self) {
        let mut connections = self.pool.connections.lock().unwrap_or_else(PoisonError::into_inner);
        connections.extend(self.connection.take());
    }
}
