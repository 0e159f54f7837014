//! Commands, parameters and a lab for tests.
//!
//! The functions here build commands with defaults for all that most tests do not care about: the command comes from
//! [`HOME`], which received it just now, and opens the session by [`opening`] if it can. The methods of [`Build`] change
//! what a test does care about, as in `acquire("ann", "a").shared().priority(3)`. A [`Lab`] executes commands and asserts
//! their outcomes.

mod lab;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::client::{Change, Declaration, DeclaredClaim, DeclaredMembership, DeclaredSession, Hello};
use crate::command::{Acquire, Command, Handoff};
use crate::encoding::Millis;
use crate::end::{EndReason, Eviction};
use crate::event::{Event, Recorded};
use crate::group::{Assignments, Basis, Group, GroupCommand};
use crate::home::Tick;
use crate::model::{
    AskedMode, ClaimSpec, LockSettings, Metadata, Mode, Opening, Revision, ServerId, Session, SessionSpec, no_labels,
};
use crate::names::{Names, Text};
use crate::table::Table;
pub use lab::Lab;

/// The server that issues commands, unless stated otherwise.
pub const HOME: ServerId = ServerId(1);

/// The TTL of sessions, unless stated otherwise.
pub const TTL: Duration = Duration::from_secs(10);

/// This many seconds after the start of the test.
#[must_use]
pub const fn at(seconds: u64) -> Tick {
    Duration::from_secs(seconds)
}

/// Names of locks, from one text or several.
pub trait IntoNames {
    /// The names.
    fn into_names(self) -> Names;
}

impl IntoNames for &str {
    fn into_names(self) -> Names {
        Text::from(self).into()
    }
}

impl IntoNames for String {
    fn into_names(self) -> Names {
        Text::from(self).into()
    }
}

impl IntoNames for Text {
    fn into_names(self) -> Names {
        self.into()
    }
}

impl IntoNames for Names {
    fn into_names(self) -> Names {
        self
    }
}

impl IntoNames for &[&str] {
    fn into_names(self) -> Names {
        self.iter().map(|name| Text::from(*name)).collect()
    }
}

impl<const N: usize> IntoNames for [&str; N] {
    fn into_names(self) -> Names {
        self.as_slice().into_names()
    }
}

/// Parameters of a session with [`TTL`], an owner and no labels.
#[must_use]
pub fn opening() -> Opening {
    Opening { ttl: TTL, owner: "owner".into(), metadata: no_labels(), identity: None }
}

/// The labels with one key and its value.
#[must_use]
pub fn label(key: &str, value: &str) -> Metadata {
    Arc::new(BTreeMap::from([(key.to_owned(), value.to_owned())]))
}

/// An operator and the reason.
#[must_use]
pub fn operator() -> Eviction {
    Eviction { operator: "op".into(), note: "why".into() }
}

/// The parameters of a session that was opened by [`opening`].
#[must_use]
pub fn session_spec(session: impl Into<Text>) -> SessionSpec {
    let Opening { ttl, owner, metadata, identity } = opening();
    let (id, disconnect_grace, client) = (session.into(), None, None);
    SessionSpec { id, ttl, disconnect_grace, owner, metadata, home: HOME, identity, client, declared: 0 }
}

/// The parameters of an exclusive claim of the session that was opened at this revision.
#[must_use]
pub fn claim_spec(session: impl Into<Text>, opened: u64, names: impl IntoNames) -> ClaimSpec {
    ClaimSpec {
        session: session.into(),
        opened: Revision(opened),
        owner: opening().owner,
        names: names.into_names(),
        mode: Mode::Exclusive,
        priority: 0,
        metadata: no_labels(),
        min_hold: Millis::default(),
        waiting_server: None,
        declared: 0,
    }
}

/// An event without effect, different for each number.
#[must_use]
pub fn filler(number: u64) -> Event {
    Event::ServerAdopted { dead: ServerId(number), by: ServerId(number + 1) }
}

/// Opens a session.
#[must_use]
pub fn open(session: impl Into<Text>) -> Command {
    Command::OpenSession { session: session.into(), opening: opening(), home: HOME }
}

