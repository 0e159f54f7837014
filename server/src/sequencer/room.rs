//! Room for commands that wait to be decided. Without room, what would make more work is refused at once: so what waits is
//! decided before its askers have gone, and renewals, which never wait here, are answered in time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tenure_core::{Command, GroupCommand};

/// How many commands may wait. The fastest databases see so many decided within half a second.
const ROOM: usize = 16_384;

/// Counts the commands of a namespace that wait.
#[derive(Clone, Debug, Default)]
pub(super) struct Room(Arc<AtomicUsize>);

impl Room {
    /// Whether as many wait as may.
    pub(super) fn is_full(&self) -> bool {
        self.taken() >= ROOM
    }

    /// Whether this command may wait. What gives something back, or ends a wait, always may.
    pub(super) fn admits(&self, command: &Command) -> bool {
        !self.is_full() || !makes_work(command)
    }

    /// How many wait.
    pub(super) fn taken(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// So many wait from now on.
    pub(super) fn take(&self, commands: usize) {
        self.0.fetch_add(commands, Ordering::Relaxed);
    }

    /// So many wait no more.
    pub(super) fn give_back(&self, commands: usize) {
        self.0.fetch_sub(commands, Ordering::Relaxed);
    }
}

/// Whether more comes of it: a hold to be ended, a session to be renewed.
fn makes_work(command: &Command) -> bool {
    matches!(
        command.asked(),
        Command::Acquire { .. } | Command::OpenSession { .. } | Command::Group(GroupCommand::Join { .. })
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tenure_core::{Opening, ServerId, Text};

    use super::*;

    fn open() -> Command {
        let (owner, metadata) = (Text::from(""), Arc::default());
        let opening = Opening { ttl: Duration::from_secs(1), disconnect_grace: None, owner, metadata, identity: None };
        Command::OpenSession { session: "ann".into(), opening, home: ServerId(1), attachment: 0, client: None }
    }

    #[test]
    fn without_room_only_what_ends_something_is_admitted() {
        let room = Room::default();
        room.take(ROOM - 1);
        assert!(room.admits(&open()));
        room.take(1);
        assert!(!room.admits(&open()));
        assert!(room.admits(&Command::CloseSession { session: "ann".into(), client: None }));
        room.give_back(1);
        assert!(room.admits(&open()));
    }
}
