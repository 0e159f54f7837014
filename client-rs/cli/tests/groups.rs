//! `tenure group` against a real server.

use crate::support;

use rustix::process::Signal;
use support::{PATIENCE, json, run, server, tenure};
use tenure_harness::Tenured;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout};
use tokio::time::timeout;

/// Divides the config evenly, using only tools present on every system.
const DIVIDE: &str = r#"
group=$(cat)
total=$(printf %s "$group" | sed 's/.*"config":"\([0-9]*\)".*/\1/')
numbers=$(printf %s "$group" | grep -o '"number":"[0-9]*"' | tr -dc '0-9\n')
count=$(printf '%s\n' "$numbers" | wc -l)
for number in $numbers; do echo "$number $((total / count))"; done"#;

/// A process that prints lines.
struct Printing {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Printing {
    fn start(server: &Tenured, arguments: &[&str]) -> Self {
        let mut process = tenure(&server.url(), arguments).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines }
    }

    async fn next(&mut self) -> String {
        timeout(PATIENCE, self.lines.next_line())
            .await
            .expect("the process prints nothing")
            .unwrap()
            .expect("the process ended")
    }

    fn signal(&self, signal: Signal) {
        support::signal(&self.process, signal);
    }
}

#[tokio::test]
async fn config_is_set_read_and_cleared() {
    let server = server().await;
    let first = json(&server, 0, &["group", "set", "g", "1000"]).await["configRevision"].clone();
    let group = json(&server, 0, &["group", "get", "g"]).await["group"].clone();
    assert_eq!((group["config"].as_str(), &group["configRevision"]), (Some("1000"), &first));
    let conflict = json(&server, 1, &["group", "set", "g", "-1", "--expect", "0"]).await;
    assert_eq!(conflict["error"]["reason"], "CONFIG_CONFLICT");
    json(&server, 0, &["group", "set", "g", "-1", "--expect", first.as_str().unwrap()]).await;
    assert_eq!(json(&server, 0, &["group", "ls"]).await["groups"][0]["config"], "-1");
    assert_eq!(json(&server, 0, &["group", "clear", "g"]).await["configRevision"], "0");
    assert_eq!(json(&server, 0, &["group", "ls"]).await["groups"], serde_json::json!([]));

    let large = "x".repeat(65_537);
    let refused = json(&server, 2, &["group", "set", "g", &large]).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("config: 0 to 65536 bytes"), "{refused}");
    let text = run(&server, &["group", "get", "unused"]).await;
    assert_eq!(String::from_utf8_lossy(&text.stdout).lines().next(), Some("unused: no members"));
}

#[tokio::test]
async fn members_print_their_shares_and_replace_a_killed_leader() {
    let server = server().await;
    json(&server, 0, &["group", "set", "g", "1000"]).await;
    let join = ["group", "join", "g", "--ttl", "3s", "--assign", DIVIDE];
    let mut first = Printing::start(&server, &join);
    assert_eq!(first.next().await, "1000");
    let mut second = Printing::start(&server, &join);
    assert_eq!(second.next().await, "500");
    assert_eq!(first.next().await, "500");
    let mut watch = Printing::start(&server, &["group", "watch", "g"]);
    let now = watch.next().await;
    assert!(now.contains("g: 2 members") && now.ends_with("assignments are current"), "{now}");

    first.signal(Signal::KILL);
    assert_eq!(second.next().await, "1000");
    let left = watch.next().await;
    assert!(left.contains("expired: member") && left.contains("leads, token"), "{left}");
    assert!(watch.next().await.contains("assigned, for membership"));

    json(&server, 0, &["group", "set", "g", "600"]).await;
    assert_eq!(second.next().await, "600");
    assert!(watch.next().await.ends_with("config set: 600"));
    second.signal(Signal::TERM);
    assert_eq!(timeout(PATIENCE, second.process.wait()).await.expect("it hangs").unwrap().code(), Some(143));
    // A process killed without leaving would keep its membership until the TTL; this one left on exit.
    assert!(watch.next().await.contains("assigned, for membership"));
    let left = watch.next().await;
    assert!(left.contains("released: member") && left.ends_with("no leader"), "{left}");
}