/// Moves a session to a server.
#[must_use]
pub fn move_to(session: impl Into<Text>, home: ServerId) -> Command {
    Command::MoveSession { session: session.into(), home }
}

/// Closes a session.
#[must_use]
pub fn close(session: impl Into<Text>) -> Command {
    Command::CloseSession { session: session.into() }
}

/// Acquires locks exclusively, and waits for them if they are not free.
#[must_use]
pub fn acquire(session: impl Into<Text>, names: impl IntoNames) -> Command {
    Command::Acquire(Acquire {
        session: session.into(),
        opening: Some(opening()),
        home: HOME,
        received: Revision::MAX,
        opened: None,
        names: names.into_names(),
        mode: AskedMode::Exclusive,
        queue: true,
        priority: 0,
        metadata: no_labels(),
        min_hold: Duration::ZERO,
    })
}

/// Cancels an Acquire.
#[must_use]
pub fn cancel(session: impl Into<Text>, names: impl IntoNames) -> Command {
    Command::CancelAcquire { session: session.into(), names: names.into_names() }
}

/// Releases a hold.
#[must_use]
pub fn release(session: impl Into<Text>, name: impl Into<Text>, token: Revision) -> Command {
    Command::Release { session: session.into(), name: name.into(), token }
}

/// Evicts all holders of a lock.
#[must_use]
pub fn evict(name: impl Into<Text>) -> Command {
    Command::Evict { name: name.into(), token: None, eviction: operator() }
}

/// Has an operator hand a hold over to the first waiter, with a drain period of three seconds.
#[must_use]
pub fn transfer(name: impl Into<Text>, token: Revision) -> Command {
    let by = Handoff::ByOperator { by: operator(), drain: at(3) };
    Command::Transfer { name: name.into(), token: Some(token), to: None, by }
}

/// Replaces the settings of a lock.
#[must_use]
pub fn configure(name: impl Into<Text>, settings: LockSettings) -> Command {
    Command::ConfigureLock { name: name.into(), settings, by: operator() }
}

/// Takes over the sessions of a dead server.
#[must_use]
pub fn adopt(dead: ServerId, by: ServerId) -> Command {
    Command::Adopt { dead, by }
}

/// Joins a group.
#[must_use]
pub fn join(session: impl Into<Text>, group: impl Into<Text>) -> Command {
    Command::Group(GroupCommand::Join {
        group: group.into(),
        session: session.into(),
        opening: Some(opening()),
        home: HOME,
        opened: None,
        metadata: no_labels(),
    })
}

/// Leaves a group.
#[must_use]
pub fn leave(session: impl Into<Text>, group: impl Into<Text>) -> Command {
    Command::Group(GroupCommand::Leave { group: group.into(), session: session.into(), member: None })
}

/// Sets the config of a group, or clears it, whatever it is.
#[must_use]
pub fn configure_group(group: impl Into<Text>, config: Option<&str>) -> Command {
    Command::Group(GroupCommand::Configure { group: group.into(), config: config.map(Text::from), expected: None })
}

/// Makes assignments to the members of a group.
#[must_use]
pub fn assign(
    session: impl Into<Text>,
    group: impl Into<Text>,
    token: Revision,
    basis: Basis,
    assignments: impl IntoIterator<Item = (Revision, Text)>,
) -> Command {
    let (session, group) = (session.into(), group.into());
    let assignments: Assignments = Arc::new(assignments.into_iter().collect());
    Command::Group(GroupCommand::Assign { group, session, token, basis, assignments })
}

/// Connects a client that has nothing and wants nothing.
#[must_use]
pub fn connect(client: impl Into<Text>, epoch: u64) -> Command {
    Command::Connect(Hello {
        client: client.into(),
        epoch,
        home: HOME,
        received: Revision::MAX,
        identity: None,
        known: Vec::new(),
        declared: Vec::new(),
    })
}

/// Changes what a client wants.
#[must_use]
pub fn change(client: impl Into<Text>, epoch: u64, changes: impl IntoIterator<Item = Change>) -> Command {
    let changes = changes.into_iter().collect();
    Command::Change { client: client.into(), epoch, home: HOME, connected: Revision(u64::MAX), changes }
}

