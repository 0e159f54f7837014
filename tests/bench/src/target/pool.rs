//! A pool of connections, as programs have one to their database.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Connections that one client at a time uses. Who comes first is served first.
#[derive(Debug)]
pub struct Pool<C> {
    connections: Mutex<Vec<C>>,
    free: Semaphore,
}

/// A connection that is in use.
#[derive(Debug)]
pub struct Taken<'a, C> {
    pool: &'a Pool<C>,
    // None only while it is dropped.
    connection: Option<C>,
    _permit: SemaphorePermit<'a>,
}

impl<C> Pool<C> {
    /// Of these.
    pub fn new(connections: Vec<C>) -> Self {
        Self { free: Semaphore::new(connections.len()), connections: Mutex::new(connections) }
    }

    /// Waits for one that is free.
    pub async fn take(&self) -> anyhow::Result<Taken<'_, C>> {
        let permit = self.free.acquire().await?;
        let connection = self.connections.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Ok(Taken { pool: self, connection: Some(connection.context("the pool is empty")?), _permit: permit })
    }
}

impl<C> Deref for Taken<'_, C> {
    type Target = C;

    fn deref(&self) -> &C {
        self.connection.as_ref().expect("it is there until the drop")
    }
}

impl<C> DerefMut for Taken<'_, C> {
    fn deref_mut(&mut self) -> &mut C {
        self.connection.as_mut().expect("it is there until the drop")
    }
}

impl<C> Drop for Taken<'_, C> {
    fn drop(&mut self) {
        let mut connections = self.pool.connections.lock().unwrap_or_else(PoisonError::into_inner);
        connections.extend(self.connection.take());
    }
}
