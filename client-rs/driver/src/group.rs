//! Memberships.

use serde_json::{Value, json};
use tenure_client::{GroupRequest, Membership, Standing};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;

use crate::answer::{self, Answer, Failure};
use crate::request::{AwaitStanding, Place};
use crate::things::Things;

/// A member: joined once, or participating until it is dropped.
pub(crate) enum Member {
    Joined { membership: Mutex<Option<Membership>>, standings: watch::Receiver<Standing> },
    TakesPart { latest: watch::Receiver<Option<Standing>>, task: JoinHandle<()> },
}

fn request(place: &Place, things: &Things) -> Result<GroupRequest, Failure> {
    let client = place.client.as_ref().ok_or_else(|| Failure::Driver("a client joins".to_owned()))?;
    let group = things.clients.get(client)?.group(&place.group);
    let request = match &place.session {
        Some(session) => group.in_session(&*things.sessions.get(session)?),
        None => group.session(place.options.bare()),
    };
    Ok(request.with_metadata(place.options.metadata.clone()))
}

pub(crate) async fn join(name: String, place: &Place, things: &Things) -> Answer {
    let membership = request(place, things)?.join().await?;
    let standing = membership.standing();
    let answer = json!({
        "number": membership.number(),
        "session_id": membership.session().id(),
        "leads": standing.leads(),
        "token": standing.token(),
    });
    let standings = membership.standings();
    things.members.put(name, Member::Joined { membership: Mutex::new(Some(membership)), standings });
    Ok(answer)
}

pub(crate) fn take_part(name: String, place: &Place, things: &Things) -> Answer {
    let request = request(place, things)?;
    let (sender, latest) = watch::channel(None);
    let task = tokio::spawn(async move {
        let divide = |group: &tenure_client::v1::Group| group.assign(|place, _| (place + 1).to_string());
        let Err(error) = request.take_part(divide, |standing| drop(sender.send_replace(Some(standing.clone())))).await;
        eprintln!("takes part no more: {error}");
    });
    things.members.put(name, Member::TakesPart { latest, task });
    Ok(json!({}))
}

impl Member {
    /// Its position, and the session's state where that is available.
    pub(crate) async fn standing(&self) -> Answer {
        let standing = match self {
            Self::Joined { membership, standings } => {
                let membership = membership.lock().await;
                Some(membership.as_ref().map_or_else(|| standings.borrow().clone(), Membership::standing))
            }
            Self::TakesPart { latest, .. } => latest.borrow().clone(),
        };
        Ok(to_json(standing.as_ref()))
    }

    pub(crate) async fn await_standing(&self, wanted: &AwaitStanding) -> Answer {
        let standing = match self {
            Self::Joined { standings, .. } => {
                let mut standings = standings.clone();
                standings
                    .wait_for(|standing| standing.lost.is_some() || is_met(standing, wanted))
                    .await
                    .ok()
                    .as_deref()
                    .cloned()
            }
            Self::TakesPart { latest, .. } => {
                let mut latest = latest.clone();
                let is_met = |standing: &Option<Standing>| standing.as_ref().is_some_and(|one| is_met(one, wanted));
                latest.wait_for(is_met).await.ok().and_then(|standing| standing.clone())
            }
        };
        Ok(to_json(standing.as_ref()))
    }

    pub(crate) async fn assign(&self, assignments: &[String]) -> Answer {
        let Self::Joined { membership, .. } = self else {
            return Err(Failure::Driver("a member that takes part assigns by itself".to_owned()));
        };
        let membership = membership.lock().await;
        let membership = membership.as_ref().ok_or_else(|| Failure::Driver("it has left".to_owned()))?;
        let group = membership.standing().group;
        let numbers = group.members.iter().map(|member| member.number);
        membership.assign(&group, numbers.zip(assignments.iter().cloned()).collect()).await?;
        Ok(json!({}))
    }

    pub(crate) async fn leave(&self) -> Answer {
        match self {
            Self::Joined { membership, .. } => {
                let membership = membership.lock().await.take();
                membership.ok_or_else(|| Failure::Driver("it has left".to_owned()))?.leave().await?;
            }
            Self::TakesPart { task, .. } => task.abort(),
        }
        Ok(json!({}))
    }
}

fn is_met(standing: &Standing, wanted: &AwaitStanding) -> bool {
    wanted.leads.is_none_or(|leads| standing.leads() == leads)
        && wanted.assignment.as_deref().is_none_or(|assignment| standing.assignment() == Some(assignment))
        && wanted.current.is_none_or(|current| standing.is_current() == current)
        && wanted.member_count.is_none_or(|count| standing.group.members.len() == count)
}

fn to_json(standing: Option<&Standing>) -> Value {
    standing.map(answer::standing).unwrap_or_default().into()
}
