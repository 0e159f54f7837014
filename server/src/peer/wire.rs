//! What servers tell each other, on the wire. What comes from there is checked as if a client had sent it.

use std::sync::Arc;
use std::time::Duration;

use prost::bytes::Bytes;
use tenure_core::{
    Acquire, AskedMode, Attached, Command, Limits, Names, Opening, Origin, Request, Revision, ServerId, Text,
};
use tenure_proto::internal::command::Kind;
use tenure_proto::internal::{self as proto};
use tenure_proto::v1;

use super::pack::{Arrived, pack};
use crate::grpc::convert;
use crate::grpc::validate;
use crate::sequencer::passing::{News, Pass, Report, Verdict};
use crate::store::Batch;
use crate::telemetry::traces::parent::TRACEPARENT;

/// The longest batch that is told, in bytes. Followers read a longer one from the store.
const BATCH: usize = 1024 * 1024;

/// A pass; none if some command cannot be passed.
pub(super) fn pass(pass: &Pass) -> Option<proto::Pass> {
    let commands = pass.requests.iter().map(command).collect::<Option<_>>()?;
    let pauses = pass.pauses.iter().map(|(claim, pause)| {
        let nanos = u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX);
        proto::LongestPause { claim: claim.0, nanos }
    });
    let traces = pass.traces.iter().filter_map(|(place, traceparent)| {
        let command = u32::try_from(*place).ok()?;
        Some(proto::PassedTrace { command, traceparent: traceparent.clone() })
    });
    let (pauses, traces) = (pauses.collect(), traces.collect());
    Some(proto::Pass { number: pass.number, after: pass.after.0, commands, pauses, traces })
}

/// A pass of this server; none if it is none that a server would send.
pub(super) fn taken(pass: proto::Pass, from: ServerId) -> Option<Pass> {
    let requests = pass.commands.into_iter().map(|command| taken_request(command, from)).collect::<Option<_>>()?;
    let pauses = pass.pauses.iter().map(|pause| (Revision(pause.claim), Duration::from_nanos(pause.nanos)));
    let traces = pass.traces.into_iter().filter(|trace| trace.traceparent.len() == TRACEPARENT);
    let traces = traces.filter_map(|trace| Some((usize::try_from(trace.command).ok()?, trace.traceparent)));
    let (pauses, traces) = (pauses.collect(), traces.collect());
    Some(Pass { number: pass.number, after: Revision(pass.after), requests, pauses, traces })
}

fn taken_request(command: proto::Command, from: ServerId) -> Option<Request> {
    let identity = (!command.identity.is_empty()).then(|| command.identity.into());
    let limits = command.limits.unwrap_or_default();
    Some(asked(command.kind?, from)?.by(identity.as_ref(), taken_limits(limits)))
}

fn command(request: &Request) -> Option<proto::Command> {
    let actor = request.actor.as_ref();
    let (identity, limits) =
        actor.map(|actor| (actor.identity.to_string(), told_limits(actor.limits))).unwrap_or_default();
    let kind = match &request.command {
        Command::Acquire(Acquire {
            session,
            opening: asked,
            origin,
            opened,
            names,
            mode,
            queue,
            priority,
            metadata,
            min_hold,
            ..
        }) => {
            let (mode, permits, limit) = match *mode {
                AskedMode::Exclusive => (proto::Mode::Unspecified, 0, None),
                AskedMode::Shared => (proto::Mode::Shared, 0, None),
                AskedMode::Permits { permits, limit } => (proto::Mode::Permits, permits, limit),
            };
            Kind::Acquire(proto::Acquire {
                session: session.to_string(),
                opening: asked.as_ref().map(opening),
                names: texts(names),
                mode: mode.into(),
                permits,
                limit,
                queue: *queue,
                priority: *priority,
                metadata: (**metadata).clone(),
                min_hold: (!min_hold.is_zero()).then(|| convert::duration(*min_hold)),
                attached: match origin {
                    Origin::Call { .. } => None,
                    Origin::Stream { attached } => attached.map(attachment),
                },
                received: match origin {
                    Origin::Call { received } => Some(received.0),
                    Origin::Stream { .. } => None,
                },
                opened: opened.unwrap_or_default().0,
            })
        }
        Command::Release { session, name, token } => {
            Kind::Release(proto::Release { session: session.to_string(), name: name.to_string(), token: token.0 })
        }
        Command::CancelAcquire { session, attached, names } => {
            let (session, names) = (session.to_string(), texts(names));
            Kind::CancelAcquire(proto::CancelAcquire { session, names, attached: attached.map(attachment) })
        }
        Command::OpenSession { session, opening: asked, attachment, client, .. } => {
            Kind::OpenSession(proto::OpenSession {
                session: session.to_string(),
                opening: Some(opening(asked)),
                attachment: *attachment,
                client: client.as_deref().unwrap_or_default().to_owned(),
            })
        }
        Command::AttachSession { session, attachment, client, .. } => Kind::AttachSession(proto::AttachSession {
            session: session.to_string(),
            attachment: *attachment,
            client: client.as_deref().unwrap_or_default().to_owned(),
        }),
        Command::CloseSession { session, client } => Kind::CloseSession(proto::CloseSession {
            session: session.to_string(),
            client: client.as_deref().unwrap_or_default().to_owned(),
        }),
        Command::EndWait { claim, .. } => Kind::EndWait(claim.0),
        _ => return None,
    };
    Some(proto::Command { kind: Some(kind), identity, limits })
}

