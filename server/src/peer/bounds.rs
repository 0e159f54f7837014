//! The bounds of forwarded commands, which are those of clients: where servers do not authenticate each other, any
//! program may claim to be one.

use tenure_core::{Acquire, AskedMode, Change, Command, Declaration, DeclaredClaim, Opening, ServerId, Text};
use tenure_proto::v1;
use tonic::Status;

use crate::grpc::validate::{self, LONGEST_MIN_HOLD, LONGEST_WAIT};

/// Checks a command that this server has forwarded.
pub(super) fn check(command: &Command, from: ServerId) -> Result<(), Status> {
    let home = match command {
        Command::Acquire(Acquire { session, opening, home, names, mode, priority, metadata, min_hold, .. }) => {
            check_session(session, opening.as_ref())?;
            let (number, names, mode, queue, priority) = (1, names.clone(), *mode, false, *priority);
            let (metadata, min_hold) = (metadata.clone(), *min_hold);
            check_claim(&DeclaredClaim { number, names, mode, queue, priority, metadata, min_hold })?;
            *home
        }
        Command::Release { session, name, .. } => {
            check_session(session, None)?;
            validate::name("name", name)?;
            from
        }
        Command::EndWait { home, .. } => *home,
        Command::OpenSession { session, opening, home } => {
            check_session(session, Some(opening))?;
            *home
        }
        Command::MoveSession { session, home } => {
            check_session(session, None)?;
            *home
        }
        Command::CloseSession { session } => {
            check_session(session, None)?;
            from
        }
        Command::Change { client, home, changes, .. } => {
            validate::client_id("client", client, 1)?;
            for change in changes {
                if let Change::Declare(declaration) = change {
                    check_declaration(declaration)?;
                }
            }
            *home
        }
        _ => return Err(Status::invalid_argument("command: one that servers forward")),
    };
    if home == from { Ok(()) } else { Err(Status::invalid_argument("home: the server that forwards")) }
}

fn check_session(id: &Text, opening: Option<&Opening>) -> Result<(), Status> {
    validate::session_id("session", id)?;
    let Some(Opening { ttl, owner, metadata, .. }) = opening else { return Ok(()) };
    if ttl.is_zero() || *ttl > LONGEST_WAIT {
        return Err(Status::invalid_argument("ttl: more than 0, at most a year"));
    }
    validate::label("owner", owner)?;
    validate::metadata((**metadata).clone()).map(drop)
}

fn check_declaration(declaration: &Declaration) -> Result<(), Status> {
    declaration.numbers().try_for_each(|number| validate::declared("number", number).map(drop))?;
    declaration.claims.iter().try_for_each(check_claim)?;
    if let Some(session) = &declaration.opening {
        check_session(&session.id, Some(&session.opening))?;
        if session.disconnect_grace.is_some_and(|grace| grace > LONGEST_WAIT) {
            return Err(Status::invalid_argument("disconnect_grace: at most a year"));
        }
    }
    for membership in &declaration.memberships {
        validate::name("group", &membership.group)?;
        validate::metadata((*membership.metadata).clone())?;
    }
    Ok(())
}

fn check_claim(claim: &DeclaredClaim) -> Result<(), Status> {
    let DeclaredClaim { names, mode, priority, metadata, min_hold, .. } = claim;
    let texts: Vec<String> = names.iter().map(ToString::to_string).collect();
    let is_sorted = *validate::names(&texts)? == **names;
    // Clients state no permits, or no limit, by a 0.
    let (permits, limit) = match *mode {
        AskedMode::Permits { permits, limit } => (permits, limit),
        AskedMode::Exclusive | AskedMode::Shared => (1, None),
    };
    if !is_sorted || permits == 0 || limit == Some(0) || *min_hold > LONGEST_MIN_HOLD {
        return Err(Status::invalid_argument("names, permits, limit, min_hold: as of clients"));
    }
    validate::mode(v1::Mode::Permits.into(), permits, limit.unwrap_or_default())?;
    validate::priority(*priority)?;
    validate::metadata((**metadata).clone()).map(drop)
}
