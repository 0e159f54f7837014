//! Defines the properties of plain calls.

use stateright::Property;

use super::limits::Limits;
use super::table::{Claim, Client};
use super::world::{Program, Stage, World};

/// S5, S3.
pub const HELD: &str = "a grant that a call has returned ends only by its client or with its session";
/// S1.
pub const ONE_HOLDER: &str = "at most one client has a grant that has not ended";
/// The contract of `acquired: false`.
pub const NOTHING_LEFT: &str = "a client whose calls were all answered without a grant has no claim";
/// The contract of calls without a reply.
pub const NOTHING_STAYS: &str = "in the end a client without calls and without a grant has no claim";
/// The contract of a cancel.
pub const CANCELLED: &str = "no earlier call takes effect after its cancel";
/// L4.
pub const NOT_FORGOTTEN: &str = "a call that waits has a claim in the queue, or notice of its end on the way";
/// L3.
pub const KEEPS_POSITION: &str = "no claim is cancelled while the call that last requested it waits";

/// All properties.
#[must_use]
pub fn all() -> Vec<Property<Limits>> {
    vec![
        Property::always(HELD, |_, world: &World| {
            world.clients.iter().filter_map(|client| client.hold).all(|id| world.head.holds(id))
        }),
        Property::always(ONE_HOLDER, |_, world: &World| {
            world.clients.iter().filter(|client| client.hold.is_some()).count() <= 1
        }),
        Property::always(NOTHING_LEFT, |_, world: &World| {
            without_calls(world).all(|(id, client)| client.has_left || world.head.of(id).is_none())
        }),
        Property::always(NOTHING_STAYS, |limits: &Limits, world: &World| {
            let stays =
                |(id, client): (Client, &Program)| world.head.of(id).is_some_and(|claim| is_left(world, client, claim));
            !without_calls(world).any(stays) || !world.is_quiet(limits)
        }),
        Property::always(CANCELLED, |_, world: &World| {
            let has_claim = |(id, client): (Client, &Program)| client.has_cancelled && world.head.of(id).is_some();
            !world.cancel_overtaken && !(0..).zip(&world.clients).any(has_claim)
        }),
        Property::always(NOT_FORGOTTEN, |_, world: &World| every_wait_is_known(world)),
        Property::always(KEEPS_POSITION, |_, world: &World| !world.position_lost),
    ]
}

/// Clients that hold nothing and have no call in progress.
fn without_calls(world: &World) -> impl Iterator<Item = (Client, &Program)> {
    let asks = |id| world.calls.iter().any(|call| call.client == id && !call.left);
    (0..).zip(&world.clients).filter(move |(id, client)| client.hold.is_none() && !asks(*id))
}

/// Whether a server should have ended a remaining claim. Two kinds of grant may stay: one that was returned and lost on
/// the way, and one for a call at a server that crashed, because no other server knows whether it was returned.
fn is_left(world: &World, client: &Program, claim: Claim) -> bool {
    let is_unknown = claim.at.is_some_and(|at| world.instance(at).is_none());
    world.head.waits(claim.id) || !(client.has_lost_grant || is_unknown && client.has_left)
}

/// A server at the log's head waits only for claims that are in the queue, and a lock with waiters has a holder.
fn every_wait_is_known(world: &World) -> bool {
    let is_served = world.head.queue.is_empty() || world.head.holder.is_some();
    is_served
        && world.calls.iter().all(|call| match (call.stage, world.instance(call.server)) {
            (Stage::Waiting(id), Some(instance)) => {
                instance.at < world.tail.len() || instance.is_behind || world.head.waits(id)
            }
            _ => true,
        })
}