fn told_limits(limits: Limits) -> Option<proto::Limits> {
    let Limits { sessions, claims, waiters, memberships } = limits;
    (limits != Limits::default()).then_some(proto::Limits { sessions, claims, waiters, memberships })
}

fn taken_limits(limits: proto::Limits) -> Limits {
    let proto::Limits { sessions, claims, waiters, memberships } = limits;
    Limits { sessions, claims, waiters, memberships }
}

fn attachment(attached: Attached) -> proto::Attached {
    proto::Attached { count: attached.count, lost: attached.lost.0 }
}

fn attached(attachment: proto::Attached) -> Attached {
    Attached { count: attachment.count, lost: Revision(attachment.lost) }
}

fn asked(kind: Kind, home: ServerId) -> Option<Command> {
    Some(match kind {
        Kind::Acquire(acquire) => {
            let mode = match acquire.mode() {
                proto::Mode::Unspecified => AskedMode::Exclusive,
                proto::Mode::Shared => AskedMode::Shared,
                proto::Mode::Permits => permits(acquire.permits, acquire.limit)?,
            };
            Command::Acquire(Acquire {
                session: session(&acquire.session)?,
                opening: match acquire.opening {
                    Some(asked) => Some(opened(asked)?),
                    None => None,
                },
                home,
                origin: match acquire.received {
                    Some(received) => Origin::Call { received: Revision(received) },
                    None => Origin::Stream { attached: acquire.attached.map(attached) },
                },
                opened: validate::optional_revision("opened", acquire.opened).ok()?,
                names: names(&acquire.names)?,
                mode,
                queue: acquire.queue,
                priority: validate::priority(acquire.priority).ok()?,
                metadata: validate::metadata(acquire.metadata).ok()?,
                min_hold: duration(acquire.min_hold.unwrap_or_default())?,
            })
        }
        Kind::Release(release) => Command::Release {
            session: session(&release.session)?,
            name: validate::name("name", &release.name).ok()?,
            token: validate::token(release.token).ok()?,
        },
        Kind::CancelAcquire(cancel) => {
            let (session, names) = (session(&cancel.session)?, names(&cancel.names)?);
            Command::CancelAcquire { session, attached: cancel.attached.map(attached), names }
        }
        Kind::OpenSession(open) => Command::OpenSession {
            session: session(&open.session)?,
            opening: opened(open.opening?)?,
            home,
            attachment: validate::attachment(open.attachment).ok()?,
            client: validate::client_id(&open.client).ok()?,
        },
        Kind::AttachSession(attach) => {
            let (session, attachment) = (session(&attach.session)?, validate::attachment(attach.attachment).ok()?);
            Command::AttachSession { session, home, attachment, client: validate::client_id(&attach.client).ok()? }
        }
        Kind::CloseSession(close) => Command::CloseSession {
            session: session(&close.session)?,
            client: validate::client_id(&close.client).ok()?,
        },
        Kind::EndWait(claim) => Command::EndWait { claim: Revision(claim), home },
    })
}

fn permits(permits: u32, limit: Option<u32>) -> Option<AskedMode> {
    // Where clients leave a limit away, they say 0.
    let asked = validate::mode(v1::Mode::Permits.into(), permits, limit.unwrap_or_default()).ok()?;
    Some(asked).filter(|_| permits > 0 && limit != Some(0))
}

fn texts(names: &Names) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn session(id: &str) -> Option<Text> {
    validate::session_id("session", id).ok()
}

fn names(names: &[String]) -> Option<Names> {
    validate::names(names).ok()
}

