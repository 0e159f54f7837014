//! Clients as events change them, and as the journal undoes that.

use crate::client::{Client, Item, Membership};
use crate::model::ServerId;
use crate::names::Text;
use crate::table::journal::Undo;
use crate::table::{Table, count};

impl Table {
    /// Connects a client: it and its sessions have this home from now on.
    pub(in crate::table) fn admit_client(&mut self, id: &Text, epoch: u64, home: ServerId, identity: Option<&Text>) {
        let before = self.connection(id);
        match self.clients.get_mut(id) {
            Some(found) => found.epoch = epoch,
            None => {
                count(&mut self.connected, None, Some(home));
                let client = Client::new(id.clone(), epoch, home, identity.cloned());
                self.clients.insert(id.clone(), client);
            }
        }
        self.move_client(id, home);
        self.note(Undo::ClientConnected { client: id.clone(), before });
    }

    /// The epoch and the home of a client.
    pub(in crate::table) fn connection(&self, id: &Text) -> Option<(u64, ServerId)> {
        self.clients.get(id).map(|found| (found.epoch, found.home))
    }

    /// The reverse of [`Self::admit_client`].
    pub(in crate::table) fn undo_client(&mut self, id: &Text, before: Option<(u64, ServerId)>) {
        match (before, self.clients.get_mut(id)) {
            (Some((epoch, home)), Some(found)) => {
                found.epoch = epoch;
                self.move_client(id, home);
            }
            (None, Some(_)) => self.dismiss_client(id),
            (_, None) => {}
        }
    }

    /// Gives a client and all its sessions another home.
    pub(in crate::table) fn move_client(&mut self, id: &Text, home: ServerId) {
        let Some(client) = self.clients.get_mut(id).filter(|client| client.home != home) else { return };
        count(&mut self.connected, Some(client.home), Some(home));
        client.home = home;
        for session in client.items.sessions() {
            if let Some(session) = self.sessions.get_mut(session) {
                count(&mut self.homes, Some(session.spec.home), Some(home));
                session.spec.home = home;
            }
        }
    }

    pub(in crate::table) fn dismiss_client(&mut self, id: &Text) {
        let Some(client) = self.clients.swap_remove(id) else { return };
        count(&mut self.connected, Some(client.home), None);
        self.note(Undo::ClientEnded(client));
    }

    /// Adds a client that was loaded, or whose end is undone.
    pub(in crate::table) fn insert_client(&mut self, client: Client) {
        count(&mut self.connected, None, Some(client.home));
        self.clients.insert(client.id.clone(), client);
    }

    /// Records that a client has something by this number from now on, or no longer. Ignores what was not declared.
    pub(in crate::table) fn set_item(&mut self, client: Option<&Text>, number: u64, item: Option<Item>) {
        let Some(found) = client.filter(|_| number > 0).and_then(|id| self.clients.get_mut(id)) else { return };
        let before = found.last;
        if item.is_some() {
            found.last = before.max(number);
        }
        found.items.set(number, item);
        if found.last != before {
            let client = found.id.clone();
            self.note(Undo::ClientUsed { client, last: before });
        }
    }

    pub(in crate::table) fn undo_last(&mut self, client: &Text, last: u64) {
        if let Some(found) = self.clients.get_mut(client) {
            found.last = last;
        }
    }

    /// Records a membership as an item, in a way that can be undone.
    pub(in crate::table) fn note_membership(&mut self, session: &Text, group: &Text, number: u64, has: bool) {
        if number > 0 {
            self.set_membership_item(session, group, number, has);
            let (session, group) = (session.clone(), group.clone());
            self.note(Undo::MembershipItem { session, group, number, had: !has });
        }
    }

    /// A membership, as an item of the client that has declared its session.
    pub(in crate::table) fn set_membership_item(&mut self, session: &Text, group: &Text, number: u64, has: bool) {
        let client = self.sessions.get(session).and_then(|found| found.spec.client.as_ref()).cloned();
        let membership = || Item::Membership(Box::new(Membership { session: session.clone(), group: group.clone() }));
        self.set_item(client.as_ref(), number, has.then(membership));
    }
}
