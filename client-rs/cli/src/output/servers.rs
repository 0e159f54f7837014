//! Servers as text.

use tenure_proto::v1::{ListServersResponse, Server};

use super::locks::{duration, or_dash};
use super::style::{finish, plain, table};

/// A list of servers.
pub fn servers(response: &ListServersResponse) -> String {
    let mut table = table(&["SERVER", "ADDRESS", "STATE", "SESSIONS", "LAST BEAT", "LEASE", "ID"]);
    for server in &response.servers {
        table.add_row([
            plain(&server.label),
            or_dash(&server.address),
            state(server).to_owned(),
            server.sessions.to_string(),
            since_beat(server),
            duration(server.lease),
            server.id.to_string(),
        ]);
    }
    format!("{}\n{}", finish(&table), database(response))
}

fn state(server: &Server) -> &'static str {
    match (server.dead, server.answering) {
        (true, _) => "dead, not yet adopted",
        (false, true) => "lives, answers this",
        (false, false) => "lives",
    }
}

fn since_beat(server: &Server) -> String {
    match server.since_beat {
        Some(_) => format!("{} ago", duration(server.since_beat)),
        None => "-".to_owned(),
    }
}

/// How the database does, as the server that answers finds it.
fn database(response: &ListServersResponse) -> String {
    let lease = match response.lease_left {
        Some(_) => format!("the server's lease holds on for {}", duration(response.lease_left)),
        None => "the server needs no lease".to_owned(),
    };
    format!("the database took {} for the last beat; {lease}", duration(response.beat_took))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: i64) -> Option<prost_types::Duration> {
        Some(prost_types::Duration { seconds, nanos: 0 })
    }

    #[test]
    fn who_is_dead_and_who_answers_is_told() {
        let living = Server { label: "one".into(), answering: true, since_beat: seconds(1), ..Server::default() };
        let dead = Server { label: "two".into(), dead: true, sessions: 7, ..Server::default() };
        let response = ListServersResponse { servers: vec![living, dead], ..ListServersResponse::default() };
        let text = servers(&response);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[1].starts_with("one ") && lines[1].contains("answers this") && lines[1].contains("1s ago"),
            "{text}"
        );
        assert!(lines[2].starts_with("two ") && lines[2].contains("dead, not yet adopted"), "{text}");
        assert!(lines[3].contains("needs no lease"), "{text}");
    }
}
