//! Backpressure for commands that wait to be decided. Without room, what would make more work is refused at once: so what waits is
//! decided before its askers have gone, and renewals, which never wait here, are answered in time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tenure_core::{Command, GroupCommand, metadata_bytes};

use crate::limits;

/// How many commands may wait. The fastest databases see so many decided within half a second.
const QUEUE_LIMIT: usize = 16_384;

/// How much waits, or is to wait.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Load {
    commands: usize,
    bytes: usize,
}

impl Load {
    /// That of these commands.
    pub(super) fn of<'a>(commands: impl IntoIterator<Item = &'a Command>) -> Self {
        commands.into_iter().fold(Self::default(), |load, command| Self {
            commands: load.commands + 1,
            bytes: load.bytes + text_bytes(command),
        })
    }
}

/// Counts the commands of a namespace that wait.
#[derive(Clone, Debug, Default)]
pub(super) struct Backpressure(Arc<Taken>);

#[derive(Debug, Default)]
struct Taken {
    commands: AtomicUsize,
    bytes: AtomicUsize,
}

impl Backpressure {
    /// Whether as much waits as may.
    pub(super) fn is_full(&self) -> bool {
        self.commands() >= QUEUE_LIMIT || self.0.bytes.load(Ordering::Relaxed) >= limits::QUEUE_BYTES
    }

    /// Whether this command may wait. What gives something back, or ends a wait, always may.
    pub(super) fn admits(&self, command: &Command) -> bool {
        !self.is_full() || !makes_work(command)
    }

    /// How many commands wait.
    pub(super) fn commands(&self) -> usize {
        self.0.commands.load(Ordering::Relaxed)
    }

    /// So much waits from now on.
    pub(super) fn take(&self, load: Load) {
        self.0.commands.fetch_add(load.commands, Ordering::Relaxed);
        self.0.bytes.fetch_add(load.bytes, Ordering::Relaxed);
    }

    /// So much waits no more.
    pub(super) fn give_back(&self, load: Load) {
        self.0.commands.fetch_sub(load.commands, Ordering::Relaxed);
        self.0.bytes.fetch_sub(load.bytes, Ordering::Relaxed);
    }
}

/// How many bytes the texts of a command take: what it attaches, and its names.
pub(super) fn text_bytes(command: &Command) -> usize {
    let (names, metadata, opening) = match command {
        Command::Group(command) => return command.bytes(),
        Command::Acquire { names, metadata, opening, .. } => (Some(names), Some(metadata), opening.as_ref()),
        Command::CancelAcquire { names, .. } => (Some(names), None, None),
        Command::UpdateClaim { metadata, .. } => (None, Some(metadata), None),
        Command::OpenSession { opening, .. } => (None, None, Some(opening)),
        _ => (None, None, None),
    };
    let names: usize = names.into_iter().flat_map(|names| names.iter()).map(|name| name.len()).sum();
    let attached = metadata.into_iter().chain(opening.map(|opening| &opening.metadata));
    names + attached.map(metadata_bytes).sum::<usize>()
}

/// Whether more comes of it: a hold to be ended, a session to be renewed.
fn makes_work(command: &Command) -> bool {
    matches!(command, Command::Acquire { .. } | Command::OpenSession { .. } | Command::Group(GroupCommand::Join { .. }))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tenure_core::{Metadata, Opening, ServerId, Text};

    use super::*;

    fn open(metadata: Metadata) -> Command {
        let owner = Text::from("");
        let opening = Opening { ttl: Duration::from_secs(1), disconnect_grace: None, owner, metadata, identity: None };
        Command::OpenSession { session: "ann".into(), opening, home: ServerId(1), attachment: 0, client: None }
    }

    #[test]
    fn without_room_only_what_ends_something_is_admitted() {
        let large = open(Arc::new([("label".to_owned(), "x".repeat(limits::QUEUE_BYTES))].into()));
        let many = Load { commands: QUEUE_LIMIT, bytes: 0 };
        for load in [many, Load::of([&large])] {
            let (room, open) = (Backpressure::default(), open(Arc::default()));
            assert!(room.admits(&open));
            room.take(load);
            assert!(!room.admits(&open));
            assert!(room.admits(&Command::CloseSession { session: "ann".into(), client: None }));
            room.give_back(load);
            assert!(room.admits(&open) && room.commands() == 0);
        }
    }
}
