//! Backpressure for commands that wait to be decided. When the queue is full, commands that would make more work are
//! rejected at once, so that queued commands are decided before their callers cancel, and renewals, which are never
//! queued here, are answered in time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tenure_core::{
    Acquire, Change, Command, Declaration, DeclaredClaim, DeclaredMembership, DeclaredSession, GroupCommand,
    metadata_bytes,
};

use crate::limits;

/// Maximum number of queued commands, of a client's changes each. The fastest databases commit this many within half a
/// second.
const QUEUE_LIMIT: usize = 16_384;

/// Size of commands that are or will be queued.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Load {
    commands: usize,
    bytes: usize,
}

impl Load {
    pub(super) fn of<'a>(commands: impl IntoIterator<Item = &'a Command>) -> Self {
        commands.into_iter().fold(Self::default(), |load, command| Self {
            commands: load.commands + decisions(command),
            bytes: load.bytes + text_bytes(command),
        })
    }
}

/// Counts the queued commands of a namespace.
#[derive(Clone, Debug, Default)]
pub(super) struct Backpressure(Arc<Queued>);

#[derive(Debug, Default)]
struct Queued {
    commands: AtomicUsize,
    bytes: AtomicUsize,
}

impl Backpressure {
    pub(super) fn is_full(&self) -> bool {
        self.commands() >= QUEUE_LIMIT || self.0.bytes.load(Ordering::Relaxed) >= limits::QUEUE_BYTES
    }

    /// Whether this command may be queued. Commands that release something or end a wait always may.
    pub(super) fn admits(&self, command: &Command) -> bool {
        !self.is_full() || !makes_work(command)
    }

    pub(super) fn commands(&self) -> usize {
        self.0.commands.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, load: Load) {
        self.0.commands.fetch_add(load.commands, Ordering::Relaxed);
        self.0.bytes.fetch_add(load.bytes, Ordering::Relaxed);
    }

    pub(super) fn remove(&self, load: Load) {
        self.0.commands.fetch_sub(load.commands, Ordering::Relaxed);
        self.0.bytes.fetch_sub(load.bytes, Ordering::Relaxed);
    }
}

/// The number of decisions that a command takes.
fn decisions(command: &Command) -> usize {
    match command {
        Command::Connect(hello) => 1 + hello.declared.len(),
        Command::Change { changes, .. } => changes.len(),
        _ => 1,
    }
}

/// Bytes of the texts of a command: what it attaches, and its names. Of a client's command: of all that it carries.
pub(super) fn text_bytes(command: &Command) -> usize {
    let (names, metadata, opening) = match command {
        Command::Group(command) => return command.bytes(),
        Command::Acquire(Acquire { names, metadata, opening, .. }) => (Some(names), Some(metadata), opening.as_ref()),
        Command::CancelAcquire { names, .. } => (Some(names), None, None),
        Command::UpdateClaim { metadata, .. } => (None, Some(metadata), None),
        Command::OpenSession { opening, .. } => (None, None, Some(opening)),
        Command::Connect(hello) => {
            return size_of_val(&hello.known[..]) + hello.declared.iter().map(declaration_bytes).sum::<usize>();
        }
        Command::Change { changes, .. } => {
            let declared = changes.iter().filter_map(declaration).map(declaration_bytes);
            return size_of_val(&changes[..]) + declared.sum::<usize>();
        }
        _ => (None, None, None),
    };
    let names: usize = names.into_iter().flat_map(|names| names.iter()).map(|name| name.len()).sum();
    let attached = metadata.into_iter().chain(opening.map(|opening| &opening.metadata));
    names + attached.map(metadata_bytes).sum::<usize>()
}

/// What a change declares.
fn declaration(change: &Change) -> Option<&Declaration> {
    match change {
        Change::Declare(declaration) => Some(declaration),
        Change::Withdraw(_) => None,
    }
}

/// Bytes of a declaration, as a part of its command.
fn declaration_bytes(Declaration { opening, claims, memberships, .. }: &Declaration) -> usize {
    let session = opening
        .iter()
        .map(|DeclaredSession { id, opening, .. }| id.len() + opening.owner.len() + metadata_bytes(&opening.metadata));
    let claim = |DeclaredClaim { names, metadata, .. }: &DeclaredClaim| {
        names.iter().map(|name| name.len()).sum::<usize>() + metadata_bytes(metadata)
    };
    let membership =
        |DeclaredMembership { group, metadata, .. }: &DeclaredMembership| group.len() + metadata_bytes(metadata);
    let texts = session.chain(claims.iter().map(claim)).chain(memberships.iter().map(membership));
    size_of::<Declaration>() + size_of_val(&claims[..]) + size_of_val(&memberships[..]) + texts.sum::<usize>()
}

/// Whether the command leads to further work: a hold to end, a session to renew.
fn makes_work(command: &Command) -> bool {
    match command {
        Command::Acquire(_) | Command::OpenSession { .. } | Command::Group(GroupCommand::Join { .. }) => true,
        Command::Connect(hello) => !hello.declared.is_empty(),
        Command::Change { changes, .. } => changes.iter().any(|change| declaration(change).is_some()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenure_core::testing::{Build, HOME, claim_spec, close, label, open};
    use tenure_core::{AskedMode, ClaimSpec, Revision};

    use super::*;

    fn declare(name: &str) -> Change {
        let ClaimSpec { names, metadata, .. } = claim_spec("ann", 1, name);
        let (mode, queue, priority, min_hold) = (AskedMode::Exclusive, false, 0, Duration::ZERO);
        let claim = DeclaredClaim { number: 2, names, mode, queue, priority, metadata, min_hold };
        Change::Declare(Declaration { session: 1, opening: None, claims: vec![claim], memberships: Vec::new() })
    }

    fn change(changes: Vec<Change>) -> Command {
        Command::Change { client: "client".into(), epoch: 1, home: HOME, connected: Revision(0), changes }
    }

    #[test]
    fn changes_count_all_that_they_carry() {
        let bytes = |changes: Vec<Change>| text_bytes(&change(changes));
        assert!(bytes(vec![declare("a")]) > bytes(vec![Change::Withdraw(1)]));
        assert_eq!(bytes(vec![declare("abcd")]), bytes(vec![declare("a")]) + 3);
        assert_eq!(bytes(vec![Change::Withdraw(1), Change::Withdraw(2)]), 2 * bytes(vec![Change::Withdraw(1)]));
    }

    #[test]
    fn each_change_counts() {
        let load = Load::of([&change(vec![declare("a"), Change::Withdraw(2), Change::Withdraw(3)]), &close("ann")]);
        assert_eq!(load.commands, 4);
    }

    #[test]
    fn full_queue_admits_only_commands_that_end_something() {
        let labels = label("label", &"x".repeat(limits::QUEUE_BYTES));
        let large = open("ann").with_opening(|opening| opening.metadata = labels);
        let many = Load { commands: QUEUE_LIMIT, bytes: 0 };
        for load in [many, Load::of([&large])] {
            let (backpressure, open) = (Backpressure::default(), open("ann"));
            assert!(backpressure.admits(&open));
            backpressure.add(load);
            assert!(!backpressure.admits(&open));
            assert!(!backpressure.admits(&change(vec![Change::Withdraw(1), declare("a")])));
            assert!(backpressure.admits(&close("ann")));
            assert!(backpressure.admits(&change(vec![Change::Withdraw(1)])));
            backpressure.remove(load);
            assert!(backpressure.admits(&open) && backpressure.commands() == 0);
        }
    }
}