fn opening(opening: &Opening) -> proto::Opening {
    proto::Opening {
        ttl: Some(convert::duration(opening.ttl)),
        disconnect_grace: opening.disconnect_grace.map(convert::duration),
        owner: opening.owner.to_string(),
        metadata: (*opening.metadata).clone(),
    }
}

fn opened(opening: proto::Opening) -> Option<Opening> {
    Some(Opening {
        ttl: duration(opening.ttl?).filter(|ttl| !ttl.is_zero())?,
        disconnect_grace: match opening.disconnect_grace {
            Some(grace) => Some(duration(grace)?),
            None => None,
        },
        owner: validate::label("owner", &opening.owner).ok()?,
        metadata: validate::metadata(opening.metadata).ok()?,
        identity: None,
    })
}

fn duration(duration: prost_types::Duration) -> Option<Duration> {
    Duration::try_from(duration).ok().filter(|duration| *duration <= validate::LONGEST_WAIT)
}

/// What followers are told.
pub(super) fn response(news: &News) -> proto::PassResponse {
    let batch = match &news.batch {
        Some(Report::Whole(batch)) => told(batch, news.packed.get_or_init(|| pack(batch))),
        Some(Report::Packed(_)) | None => None,
    };
    proto::PassResponse { batch, verdicts: news.verdicts.iter().map(verdict).collect(), rows: news.rows.0 }
}

/// A batch, unless it is too long to be told.
fn told(batch: &Batch, events: &Bytes) -> Option<proto::Batch> {
    let (previous, number, at_ms) = (batch.previous.0, batch.number, batch.at_ms);
    (events.len() <= BATCH).then(|| proto::Batch { previous, number, at_ms, events: events.clone() })
}

fn verdict(verdict: &Verdict) -> proto::Verdict {
    let Some(places) = &verdict.decided else {
        return proto::Verdict { number: verdict.number, refused: true, at: verdict.at.0, ..proto::Verdict::default() };
    };
    let first = places.first().map_or(0, |first| first.0);
    let befores = places.first().into_iter().chain(places);
    let steps = places.iter().zip(befores).map(|(place, before)| place.0.saturating_sub(before.0)).collect();
    proto::Verdict { number: verdict.number, refused: false, first, steps, at: verdict.at.0 }
}

/// What a server tells.
pub(super) fn news(response: proto::PassResponse, from: ServerId, namespace: &Text) -> Result<News, String> {
    let arrived = response.batch.map(|batch| Arrived::new(batch, from, namespace)).transpose()?;
    let batch = arrived.map(|arrived| Report::Packed(Arc::new(arrived)));
    let verdicts = response.verdicts.into_iter().map(|told| {
        let mut place = Revision(told.first);
        let places = told.steps.into_iter().map(|step| {
            place = Revision(place.0.saturating_add(step));
            place
        });
        Verdict { number: told.number, decided: (!told.refused).then(|| places.collect()), at: Revision(told.at) }
    });
    Ok(News { batch, verdicts: verdicts.collect(), rows: Revision(response.rows), packed: Arc::default() })
}

#[cfg(test)]
mod tests {
    use tenure_core::testing::{self, Build, filler, label};
    use tenure_core::{Recorded, Table};

    use super::*;

    const HOME: ServerId = ServerId(7);

    fn requests() -> Vec<Request> {
        let labels = || label("key", "value");
        let opening = Opening {
            ttl: Duration::from_millis(1_500),
            disconnect_grace: Some(Duration::from_millis(300)),
            metadata: labels(),
            ..testing::opening()
        };
        let attached = |count, lost| Attached { count, lost: Revision(lost) };
        let by_stream = |opening| {
            let command = testing::acquire("s", "a").opening(opening).at(HOME).priority(-3).labels(labels());
            command.attached(attached(2, 9)).opened(Revision(7))
        };
        let by_call = testing::acquire("s", ["a", "b"]).opening(Some(opening.clone())).at(HOME).priority(-3);
        let by_call = by_call.labels(labels()).received(Revision(8));
        let limits = Limits { sessions: Some(1), claims: None, waiters: Some(0), memberships: Some(u32::MAX) };
        let permits = |limit| AskedMode::Permits { permits: 2, limit };
        let mut requests: Vec<Request> = [
            by_stream(None),
            by_call.shared().min_hold(Duration::from_nanos(1_000_001)),
            by_stream(None).mode(permits(None)),
            by_stream(None).mode(permits(Some(5))),
            testing::release("s", "a", Revision(9)),
            testing::cancel("s", "a").attached(attached(3, 0)),
            testing::open("s").with_opening(|with| *with = opening.clone()).at(HOME).attachment(1),
            Command::AttachSession { session: "s".into(), home: HOME, attachment: 2, client: Some("c".into()) },
            testing::close("s"),
            Command::EndWait { claim: Revision(3), home: HOME },
        ]
        .map(Request::from)
        .into();
        requests.extend([
            by_stream(Some(opening)).by(Some(&"token:ann".into()), limits),
            testing::close("s").by(Some(&"token:ann".into()), Limits::default()),
        ]);
        requests
    }