/// Ends what a client that disconnected at this revision does not know that it has.
#[must_use]
pub fn abandon_client(client: impl Into<Text>, epoch: u64, since: Revision) -> Command {
    Command::AbandonClient { client: client.into(), epoch, home: HOME, since }
}

/// Ends a client.
#[must_use]
pub fn end_client(client: impl Into<Text>, epoch: u64) -> Command {
    Command::EndClient { client: client.into(), epoch, home: HOME }
}

/// The declaration of a session that is open, with nothing in it.
#[must_use]
pub fn declaration(session: u64) -> Declaration {
    Declaration { session, opening: None, claims: Vec::new(), memberships: Vec::new() }
}

/// An exclusive claim, which queues if the locks are not free.
#[must_use]
pub fn declared_claim(number: u64, names: impl IntoNames) -> DeclaredClaim {
    DeclaredClaim {
        number,
        names: names.into_names(),
        mode: AskedMode::Exclusive,
        queue: true,
        priority: 0,
        metadata: no_labels(),
        min_hold: Duration::ZERO,
    }
}

/// Additions to a declaration.
impl Declaration {
    /// Opens the session with this id.
    #[must_use]
    pub fn opens(mut self, id: impl Into<Text>) -> Self {
        self.opening = Some(DeclaredSession { id: id.into(), disconnect_grace: None, opening: opening() });
        self
    }

    /// Makes a claim.
    #[must_use]
    pub fn claims(mut self, claim: DeclaredClaim) -> Self {
        self.claims.push(claim);
        self
    }

    /// Joins a group.
    #[must_use]
    pub fn joins(mut self, number: u64, group: impl Into<Text>) -> Self {
        self.memberships.push(DeclaredMembership { number, group: group.into(), metadata: no_labels() });
        self
    }
}

/// Changes of single fields of a claim.
impl DeclaredClaim {
    /// Does not queue.
    #[must_use]
    pub fn tries(mut self) -> Self {
        self.queue = false;
        self
    }

    /// Shared with other shared claims.
    #[must_use]
    pub fn shared(mut self) -> Self {
        self.mode = AskedMode::Shared;
        self
    }

    /// With this minimum hold.
    #[must_use]
    pub fn min_hold(mut self, min_hold: Duration) -> Self {
        self.min_hold = min_hold;
        self
    }
}

