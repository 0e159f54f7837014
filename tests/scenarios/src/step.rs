//! The steps of a scenario.

use serde::Deserialize;
use serde_json::{Map, Value};

/// One step.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct Step {
    /// What is done.
    pub act: Act,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Act {
    /// Asks a client to do something.
    Ask(Ask),
    /// Waits for the answer to what was started.
    Await(Await),
    /// Asks a server, again and again, until it is so.
    Until(Until),
    /// Something goes wrong, or right again.
    Fault(Fault),
    /// What a watch tells next, be it in one item or in several.
    Told(Told),
    /// What was started is not answered yet.
    Pending(Pending),
    /// What was started was answered in this order.
    Order(Order),
    /// What is known already is so.
    That(That),
}

impl TryFrom<Map<String, Value>> for Step {
    type Error = String;

    fn try_from(step: Map<String, Value>) -> Result<Self, String> {
        let shown = Value::Object(step.clone());
        let has = |key: &str| step.contains_key(key);
        let step = shown.clone();
        // What has expectations shares their fields, so that unknown ones are found here.
        const KNOWN: [&str; 10] =
            ["at", "do", "with", "start", "times", "await", "expect", "error", "within_ms", "at_least_ms"];
        if (has("do") || has("await"))
            && let Some(unknown) =
                shown.as_object().and_then(|step| step.keys().find(|key| !KNOWN.contains(&key.as_str())))
        {
            return Err(format!("an unknown field \"{unknown}\", in {shown}"));
        }
        let act = if has("do") {
            serde_json::from_value(step).map(Act::Ask)
        } else if has("await") {
            serde_json::from_value(step).map(Act::Await)
        } else if has("until") {
            serde_json::from_value(step).map(Act::Until)
        } else if has("fault") {
            serde_json::from_value(step).map(Act::Fault)
        } else if has("told") {
            serde_json::from_value(step).map(Act::Told)
        } else if has("pending") {
            serde_json::from_value(step).map(Act::Pending)
        } else if has("order") {
            serde_json::from_value(step).map(Act::Order)
        } else if has("that") {
            serde_json::from_value(step).map(Act::That)
        } else {
            return Err(format!("a step that does nothing: {shown}"));
        };
        act.map(|act| Self { act }).map_err(|error| format!("{error}, in {shown}"))
    }
}

impl Act {
    /// What was started before, and is spoken of here.
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

/// Asks a client to do something.
#[derive(Clone, Debug, Deserialize)]
pub struct Ask {
    /// Which client.
    pub at: String,
    /// Which request.
    #[serde(rename = "do")]
    pub request: String,
    /// Its fields.
    #[serde(default)]
    pub with: Map<String, Value>,
    /// It goes on in the background, by this name.
    #[serde(default)]
    pub start: Option<String>,
    /// So many times, one after the other. Default: once.
    #[serde(default = "once")]
    pub times: usize,
    /// What is to be answered.
    #[serde(flatten)]
    pub expected: Expected,
}

/// What is to be answered, and when.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Expected {
    /// The answer.
    #[serde(default)]
    pub expect: Option<Value>,
    /// It fails like this.
    #[serde(default)]
    pub error: Option<Value>,
    /// From when the step begins.
    #[serde(default)]
    pub within_ms: Option<u64>,
    /// From when it was asked.
    #[serde(default)]
    pub at_least_ms: Option<u64>,
}

/// Waits for the answer to what was started.
#[derive(Clone, Debug, Deserialize)]
pub struct Await {
    /// Its name.
    #[serde(rename = "await")]
    pub started: String,
    /// What is to be answered.
    #[serde(flatten)]
    pub expected: Expected,
}

/// Asks a server, again and again, until it is so.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// What is asked for (`lock`, `group`, `session`, `sessions`), and how it is to be.
    pub until: Map<String, Value>,
    /// From when the step begins.
    #[serde(default)]
    pub within_ms: Option<u64>,
}

/// Something goes wrong, or right again.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// What happens.
    #[serde(rename = "fault")]
    pub kind: FaultKind,
    /// To which client, or to the server that it is connected to.
    #[serde(default)]
    pub client: Option<String>,
    /// To which server, from 1.
    #[serde(default)]
    pub server: Option<usize>,
    /// How a network is cut.
    #[serde(default)]
    pub how: Cut,
}

/// What goes wrong, or right again.
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
    /// Starts what was ended.
    StartServer,
    /// Nothing comes through between a client and all servers.
    Cut,
    /// All comes through.
    Mend,
    /// The database is down.
    StopDatabase,
    /// The database is up again.
    StartDatabase,
}

impl FaultKind {
    pub(crate) fn is_of_a_server(self) -> bool {
        matches!(self, Self::KillServer | Self::FreezeServer | Self::ThawServer | Self::StopServer | Self::StartServer)
    }

    pub(crate) fn is_of_the_database(self) -> bool {
        matches!(self, Self::StopDatabase | Self::StartDatabase)
    }
}

/// How a network is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// What is sent waits.
    #[default]
    Hold,
    /// Connections end, and no new ones come about.
    Close,
}

/// What a watch tells next, be it in one item or in several.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Told {
    /// At which client.
    pub at: String,
    /// The watch.
    #[serde(rename = "told")]
    pub watch: String,
    /// What happened to locks: exactly this.
    #[serde(default)]
    pub events: Vec<Value>,
    /// What happened to groups: exactly this.
    #[serde(default)]
    pub group_events: Vec<Value>,
    /// So many times, one after the other. Default: once.
    #[serde(default = "once")]
    pub times: usize,
    /// From when the step begins.
    #[serde(default)]
    pub within_ms: Option<u64>,
}

/// What was started is not answered yet.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pending {
    /// The names.
    #[serde(rename = "pending")]
    pub started: Vec<String>,
}

/// What was started was answered in this order.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The names.
    #[serde(rename = "order")]
    pub started: Vec<String>,
}

/// What is known already is so.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct That {
    /// What is known.
    pub that: Value,
    /// How it is to be.
    pub is: Value,
}
