//! The requests.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use tenure_client::{Metadata, Progress, SessionOptions};

/// A request; `tests/blackbox/scenarios/README.md` explains the fields.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(crate) enum Request {
    Hello,
    Connect(Connect),
    Close {
        client: String,
    },
    Session {
        client: String,
        session: String,
        #[serde(flatten)]
        options: SessionFields,
    },
    SessionState {
        session: String,
    },
    AwaitState {
        session: String,
        state: String,
    },
    CloseSession {
        session: String,
    },
    Acquire {
        guard: String,
        #[serde(flatten)]
        acquire: Acquire,
    },
    Cancel {
        request: u64,
    },
    Hold {
        guard: String,
    },
    AwaitLost {
        guard: String,
    },
    Tick {
        guard: String,
    },
    Release {
        guard: String,
    },
    Drop {
        guard: String,
    },
    Update {
        guard: String,
        #[serde(default)]
        metadata: Metadata,
    },
    TransferTo {
        guard: String,
        session_id: Option<String>,
    },
    AwaitTransfer {
        guard: String,
    },
    Run {
        run: String,
        #[serde(flatten)]
        acquire: Acquire,
    },
    AwaitBody {
        run: String,
    },
    Finish {
        run: String,
    },
    Lead(Lead),
    AwaitLeading {
        election: String,
    },
    AwaitNotLeading {
        election: String,
    },
    Resign {
        election: String,
    },
    Stop {
        election: String,
    },
    Leader {
        client: String,
        name: String,
    },
    Observe {
        client: String,
        watch: String,
        name: String,
    },
    Watch(WatchFields),
    Next {
        watch: String,
    },
    Unwatch {
        watch: String,
    },
    Join {
        member: String,
        #[serde(flatten)]
        place: Place,
    },
    Standing {
        member: String,
    },
    AwaitStanding(AwaitStanding),
    Assign {
        member: String,
        assignments: Vec<String>,
    },
    Leave {
        member: String,
    },
    TakePart {
        member: String,
        #[serde(flatten)]
        place: Place,
    },
    ConfigureGroup {
        client: String,
        group: String,
        config: Option<String>,
        expected_revision: Option<u64>,
    },
    GetGroup {
        client: String,
        group: String,
    },
    GetLock {
        client: String,
        name: String,
    },
    Evict(Evict),
    Transfer(Transfer),
    ConfigureLock(ConfigureLock),
    Measure {
        session: String,
        endpoint: String,
        turns: usize,
    },
    HoldMany {
        session: String,
        count: usize,
    },
}

/// The names of all requests.
pub(crate) const ALL: &str = "hello connect close session session_state await_state close_session acquire cancel hold \
    await_lost tick release drop update transfer_to await_transfer run await_body finish lead await_leading \
    await_not_leading resign stop leader observe watch next unwatch join standing await_standing assign leave \
    take_part configure_group get_group get_lock evict transfer configure_lock measure hold_many";

#[derive(Debug, Deserialize)]
pub(crate) struct Connect {
    pub(crate) client: String,
    pub(crate) endpoints: Option<Vec<String>>,
    pub(crate) namespace: Option<String>,
    pub(crate) connect_timeout_ms: Option<u64>,
    pub(crate) call_timeout_ms: Option<u64>,
    pub(crate) ca_cert: Option<PathBuf>,
    pub(crate) client_cert: Option<PathBuf>,
    pub(crate) client_key: Option<PathBuf>,
    pub(crate) tls_server_name: Option<String>,
    pub(crate) token: Option<String>,
    pub(crate) token_file: Option<PathBuf>,
}

/// The options of a session.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct SessionFields {
    pub(crate) ttl_ms: Option<u64>,
    pub(crate) disconnect_grace_ms: Option<u64>,
    pub(crate) owner: Option<String>,
    #[serde(default)]
    pub(crate) metadata: Metadata,
    pub(crate) session_id: Option<String>,
    pub(crate) stall_after_ms: Option<u64>,
}