/// Declares methods that set one field of a command, and panic if the command has no such field.
macro_rules! setters {
    ($($(#[$doc:meta])* $method:ident($type:ty) sets $field:ident in $pattern:pat,)*) => {$(
        $(#[$doc])*
        #[must_use]
        fn $method(self, value: $type) -> Command {
            let mut command = self.command();
            match &mut command {
                $pattern => *$field = value.into(),
                other => panic!("no {} in {other:?}", stringify!($field)),
            }
            command
        }
    )*};
}

/// Changes of single fields of a command.
pub trait Build: Sized {
    /// The command.
    fn command(self) -> Command;

    setters! {
        /// Issued by this server.
        at(ServerId) sets home in Command::OpenSession { home, .. }
            | Command::MoveSession { home, .. }
            | Command::Acquire(Acquire { home, .. })
            | Command::Group(GroupCommand::Join { home, .. })
            | Command::Connect(Hello { home, .. })
            | Command::Change { home, .. }
            | Command::AbandonClient { home, .. }
            | Command::EndClient { home, .. },
        /// Opens the session with these parameters; with `None`, requires it to be open.
        opening(Option<Opening>) sets opening in Command::Acquire(Acquire { opening, .. })
            | Command::Group(GroupCommand::Join { opening, .. }),
        /// In the session that was opened at this revision.
        opened(Revision) sets opened in Command::Acquire(Acquire { opened, .. })
            | Command::Group(GroupCommand::Join { opened, .. }),
        /// By a plain call, or a Hello, which its server received at this revision.
        received(Revision) sets received in Command::Acquire(Acquire { received, .. })
            | Command::Connect(Hello { received, .. }),
        /// In this mode.
        mode(AskedMode) sets mode in Command::Acquire(Acquire { mode, .. }),
        /// Waits if the locks are not free, or does not.
        queue(bool) sets queue in Command::Acquire(Acquire { queue, .. }),
        /// With this priority among the waiters.
        priority(i32) sets priority in Command::Acquire(Acquire { priority, .. }),
        /// With this minimum hold.
        min_hold(Duration) sets min_hold in Command::Acquire(Acquire { min_hold, .. }),
        /// With these labels of the claim or membership.
        labels(Metadata) sets metadata in Command::Acquire(Acquire { metadata, .. })
            | Command::Group(GroupCommand::Join { metadata, .. }),
        /// Restricted to the hold with this token.
        token(Revision) sets token in Command::Evict { token, .. },
        /// Restricted to the membership with this number.
        member(Revision) sets member in Command::Group(GroupCommand::Leave { member, .. }),
        /// On condition that the current config is that of this revision; 0: that there is none.
        expected(Revision) sets expected in Command::Group(GroupCommand::Configure { expected, .. }),
        /// Hands over to this session.
        successor(Text) sets to in Command::Transfer { to, .. },
        /// Of a client that knows that it has what has these numbers.
        known(Vec<u64>) sets known in Command::Connect(Hello { known, .. }),
        /// Of a client that has declared this, and does not know the result.
        declared(Vec<Declaration>) sets declared in Command::Connect(Hello { declared, .. }),
        /// Handed over by this initiator.
        initiator(Handoff) sets by in Command::Transfer { by, .. },
    }

    /// Opens no session.
    #[must_use]
    fn in_open_session(self) -> Command {
        self.opening(None)
    }

    /// Changes the parameters that the session is opened with.
    #[must_use]
    fn with_opening(self, change: impl FnOnce(&mut Opening)) -> Command {
        let mut command = self.command();
        match &mut command {
            Command::OpenSession { opening, .. }
            | Command::Acquire(Acquire { opening: Some(opening), .. })
            | Command::Group(GroupCommand::Join { opening: Some(opening), .. }) => change(opening),
            other => panic!("no opening in {other:?}"),
        }
        command
    }

    /// Opens the session with this TTL.
    #[must_use]
    fn ttl(self, ttl: Duration) -> Command {
        self.with_opening(|opening| opening.ttl = ttl)
    }

    /// Shared with other shared claims.
    #[must_use]
    fn shared(self) -> Command {
        self.mode(AskedMode::Shared)
    }

    /// To a number of permits out of `limit`.
    #[must_use]
    fn permits(self, permits: u32, limit: u32) -> Command {
        self.mode(AskedMode::Permits { permits, limit: Some(limit) })
    }

    /// Hands over to this session.
    #[must_use]
    fn to(self, session: &str) -> Command {
        self.successor(session.into())
    }

    /// Handed over by this holder.
    #[must_use]
    fn by_holder(self, session: &str) -> Command {
        self.initiator(Handoff::ByHolder { session: session.into() })
    }
}

impl Build for Command {
    fn command(self) -> Command {
        self
    }
}

/// Ends a session, as its home does when it has expired.
#[must_use]
pub fn expire(session: &Session) -> Command {
    let SessionSpec { id, home, .. } = &session.spec;
    Command::EndSession { session: id.clone(), opened: session.opened, home: *home, reason: EndReason::Expired }
}

/// The table that results from these events.
#[must_use]
pub fn replayed(events: &[Recorded]) -> Table {
    let mut table = Table::default();
    events.iter().for_each(|recorded| table.apply(recorded));
    table
}

/// A table restored from the parts of another.
#[must_use]
pub fn restored(table: &Table) -> Table {
    let sessions = table.sessions_after(Revision(0)).cloned().collect();
    let settings = table.all_settings().map(|(name, settings)| (name.clone(), settings.clone())).collect();
    let groups: Vec<Arc<Group>> = table.groups_after("", None).cloned().collect();
    let (clients, claims) = (table.clients().cloned().collect(), table.claims().cloned().collect());
    Table::restore(table.revision(), table.lost(), clients, sessions, claims, settings, groups)
}
