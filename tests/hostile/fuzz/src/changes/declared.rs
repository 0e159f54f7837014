//! Commands of clients drawn from bytes: of few clients, whose numbers rise, or are repeated.

use tenure_core::{
    Change, Client, Command, Declaration, DeclaredClaim, DeclaredMembership, DeclaredSession, Hello, Revision,
    ServerId, Table, Text,
};

use super::{GROUPS, home, labels, mode, names, opening, session};
use crate::draw::Draw;

const CLIENTS: [&str; 2] = ["mia", "nik"];

/// The most declarations or changes of one command, and the most items of each kind in a declaration.
const FEW: usize = 3;

/// The numbers of a client.
struct Numbers {
    last: u64,
}

impl Numbers {
    /// The next number, or one that may have been used.
    fn draw(&mut self, draw: &mut Draw<'_>) -> u64 {
        if draw.below(4) == 3 {
            return 1 + draw.below(16) as u64 % self.last.max(1);
        }
        self.last += 1;
        self.last
    }
}

/// A command of a client, or of its server.
pub(super) fn command(draw: &mut Draw<'_>, table: &Table) -> Command {
    let client = Text::from(draw.of(&CLIENTS));
    let found = table.client(&client);
    let mut numbers = Numbers { last: found.map_or(0, |client| client.last) };
    let kind = draw.below(8);
    if kind < 2 {
        let (epoch, home) = (found.map_or(0, |client| client.epoch) + draw.of(&[1, 2, 0]), home(draw));
        let (received, known) = (table.revision(), known(draw, found));
        let declared = (0..draw.below(FEW)).map(|_| declaration(draw, &mut numbers)).collect();
        return Command::Connect(Hello { client, epoch, home, received, identity: None, known, declared });
    }
    let (epoch, home) = connection(draw, found);
    match kind {
        2 => Command::AbandonClient { client, epoch, home, since: Revision(draw.number()) },
        3 => Command::EndClient { client, epoch, home },
        _ => {
            let changes = (0..=draw.below(FEW)).map(|_| change(draw, &mut numbers)).collect();
            let connected = Revision(u64::MAX);
            Command::Change { client, epoch, home, connected, changes }
        }
    }
}

/// The epoch and the home of a client, usually the current ones.
fn connection(draw: &mut Draw<'_>, found: Option<&Client>) -> (u64, ServerId) {
    match found.filter(|_| draw.below(8) < 7) {
        Some(client) => (client.epoch, client.home),
        None => (draw.of(&[1, 2, 3]), home(draw)),
    }
}

/// A part of what a client has, and a number that it may not have.
fn known(draw: &mut Draw<'_>, found: Option<&Client>) -> Vec<u64> {
    let items = found.into_iter().flat_map(|client| client.items.after(0, usize::MAX)).map(|(number, _)| number);
    let mut known: Vec<u64> = items.filter(|_| draw.below(4) < 3).collect();
    known.extend(draw.maybe(|draw| 1 + draw.below(16) as u64));
    known
}

fn change(draw: &mut Draw<'_>, numbers: &mut Numbers) -> Change {
    match draw.below(4) {
        0 => Change::Withdraw(1 + draw.below(16) as u64 % numbers.last.max(1)),
        _ => Change::Declare(declaration(draw, numbers)),
    }
}

fn declaration(draw: &mut Draw<'_>, numbers: &mut Numbers) -> Declaration {
    let number = numbers.draw(draw);
    let opening = draw.maybe(|draw| DeclaredSession {
        id: session(draw),
        disconnect_grace: draw.maybe(Draw::millis),
        opening: opening(draw),
    });
    let claims = (0..draw.below(FEW)).map(|_| claim(draw, numbers)).collect();
    let memberships = (0..draw.below(FEW)).map(|_| membership(draw, numbers)).collect();
    Declaration { session: number, opening, claims, memberships }
}

fn claim(draw: &mut Draw<'_>, numbers: &mut Numbers) -> DeclaredClaim {
    DeclaredClaim {
        number: numbers.draw(draw),
        names: names(draw),
        mode: mode(draw),
        queue: !draw.flag(),
        priority: draw.of(&[0, 1, -1]),
        metadata: labels(draw),
        min_hold: draw.maybe(Draw::millis).unwrap_or_default(),
    }
}

fn membership(draw: &mut Draw<'_>, numbers: &mut Numbers) -> DeclaredMembership {
    DeclaredMembership { number: numbers.draw(draw), group: draw.of(&GROUPS).into(), metadata: labels(draw) }
}
