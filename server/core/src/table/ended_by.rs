//! Which claims a command is about to end: their home reports how late the renewals of holds were.

use crate::client::{Change, Item};
use crate::command::Command;
use crate::model::Claim;
use crate::names::Text;
use crate::table::Table;

impl Table {
    /// The claims that a command of their client would end now.
    #[must_use]
    pub fn claims_ended_by(&self, command: &Command) -> Vec<&Claim> {
        match command {
            Command::Release { session, token, .. } => {
                self.claims_in(session).filter(|claim| claim.token() == Some(*token)).collect()
            }
            Command::CloseSession { session, .. } => self.claims_in(session).collect(),
            Command::Change { client, changes, .. } => {
                let mut ended = Vec::new();
                let Some(client) = self.clients.get(client) else { return ended };
                for change in changes {
                    let Change::Withdraw(number) = change else { continue };
                    match client.items.get(*number) {
                        Some(Item::Session(id)) => ended.extend(self.claims_in(&id)),
                        Some(Item::Claim(id)) => ended.extend(self.claims.get(&id)),
                        Some(Item::Membership(_)) | None => {}
                    }
                }
                ended
            }
            _ => Vec::new(),
        }
    }

    fn claims_in(&self, session: &Text) -> impl Iterator<Item = &Claim> {
        self.sessions.get(session).into_iter().flat_map(|found| self.claims_of(found))
    }
}
