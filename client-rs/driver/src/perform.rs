//! Maps requests to their implementations.

use serde_json::json;

use crate::answer::{self, Answer};
use crate::request::{self, Request};
use crate::things::Things;
use crate::{election, group, lock, measure, operate, session, watch};

/// Executes a request. Dropping the future cancels it.
pub(crate) async fn perform(request: Request, things: &Things) -> Answer {
    match request {
        Request::Hello => Ok(json!({"client": "rust", "does": request::ALL.split_whitespace().collect::<Vec<_>>()})),
        Request::Connect(fields) => session::connect(fields, things),
        Request::Close { client } => done(things.clients.get(&client)?.close().await),
        Request::Session { client, session, options } => session::open(&client, session, &options, things).await,
        Request::SessionState { session } => Ok(session::state(&*things.sessions.get(&session)?)),
        Request::AwaitState { session, state } => session::await_state(&*things.sessions.get(&session)?, &state).await,
        Request::CloseSession { session } => done(things.sessions.get(&session)?.close().await),
        Request::Acquire { guard, acquire } => lock::acquire(guard, &acquire, things).await,
        Request::Cancel { request } => {
            things.running.cancel(request);
            Ok(json!({}))
        }
        Request::Hold { guard } => Ok(answer::hold(&things.holds.get(&guard)?.hold)),
        Request::AwaitLost { guard } => {
            let reason = things.holds.get(&guard)?.hold.lost().await;
            Ok(json!({"lost": answer::lost(&reason)}))
        }
        Request::Tick { guard } => {
            things.holds.get(&guard)?.hold.tick();
            Ok(json!({}))
        }
        Request::Release { guard } => lock::release(&*things.holds.get(&guard)?).await,
        Request::Drop { guard } => lock::drop_guard(&*things.holds.get(&guard)?).await,
        Request::Update { guard, metadata } => lock::update(&*things.holds.get(&guard)?, metadata).await,
        Request::TransferTo { guard, session_id } => {
            lock::transfer_to(&*things.holds.get(&guard)?, session_id.as_deref()).await
        }
        Request::AwaitTransfer { guard } => lock::await_transfer(&*things.holds.get(&guard)?).await,
        Request::Run { run, acquire } => lock::run(run, &acquire, things).await,
        Request::AwaitBody { run } => lock::await_body(&*things.runs.get(&run)?).await,
        Request::Finish { run } => Ok(lock::finish(&*things.runs.get(&run)?)),
        Request::Lead(lead) => election::lead(lead, things),
        Request::AwaitLeading { election } => things.elections.get(&election)?.await_leading().await,
        Request::AwaitNotLeading { election } => things.elections.get(&election)?.await_not_leading().await,
        Request::Resign { election } => things.elections.get(&election)?.resign(),
        Request::Stop { election } => things.elections.get(&election)?.stop().await,
        Request::Leader { client, name } => {
            let leader = things.clients.get(&client)?.election(name).leader().await?;
            Ok(answer::leader(leader.as_ref()))
        }
        Request::Observe { client, watch, name } => watch::observe(&client, watch, name, things),
        Request::Watch(fields) => watch::watch(fields, things),
        Request::Next { watch } => watch::next(&*things.watches.get(&watch)?).await,
        Request::Unwatch { watch } => things.watches.take(&watch).map(|_| json!({})),
        Request::Join { member, place } => group::join(member, &place, things).await,
        Request::Standing { member } => things.members.get(&member)?.standing().await,
        Request::AwaitStanding(wanted) => things.members.get(&wanted.member)?.await_standing(&wanted).await,
        Request::Assign { member, assignments } => things.members.get(&member)?.assign(&assignments).await,
        Request::Leave { member } => things.members.get(&member)?.leave().await,
        Request::TakePart { member, place } => group::take_part(member, &place, things),
        Request::ConfigureGroup { client, group, config, expected_revision } => {
            let client = things.clients.get(&client)?;
            let revision = client.configure_group(&group, config.as_deref(), expected_revision).await?;
            Ok(json!({"config_revision": revision}))
        }
        Request::GetGroup { client, group } => {
            let group = things.clients.get(&client)?.get_group(&group).await?;
            Ok(json!({"group": answer::group(&group)}))
        }
        Request::GetLock { client, name } => Ok(answer::lock(&things.clients.get(&client)?.get_lock(&name).await?)),
        Request::Evict(evict) => operate::evict(evict, things).await,
        Request::Transfer(transfer) => operate::transfer(transfer, things).await,
        Request::ConfigureLock(fields) => operate::configure_lock(fields, things).await,
        Request::Measure { session, endpoint, turns } => {
            measure::measure(&*things.sessions.get(&session)?, endpoint, turns).await
        }
        Request::HoldMany { session, count } => measure::hold_many(&*things.sessions.get(&session)?, count).await,
    }
}

fn done(result: tenure_client::Result<()>) -> Answer {
    Ok(result.map(|()| json!({}))?)
}