impl SessionFields {
    /// Options of a session opened for a claim or a membership, whose labels and progress are not the session's.
    pub(crate) fn bare(&self) -> SessionOptions {
        let mut options = SessionOptions::new();
        if let Some(ttl) = self.ttl_ms {
            options = options.ttl(Duration::from_millis(ttl));
        }
        if let Some(grace) = self.disconnect_grace_ms {
            options = options.disconnect_grace(Duration::from_millis(grace));
        }
        if let Some(owner) = &self.owner {
            options = options.owner(owner);
        }
        if let Some(id) = &self.session_id {
            options = options.id(id);
        }
        options
    }

    /// Options of a standalone session.
    pub(crate) fn full(&self) -> SessionOptions {
        let mut options = self.bare();
        for (key, value) in &self.metadata {
            options = options.metadata(key, value);
        }
        if let Some(within) = self.stall_after_ms {
            options = options.renew_while(&Progress::within(Duration::from_millis(within)));
        }
        options
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Acquire {
    pub(crate) client: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) names: Vec<String>,
    pub(crate) wait_ms: Option<u64>,
    pub(crate) mode: Option<String>,
    pub(crate) permits: Option<u32>,
    pub(crate) limit: Option<u32>,
    pub(crate) priority: Option<i32>,
    pub(crate) min_hold_ms: Option<u64>,
    #[serde(flatten)]
    pub(crate) options: SessionFields,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Lead {
    pub(crate) client: String,
    pub(crate) election: String,
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) options: SessionFields,
}

#[derive(Debug, Deserialize)]
pub(crate) struct WatchFields {
    pub(crate) client: String,
    pub(crate) watch: String,
    #[serde(default)]
    pub(crate) names: Vec<String>,
    #[serde(default)]
    pub(crate) prefixes: Vec<String>,
    #[serde(default)]
    pub(crate) groups: Vec<String>,
    pub(crate) after_revision: Option<u64>,
}

/// The group that a member joins.
#[derive(Debug, Deserialize)]
pub(crate) struct Place {
    pub(crate) client: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) group: String,
    #[serde(flatten)]
    pub(crate) options: SessionFields,
}

#[derive(Debug, Deserialize)]
pub(crate) struct AwaitStanding {
    pub(crate) member: String,
    pub(crate) leads: Option<bool>,
    pub(crate) assignment: Option<String>,
    pub(crate) current: Option<bool>,
    pub(crate) member_count: Option<usize>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Evict {
    pub(crate) client: String,
    pub(crate) name: String,
    pub(crate) token: Option<u64>,
    #[serde(default)]
    pub(crate) operator: String,
    #[serde(default)]
    pub(crate) note: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Transfer {
    pub(crate) client: String,
    pub(crate) name: String,
    pub(crate) to: Option<String>,
    pub(crate) drain_ms: Option<u64>,
    #[serde(default)]
    pub(crate) operator: String,
    #[serde(default)]
    pub(crate) note: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ConfigureLock {
    pub(crate) client: String,
    pub(crate) name: String,
    pub(crate) limit: Option<u32>,
    pub(crate) preempt: Option<PreemptFields>,
    #[serde(default)]
    pub(crate) operator: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct PreemptFields {
    pub(crate) settling_ms: Option<u64>,
    pub(crate) drain_ms: Option<u64>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_that_is_said_to_be_known_is() {
        for name in ALL.split_whitespace() {
            let read = serde_json::from_value::<Request>(json!({"do": name}));
            let is_known = read.map_or_else(|error| error.to_string().contains("missing field"), |_| true);
            assert!(is_known, "{name}");
        }
        let unknown = serde_json::from_value::<Request>(json!({"do": "rain"})).unwrap_err().to_string();
        assert_eq!(unknown.matches('`').count() / 2 - 1, ALL.split_whitespace().count(), "{unknown}");
    }
}
