//! Lists the output of each command with `--output json`.

use crate::output::fields;

/// The output of a command.
#[derive(Debug)]
pub struct Printed {
    /// The command without `tenure`.
    pub command: &'static str,
    /// The API message that it prints, if it is one.
    pub message: Option<&'static str>,
    /// The names of the top-level fields.
    pub fields: Vec<String>,
    /// Whether it prints a stream, one document per line.
    pub lines: bool,
}

const MESSAGES: [(&str, &str); 23] = [
    ("watch", "WatchResponse"),
    ("ls", "ListLocksResponse"),
    ("get", "GetLockResponse"),
    ("history", "ListHistoryResponse"),
    ("group ls", "ListGroupsResponse"),
    ("group get", "GetGroupResponse"),
    ("group set", "ConfigureGroupResponse"),
    ("group clear", "ConfigureGroupResponse"),
    ("group watch", "WatchResponse"),
    ("sessions", "ListSessionsResponse"),
    ("sessions ID", "GetSessionResponse"),
    ("acquire", "AcquireResponse"),
    ("renew", "RenewResponse"),
    ("release", "ReleaseResponse"),
    ("close", "CloseSessionResponse"),
    ("transfer", "TransferResponse"),
    ("evict", "EvictResponse"),
    ("set", "ConfigureLockResponse"),
    ("set NAME", "GetLockResponse"),
    ("blocked", "ListBlockedResponse"),
    ("servers", "ListServersResponse"),
    // These print the output of CMD.
    ("lock", ""),
    ("elect", ""),
];

const OWN: [(&str, &[&str]); 10] = [
    ("why", &["lock", "revision", "session", "waiters", "history"]),
    ("group join", &["group", "member", "leads", "assignment", "current", "lost"]),
    ("top", &["servers", "locks", "sessions", "silent"]),
    ("doctor", &["healthy", "endpoints", "local"]),
    ("fence-sql", &["dialect", "script"]),
    ("cheat", &["groups", "grpcurl"]),
    ("exit-codes", &["exitCodes", "ofCommand"]),
    ("json", &["commands"]),
    ("completions", &["shell", "script"]),
    ("man", &["pages"]),
];

/// The commands that print a stream.
const LINES: [&str; 3] = ["watch", "group watch", "group join"];

/// The output of all commands, in the order of the help.
pub fn printed() -> Vec<Printed> {
    let messages = MESSAGES.into_iter().map(|(command, message)| Printed {
        command,
        message: Some(message).filter(|message| !message.is_empty()),
        fields: fields(message),
        lines: LINES.contains(&command),
    });
    let own = OWN.into_iter().map(|(command, fields)| Printed {
        command,
        message: None,
        fields: fields.iter().map(ToString::to_string).collect(),
        lines: LINES.contains(&command),
    });
    messages.chain(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_those_of_the_contract() {
        for one in printed().iter().filter(|one| one.message.is_some()) {
            assert!(!one.fields.is_empty() || one.message == Some("CloseSessionResponse"), "{one:?}");
        }
    }
}
