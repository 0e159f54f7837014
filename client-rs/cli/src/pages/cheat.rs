//! The most useful commands, on one screen.

/// A command with its description.
type Line = (&'static str, &'static str);

/// Commands of `tenure`, in groups.
pub const CHEAT: [(&str, &[Line]); 5] = [
    (
        "Hold",
        &[
            ("tenure lock nightly -- ./report.sh", "wait without limit, then run"),
            ("tenure lock -n nightly -- ./report.sh", "run now or exit with 1"),
            ("tenure lock -w 30s nightly -- ./report.sh", "wait for 30 s at most"),
            ("tenure lock --shared db -- ./read.sh", "together with other readers"),
            ("tenure lock --limit 5 pool -- ./load.sh", "at most 5 at a time"),
            ("tenure elect leader -- ./serve", "one leads, the others stand by"),
        ],
    ),
    (
        "Look",
        &[
            ("tenure ls", "the locks and their holders"),
            ("tenure get leader", "the holder, and the queue"),
            ("tenure why leader", "explain the state"),
            ("tenure watch leader", "the events as they happen"),
            ("tenure history leader", "past holds, and why they ended"),
            ("tenure blocked --deadlocks", "exits with 1 if there are any"),
            ("tenure top", "the namespace, every second"),
            ("tenure doctor", "check servers and clocks"),
        ],
    ),
    (
        "Operate",
        &[
            ("tenure transfer leader", "to the next, without a gap"),
            ("tenure evict nightly --note 'host is dead'", "end a hold"),
            ("tenure close worker-7", "end a session and its claims"),
            ("tenure set pool --limit 8", "change a limit"),
        ],
    ),
    (
        "Groups",
        &[
            ("tenure group set quota 1000", "a config for all members"),
            ("tenure group join quota --assign ./divide", "join, and print the share"),
            ("tenure group get quota", "members, leader, shares"),
        ],
    ),
    (
        "Scripts",
        &[
            ("tenure acquire job --session me --ttl 1m", "acquire, or exit with 1"),
            ("tenure renew me", "extend the session by its TTL"),
            ("tenure release job --session me --token 42", "release"),
            ("tenure ls -o json | jq -r '.locks[].name'", "any result as JSON"),
            ("tenure fence-sql postgres | psql \"$URL\"", "let a database check tokens"),
        ],
    ),
];

/// API calls without `tenure`: the server supports reflection.
pub const GRPCURL: [&str; 4] = [
    r#"grpcurl -plaintext -d '{"names": ["job"], "sessionId": "me", "ttl": "60s"}' \
      localhost:7420 tenure.v1.LockService/Acquire"#,
    r#"grpcurl -plaintext -d '{"sessionId": "me"}' \
      localhost:7420 tenure.v1.SessionService/Renew"#,
    r#"grpcurl -plaintext -d '{"name": "job", "sessionId": "me", "token": 42}' \
      localhost:7420 tenure.v1.LockService/Release"#,
    "grpcurl -plaintext localhost:7420 tenure.v1.LockService/ListLocks",
];

#[cfg(test)]
mod tests {
    use prost_reflect::{DescriptorPool, DynamicMessage};

    use super::*;
    use crate::args::command;
    use crate::pages::examples::commands;

    #[test]
    fn every_command_is_one_of_this_version() {
        for (shown, _) in CHEAT.iter().flat_map(|(_, lines)| *lines) {
            let found = commands(&format!("  {shown}"));
            assert_eq!(found.len(), 1, "{shown}");
            command().try_get_matches_from(&found[0]).unwrap_or_else(|error| panic!("{shown}\n{error}"));
        }
    }

    #[test]
    fn every_call_is_one_of_the_contract() {
        let pool = DescriptorPool::decode(tenure_proto::FILE_DESCRIPTOR_SET).unwrap();
        for shown in GRPCURL {
            let words = shlex::split(shown).unwrap();
            let (service, method) = words.last().unwrap().split_once('/').unwrap();
            let service = pool.get_service_by_name(service).unwrap_or_else(|| panic!("{shown}"));
            let method = service.methods().find(|known| known.name() == method).unwrap_or_else(|| panic!("{shown}"));
            let data = words.iter().skip_while(|word| *word != "-d").nth(1).map_or("{}", String::as_str);
            let mut reader = serde_json::Deserializer::from_str(data);
            DynamicMessage::deserialize(method.input(), &mut reader).unwrap_or_else(|error| panic!("{shown}\n{error}"));
        }
    }
}
