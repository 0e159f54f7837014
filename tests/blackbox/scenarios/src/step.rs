//! The steps of a scenario.

use serde::Deserialize;
use serde_json::{Map, Value};

/// One step.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct Step {
    /// The action.
    pub action: Action,
}

/// The action of a step.
#[derive(Clone, Debug)]
pub enum Action {
    /// Sends a request to a client.
    Request(Request),
    /// Waits for the reply to a started request.
    Await(Await),
    /// Queries a server repeatedly until the state matches.
    Until(Until),
    /// Applies or ends a fault.
    Fault(Fault),
    /// Checks the next events of a watch, in one or several items.
    Events(Events),
    /// Checks that started requests have no reply yet.
    Pending(Pending),
    /// Checks that started requests were replied to in this order.
    Order(Order),
    /// Compares stored values.
    That(That),
}

impl TryFrom<Map<String, Value>> for Step {
    type Error = String;

    fn try_from(step: Map<String, Value>) -> Result<Self, String> {
        let shown = Value::Object(step.clone());
        let has = |key: &str| step.contains_key(key);
        let step = shown.clone();
        // Steps with expectations share their fields, so unknown fields are found here.
        const KNOWN: [&str; 10] =
            ["at", "do", "with", "start", "times", "await", "expect", "error", "within_ms", "at_least_ms"];
        if (has("do") || has("await"))
            && let Some(unknown) =
                shown.as_object().and_then(|step| step.keys().find(|key| !KNOWN.contains(&key.as_str())))
        {
            return Err(format!("an unknown field \"{unknown}\", in {shown}"));
        }
        let action = if has("do") {
            serde_json::from_value(step).map(Action::Request)
        } else if has("await") {
            serde_json::from_value(step).map(Action::Await)
        } else if has("until") {
            serde_json::from_value(step).map(Action::Until)
        } else if has("fault") {
            serde_json::from_value(step).map(Action::Fault)
        } else if has("notified") {
            serde_json::from_value(step).map(Action::Events)
        } else if has("pending") {
            serde_json::from_value(step).map(Action::Pending)
        } else if has("order") {
            serde_json::from_value(step).map(Action::Order)
        } else if has("that") {
            serde_json::from_value(step).map(Action::That)
        } else {
            return Err(format!("a step that does nothing: {shown}"));
        };
        action.map(|action| Self { action }).map_err(|error| format!("{error}, in {shown}"))
    }
}

impl Action {
    /// The names of the earlier started requests that this step refers to.
    pub(crate) fn awaits(&self) -> Vec<&String> {
        match self {
            Self::Await(wait) => vec![&wait.started],
            Self::Pending(pending) => pending.started.iter().collect(),
            Self::Order(order) => order.started.iter().collect(),
            _ => Vec::new(),
        }
    }
}

fn once() -> usize {
    1
}

/// Sends a request to a client.
#[derive(Clone, Debug, Deserialize)]
pub struct Request {
    /// The client.
    pub at: String,
    /// The request.
    #[serde(rename = "do")]
    pub kind: String,
    /// Its fields.
    #[serde(default)]
    pub with: Map<String, Value>,
    /// The name under which it continues in the background.
    #[serde(default)]
    pub start: Option<String>,
    /// The number of repetitions in sequence. Default: 1.
    #[serde(default = "once")]
    pub times: usize,
    /// The expected reply.
    #[serde(flatten)]
    pub expected: Expected,
}

/// The expected reply, and its time.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Expected {
    /// The reply.
    #[serde(default)]
    pub expect: Option<Value>,
    /// The expected error.
    #[serde(default)]
    pub error: Option<Value>,
    /// The time limit, from the start of the step.
    #[serde(default)]
    pub within_ms: Option<u64>,
    /// The minimum duration, from the request.
    #[serde(default)]
    pub at_least_ms: Option<u64>,
}

/// Waits for the reply to a started request.
#[derive(Clone, Debug, Deserialize)]
pub struct Await {
    /// Its name.
    #[serde(rename = "await")]
    pub started: String,
    /// The expected reply.
    #[serde(flatten)]
    pub expected: Expected,
}

/// Queries a server repeatedly until the state matches.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// The object (`lock`, `group`, `session`, `sessions`), and its expected state.
    pub until: Map<String, Value>,
    /// The time limit, from the start of the step.
    #[serde(default)]
    pub within_ms: Option<u64>,
}

/// Applies or ends a fault.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The kind.
    #[serde(rename = "fault")]
    pub kind: FaultKind,
    /// The client, or the client whose server it affects.
    #[serde(default)]
    pub client: Option<String>,
    /// The server, from 1.
    #[serde(default)]
    pub server: Option<usize>,
    /// How a network is cut.
    #[serde(default)]
    pub how: Cut,
    /// Which part of it is cut.
    #[serde(default)]
    pub scope: Scope,
}

/// The kind of a fault, or of its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// SIGKILL to a driver.
    KillClient,
    /// SIGSTOP to a driver.
    FreezeClient,
    /// SIGCONT to a driver.
    ThawClient,
    /// SIGKILL to a server.
    KillServer,
    /// SIGSTOP to a server.
    FreezeServer,
    /// SIGCONT to a server.
    ThawServer,
    /// SIGTERM to a server.
    StopServer,
    /// Restarts a server that was killed or stopped.
    StartServer,
    /// Cuts the network between a client and servers.
    Cut,
    /// Restores the network.
    Heal,
    /// Stops the database.
    StopDatabase,
    /// Starts the database.
    StartDatabase,
}

impl FaultKind {
    pub(crate) fn affects_a_server(self) -> bool {
        matches!(self, Self::KillServer | Self::FreezeServer | Self::ThawServer | Self::StopServer | Self::StartServer)
    }

    pub(crate) fn affects_the_database(self) -> bool {
        matches!(self, Self::StopDatabase | Self::StartDatabase)
    }
}

/// How a network is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// Data is held back.
    #[default]
    Hold,
    /// Data from servers is held back.
    HoldReplies,
    /// Connections are closed, and new ones fail.
    Close,
}

/// Which part of a client's network is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// That to all servers.
    #[default]
    All,
    /// That to the server which it is connected to.
    Current,
}

/// Checks the next events of a watch, in one or several items.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Events {
    /// The client.
    pub at: String,
    /// The watch.
    #[serde(rename = "notified")]
    pub watch: String,
    /// The exact events of locks.
    #[serde(default)]
    pub events: Vec<Value>,
    /// The exact events of groups.
    #[serde(default)]
    pub group_events: Vec<Value>,
    /// The number of repetitions in sequence. Default: 1.
    #[serde(default = "once")]
    pub times: usize,
    /// The time limit, from the start of the step.
    #[serde(default)]
    pub within_ms: Option<u64>,
}

/// Checks that started requests have no reply yet.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pending {
    /// The names.
    #[serde(rename = "pending")]
    pub started: Vec<String>,
}

/// Checks that started requests were replied to in this order.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The names.
    #[serde(rename = "order")]
    pub started: Vec<String>,
}

/// Compares stored values.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct That {
    /// The value.
    pub that: Value,
    /// The expected value.
    pub is: Value,
}
