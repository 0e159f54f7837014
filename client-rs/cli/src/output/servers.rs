//! Formats servers as text.

use tenure_proto::v1::{ListServersResponse, Server};

use super::Shown;
use super::locks::or_dash;
use super::style::{Tint, escape};
use super::table::{Cell, Table, column, ids, numbers, tinted};
use super::time::{duration, rough};

/// A list of servers, with the state of the database.
pub fn servers(response: &ListServersResponse) -> Shown {
    let mut table = Table::new([
        column("SERVER", 1),
        column("ADDRESS", 2),
        column("STATE", 1),
        numbers("SESSIONS", 3),
        numbers("LAST HEARTBEAT", 2),
        numbers("LEASE", 4),
        ids("ID", 5),
    ]);
    for server in &response.servers {
        table.row([
            escape(&server.label).into(),
            or_dash(&server.address).into(),
            state(server),
            server.sessions.to_string().into(),
            since_heartbeat(server).into(),
            duration(server.lease).into(),
            server.id.to_string().into(),
        ]);
    }
    Shown { text: Some(table.finish()), note: Some(database(response)) }
}

fn state(server: &Server) -> Cell {
    match (server.dead, server.answering) {
        (true, _) => tinted("dead, not yet adopted", Tint::Bad),
        (false, true) => tinted("alive, replied to this call", Tint::Good),
        (false, false) => tinted("alive", Tint::Good),
    }
}

fn since_heartbeat(server: &Server) -> String {
    match server.since_heartbeat {
        Some(_) => format!("{} ago", rough(server.since_heartbeat)),
        None => "-".to_owned(),
    }
}

/// The state of the database, as measured by the replying server.
fn database(response: &ListServersResponse) -> String {
    let lease = match response.lease_left {
        Some(_) => format!("the server's lease is valid for {}", rough(response.lease_left)),
        None => "the server needs no lease".to_owned(),
    };
    format!("the last heartbeat took {} in the database; {lease}", rough(response.heartbeat_took))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: i64) -> Option<prost_types::Duration> {
        Some(prost_types::Duration { seconds, nanos: 0 })
    }

    #[test]
    fn servers_shows_which_are_dead_and_which_replied() {
        let living = Server { label: "one".into(), answering: true, since_heartbeat: seconds(1), ..Server::default() };
        let dead = Server { label: "two".into(), dead: true, sessions: 7, ..Server::default() };
        let response = ListServersResponse { servers: vec![living, dead], ..ListServersResponse::default() };
        let Shown { text, note } = servers(&response);
        let text = text.unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[1].starts_with("one ") && lines[1].contains("replied to this") && lines[1].contains("1s ago"),
            "{text}"
        );
        assert!(lines[2].starts_with("two ") && lines[2].contains("dead, not yet adopted"), "{text}");
        assert!(note.unwrap().contains("needs no lease"));
    }
}