    #[test]
    fn commands_arrive_as_they_were_passed() {
        let given = Pass {
            number: 4,
            after: Revision(12),
            requests: requests(),
            pauses: vec![(Revision(9), Duration::from_nanos(1_234_567))],
            traces: vec![(2, format!("00-{}-{}-01", "a".repeat(32), "b".repeat(16)))],
        };
        let sent = pass(&given).expect("all of these can be passed");
        assert_eq!(taken(sent, HOME), Some(given));
    }

    #[test]
    fn what_is_no_trace_is_left_out() {
        let trace = proto::PassedTrace { command: 0, traceparent: "a".repeat(TRACEPARENT + 1) };
        let given = proto::Pass { traces: vec![trace], ..proto::Pass::default() };
        assert_eq!(taken(given, HOME).map(|pass| pass.traces), Some(Vec::new()));
    }

    fn asks_for_permits(permits: u32, limit: Option<u32>) -> Option<Kind> {
        let (session, names, mode) = ("s".into(), vec!["a".into()], proto::Mode::Permits.into());
        Some(Kind::Acquire(proto::Acquire { session, names, mode, permits, limit, ..proto::Acquire::default() }))
    }

    #[test]
    fn what_no_server_would_pass_is_refused() {
        let kinds = [
            None,
            Some(Kind::Acquire(proto::Acquire { session: "s".into(), ..proto::Acquire::default() })),
            Some(Kind::Acquire(proto::Acquire {
                session: "s".into(),
                names: vec!["a".into()],
                mode: proto::Mode::Permits.into(),
                ..proto::Acquire::default()
            })),
            asks_for_permits(3, Some(2)),
            asks_for_permits(1, Some(0)),
            asks_for_permits(1_000_001, None),
            Some(Kind::AttachSession(proto::AttachSession {
                session: "s".into(),
                attachment: u64::MAX,
                client: String::new(),
            })),
            Some(Kind::Release(proto::Release { session: "s\0".into(), name: "a".into(), token: 1 })),
            Some(Kind::OpenSession(proto::OpenSession { session: "s".into(), ..proto::OpenSession::default() })),
            Some(Kind::OpenSession(proto::OpenSession {
                session: "s".into(),
                opening: Some(proto::Opening {
                    ttl: Some(prost_types::Duration { seconds: -1, nanos: 0 }),
                    ..proto::Opening::default()
                }),
                attachment: 0,
                client: String::new(),
            })),
        ];
        for kind in kinds {
            let pass = proto::Pass {
                commands: vec![proto::Command { kind: kind.clone(), ..proto::Command::default() }],
                ..proto::Pass::default()
            };
            assert_eq!(taken(pass, HOME), None, "{kind:?}");
        }
    }

    #[test]
    fn news_arrive_as_they_were_told() {
        let verdicts = vec![
            Verdict { number: 1, decided: Some(vec![Revision(4), Revision(4), Revision(6)]), at: Revision(6) },
            Verdict { number: 2, decided: None, at: Revision(6) },
            Verdict { number: 3, decided: Some(Vec::new()), at: Revision(7) },
        ];
        let (namespace, server) = (Text::from("n"), ServerId(8));
        let events = vec![Recorded { revision: Revision(5), event: filler(1) }];
        let batch = Batch { namespace, previous: Revision(4), events, server, number: 2, at_ms: 3 };
        let told = Some(Report::Whole(Arc::new(batch.clone())));
        let given = News { batch: told, verdicts, rows: Revision(1), packed: Arc::default() };
        let heard = news(response(&given), ServerId(8), &"n".into()).expect("readable");
        assert_eq!((heard.verdicts, heard.rows), (given.verdicts, given.rows));
        let Some(Report::Packed(packed)) = heard.batch else { panic!("{:?}", heard.batch) };
        assert_eq!(packed.unpack(&Table::default()), Ok(batch));
    }
}
