//! The bounds of forwarded commands, which are those of clients: where servers do not authenticate each other, any
//! program may claim to be one.

use std::time::Duration;

use tenure_core::{
    Acquire, AskedMode, Change, Command, Declaration, DeclaredClaim, DeclaredMembership, DeclaredSession, Metadata,
    Names, Opening, ServerId,
};
use tenure_proto::v1;
use tonic::Status;

use crate::grpc::validate;

/// Checks a command that this server has forwarded.
pub(super) fn check(command: &Command, from: ServerId) -> Result<(), Status> {
    match command {
        Command::Acquire(Acquire { session, opening, home, names, mode, priority, metadata, min_hold, .. }) => {
            check_home(*home, from)?;
            validate::session_id("session", session)?;
            opening.as_ref().map_or(Ok(()), check_opening)?;
            check_claim(names, *mode, *priority, metadata, *min_hold)
        }
        Command::Release { session, name, token } => {
            validate::session_id("session", session)?;
            validate::name("name", name)?;
            validate::token(token.0).map(drop)
        }
        Command::EndWait { home, .. } => check_home(*home, from),
        Command::OpenSession { session, opening, home, attachment, client } => {
            check_home(*home, from)?;
            check_opening(opening)?;
            validate::attachment(*attachment)?;
            check_session(session, client.as_deref())
        }
        Command::AttachSession { session, home, attachment, client } => {
            check_home(*home, from)?;
            validate::attachment(*attachment)?;
            check_session(session, client.as_deref())
        }
        Command::CloseSession { session, client } => check_session(session, client.as_deref()),
        Command::Change { client, home, changes, .. } => {
            check_home(*home, from)?;
            validate::declaring_client("client", client, 1)?;
            changes.iter().try_for_each(|change| match change {
                Change::Declare(declaration) => check_declaration(declaration),
                Change::Withdraw(_) => Ok(()),
            })
        }
        _ => Err(Status::invalid_argument("command: one that servers forward")),
    }
}

fn check_home(home: ServerId, from: ServerId) -> Result<(), Status> {
    if home == from { Ok(()) } else { Err(Status::invalid_argument("home: the server that forwards")) }
}

fn check_session(session: &str, client: Option<&str>) -> Result<(), Status> {
    validate::session_id("session", session)?;
    validate::client_id(client.unwrap_or_default()).map(drop)
}

fn check_declaration(declaration: &Declaration) -> Result<(), Status> {
    let Declaration { opening, claims, memberships, .. } = declaration;
    for number in declaration.numbers() {
        validate::declared("number", number)?;
    }
    if let Some(DeclaredSession { id, opening }) = opening {
        validate::session_id("session", id)?;
        check_opening(opening)?;
    }
    for DeclaredClaim { names, mode, priority, metadata, min_hold, .. } in claims {
        check_claim(names, *mode, *priority, metadata, *min_hold)?;
    }
    memberships.iter().try_for_each(|DeclaredMembership { group, metadata, .. }| {
        validate::name("group", group)?;
        check_metadata(metadata)
    })
}

fn check_claim(
    names: &Names,
    mode: AskedMode,
    priority: i32,
    metadata: &Metadata,
    min_hold: Duration,
) -> Result<(), Status> {
    let texts: Vec<String> = names.iter().map(ToString::to_string).collect();
    if *validate::names(&texts)? != **names {
        return Err(Status::invalid_argument("names: sorted"));
    }
    if let AskedMode::Permits { permits, limit } = mode {
        // Clients state no permits, or no limit, by a 0.
        if permits == 0 || limit == Some(0) {
            return Err(Status::invalid_argument("permits: at least 1"));
        }
        validate::mode(v1::Mode::Permits.into(), permits, limit.unwrap_or_default())?;
    }
    validate::priority(priority)?;
    check_duration(min_hold)?;
    check_metadata(metadata)
}

fn check_opening(opening: &Opening) -> Result<(), Status> {
    let Opening { ttl, disconnect_grace, owner, metadata, .. } = opening;
    if ttl.is_zero() {
        return Err(Status::invalid_argument("ttl: more than 0"));
    }
    check_duration(*ttl)?;
    check_duration(disconnect_grace.unwrap_or_default())?;
    validate::label("owner", owner)?;
    check_metadata(metadata)
}

fn check_duration(duration: Duration) -> Result<(), Status> {
    if duration <= validate::LONGEST_WAIT { Ok(()) } else { Err(Status::invalid_argument("duration: at most a year")) }
}

fn check_metadata(metadata: &Metadata) -> Result<(), Status> {
    if metadata.is_empty() { Ok(()) } else { validate::metadata((**metadata).clone()).map(drop) }
}
