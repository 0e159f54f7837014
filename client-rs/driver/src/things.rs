//! Objects that requests have named.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tenure_client::{Client, Session};

use crate::answer::Failure;
use crate::election::Leading;
use crate::group::Member;
use crate::lock::{Held, Run};
use crate::running::Running;
use crate::watch::Watching;

/// All named objects, and the requests in progress.
#[derive(Default)]
pub(crate) struct Things {
    pub(crate) running: Running,
    pub(crate) clients: Named<Client>,
    pub(crate) sessions: Named<Session>,
    pub(crate) holds: Named<Held>,
    pub(crate) runs: Named<Run>,
    pub(crate) elections: Named<Leading>,
    pub(crate) watches: Named<Watching>,
    pub(crate) members: Named<Member>,
}

/// Objects of one kind, by name.
pub(crate) struct Named<T> {
    things: Mutex<HashMap<String, Arc<T>>>,
}

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self { things: Mutex::default() }
    }
}

impl<T> Named<T> {
    /// Stores the object, replacing any of the same name.
    pub(crate) fn put(&self, name: String, thing: T) -> Arc<T> {
        let thing = Arc::new(thing);
        self.lock().insert(name, Arc::clone(&thing));
        thing
    }

    pub(crate) fn get(&self, name: &str) -> Result<Arc<T>, Failure> {
        self.lock().get(name).cloned().ok_or_else(|| missing::<T>(name))
    }

    pub(crate) fn take(&self, name: &str) -> Result<Arc<T>, Failure> {
        self.lock().remove(name).ok_or_else(|| missing::<T>(name))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<T>>> {
        self.things.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn missing<T>(name: &str) -> Failure {
    let kind = std::any::type_name::<T>().rsplit("::").next().unwrap_or_default();
    Failure::Driver(format!("there is no {kind} \"{name}\""))
}
