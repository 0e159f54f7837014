//! The declared stream.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tenure_proto::v1::connect_request::Kind as Sent;
use tenure_proto::v1::state::Kind as State;
use tenure_proto::v1::{
    Change, Changes, Declaration, DeclaredClaim, DeclaredMembership, EndReason, EvictRequest, Hello, PendingTransfer,
    TransferRequest, change,
};
use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::calls::cluster::{Cluster, acquire_request, assert_stays, until};
use crate::calls::declared::{CLIENT, LONG, Stream, claim, claims, hello, session, with_claims};
use crate::serving::within;

fn reason(status: &Status) -> String {
    status.get_details_error_info().expect("an ErrorInfo").reason
}

#[tokio::test]
async fn lock_with_a_session_of_its_own_takes_two_changes() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let mut stream = Stream::connect(&caller, hello(CLIENT, 1, &[], vec![])).await.expect("welcome");
    assert_ne!(stream.welcome.server, 0);
    stream.change([change::Kind::Declare(with_claims(session(1, "ann", LONG), [claim(2, "a")]))]).await;
    let State::Open(open) = stream.state(1).await else { panic!("not open") };
    assert_eq!(open.session_id, "ann");
    let millis = |duration: Option<prost_types::Duration>| Duration::try_from(duration.expect("set")).expect("short");
    assert_eq!(millis(open.valid_for), LONG - LONG / 100 - Duration::from_millis(500));
    assert!(millis(open.renew_after) < millis(open.warn_after) && millis(open.warn_after) < millis(open.valid_for));
    let token = stream.token(2).await;
    assert_eq!(caller.holder("a").await, Some(("ann".to_owned(), token)));
    stream.change([change::Kind::Withdraw(1)]).await;
    stream.assert_ends(2, EndReason::Closed).await;
    stream.assert_ends(1, EndReason::Closed).await;
    assert_eq!(caller.holder("a").await, None);
}

#[tokio::test]
async fn claims_of_one_session_exclude_each_other() {
    let cluster = Cluster::start(1).await;
    let mut stream = Stream::with_session(&cluster.caller(0).await).await;
    stream.change([claims(1, [claim(2, "a"), claim(3, "a")])]).await;
    let token = stream.token(2).await;
    stream.assert_waits(3).await;
    let try_once = DeclaredClaim { queue: false, ..claim(4, "a") };
    stream.change([claims(1, [try_once])]).await;
    let State::Busy(busy) = stream.state(4).await else { panic!("not busy") };
    assert_eq!(busy.holder.map(|holder| holder.token), Some(token));
    stream.change([change::Kind::Withdraw(2)]).await;
    stream.assert_ends(2, EndReason::Released).await;
    assert!(stream.token(3).await > token);
}

#[tokio::test]
async fn client_that_connects_to_another_server_keeps_holds_and_places() {
    let cluster = Cluster::start(2).await;
    let (first, second) = (cluster.caller(0).await, cluster.caller(1).await);
    let other = first.hold("other", "b").await;
    let mut stream = Stream::with_session(&first).await;
    stream.change([claims(1, [claim(2, "a"), claim(3, "b")])]).await;
    let token = stream.token(2).await;
    stream.assert_waits(3).await;
    drop(stream);
    // The claim of number 4 was declared on the stream that broke.
    let declared = with_claims(Declaration { session: 1, ..Declaration::default() }, [claim(4, "c")]);
    let mut stream = Stream::connect(&second, hello(CLIENT, 2, &[1, 2, 3], vec![declared])).await.expect("welcome");
    assert!(matches!(stream.state(1).await, State::Open(_)));
    assert_eq!(stream.token(2).await, token);
    stream.assert_waits(3).await;
    stream.token(4).await;
    first.release("other", "b", other).await.expect("held");
    stream.token(3).await;
    stream.keep_alive(7).await;
    assert_stays("it holds on", async || first.holder("a").await == Some(("ann".to_owned(), token))).await;
}

#[tokio::test]
async fn what_is_not_stated_is_withdrawn_and_what_has_ended_is_not_revived() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let mut stream = Stream::with_session(&caller).await;
    stream.change([claims(1, [claim(2, "a"), claim(3, "b")])]).await;
    stream.token(2).await;
    stream.token(3).await;
    let evict = EvictRequest { name: "a".to_owned(), operator: "op".to_owned(), ..EvictRequest::default() };
    within(caller.locks().evict(evict)).await.expect("evicted");
    let State::Ended(ended) = stream.state(2).await else { panic!("not ended") };
    assert_eq!((ended.reason(), &*ended.operator), (EndReason::Evicted, "op"));
    let mut again = Stream::connect(&caller, hello(CLIENT, 2, &[1, 2], vec![])).await.expect("welcome");
    again.assert_ends(2, EndReason::Evicted).await;
    assert!(matches!(again.state(1).await, State::Open(_)));
    assert_eq!(caller.holder("b").await, None, "it was not stated");
    assert_eq!(reason(&stream.end().await), "CLIENT_SUPERSEDED");
}

#[tokio::test]
async fn second_program_with_the_id_of_a_live_client_is_rejected() {
    let cluster = Cluster::start(2).await;
    let (first, second) = (cluster.caller(0).await, cluster.caller(1).await);
    let mut stream = Stream::with_session(&first).await;
    let twin = Stream::connect(&second, hello(CLIENT, 1, &[], vec![])).await.err().expect("rejected");
    assert_eq!((twin.code(), &*reason(&twin)), (Code::FailedPrecondition, "CLIENT_SUPERSEDED"));
    stream.keep_alive(1).await;
    let id = "fedcba9876543210";
    let declared = vec![session(1, "ann", LONG)];
    let mut other = Stream::connect(&second, hello(id, 1, &[], declared)).await.expect("welcome");
    assert_eq!(other.rejected(1).await, (Code::FailedPrecondition, "SESSION_IN_USE".to_owned()));
    let call = first.acquire(acquire_request("ann", "a", None)).await.expect_err("rejected");
    assert_eq!(reason(&call), "SESSION_IN_USE");
    assert_eq!(reason(&first.renew("ann").await.expect_err("rejected")), "SESSION_IN_USE");
}

#[tokio::test]
async fn session_lives_while_its_client_is_renewed_and_ages_while_it_is_paused() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let ttl = Duration::from_millis(800);
    let declared = vec![session(1, "ann", ttl), session(2, "bob", ttl)];
    let mut stream = Stream::connect(&caller, hello(CLIENT, 1, &[], declared)).await.expect("welcome");
    stream.state(1).await;
    stream.state(2).await;
    stream.change([change::Kind::Pause(2)]).await;
    for number in 1.. {
        stream.keep_alive(number).await;
        if stream.states.contains_key(&2) {
            break;
        }
    }
    stream.assert_ends(2, EndReason::Expired).await;
    assert!(caller.session("ann").await.is_ok());
}

#[tokio::test]
async fn session_is_paused_in_the_message_that_declares_it() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let mut stream = Stream::with_session(&caller).await;
    let declare = change::Kind::Declare(session(2, "bob", Duration::from_millis(800)));
    stream.change([declare, change::Kind::Pause(2)]).await;
    assert!(matches!(stream.state(2).await, State::Open(_)));
    for number in 1.. {
        stream.keep_alive(number).await;
        if stream.states.contains_key(&2) {
            break;
        }
    }
    stream.assert_ends(2, EndReason::Expired).await;
}

/// Keep-alives, pauses and resumes need no database; changes fail at once, and the stream goes on.
#[tokio::test]
async fn stream_survives_an_outage_of_the_database() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let mut stream = Stream::with_session(&caller).await;
    stream.change([claims(1, [claim(2, "a"), claim(3, "b")])]).await;
    let token = stream.token(2).await;
    stream.token(3).await;
    cluster.database.set_available(false);
    stream.change([change::Kind::Pause(1), change::Kind::Resume(1), claims(1, [claim(4, "c")])]).await;
    stream.change([change::Kind::Withdraw(3)]).await;
    assert_eq!(stream.rejected(4).await, (Code::Unavailable, "STORE_UNAVAILABLE".to_owned()));
    stream.keep_alive(1).await;
    cluster.database.set_available(true);
    stream.assert_ends(3, EndReason::Released).await;
    stream.keep_alive(2).await;
    assert_eq!(caller.holder("a").await, Some(("ann".to_owned(), token)));
    assert_eq!(caller.holder("c").await, None);
}

#[tokio::test]
async fn session_with_a_grace_ends_when_its_client_disconnects() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let mut graced = session(1, "ann", LONG);
    if let Some(open) = &mut graced.open {
        open.disconnect_grace = Some(Duration::from_millis(200).try_into().expect("short"));
    }
    let mut stream = Stream::connect(&caller, hello(CLIENT, 1, &[], vec![graced])).await.expect("welcome");
    stream.state(1).await;
    drop(stream);
    until("it has ended", async || caller.session("ann").await.is_err()).await;
}

#[tokio::test]
async fn waits_of_a_client_that_is_gone_delay_no_other() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let token = caller.hold("first", "a").await;
    let mut stream = Stream::with_session(&caller).await;
    stream.change([claims(1, [claim(2, "a")])]).await;
    stream.assert_waits(2).await;
    drop(stream);
    caller.release("first", "a", token).await.expect("held");
    until("it is passed on", async || caller.holder("a").await.is_none()).await;
    assert!(caller.session("ann").await.is_ok(), "only what it does not know of has ended");
}

#[tokio::test]
async fn holder_is_asked_to_hand_over_and_does_so_by_withdrawing() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let mut stream = Stream::with_session(&caller).await;
    stream.change([claims(1, [claim(2, "a"), claim(3, "a")])]).await;
    let token = stream.token(2).await;
    stream.assert_waits(3).await;
    let (operator, note) = ("op".to_owned(), "upgrade".to_owned());
    let request = TransferRequest { name: "a".to_owned(), token, operator, note, ..TransferRequest::default() };
    let transfer = tokio::spawn({
        let mut locks = caller.locks();
        async move { locks.transfer(request).await }
    });
    let State::Held(held) = stream.state(2).await else { panic!("not held") };
    assert_eq!(held.token, token);
    let asked = held.transfer.expect("a request");
    assert!(matches!(&asked, PendingTransfer { operator, note, .. } if operator == "op" && note == "upgrade"));
    stream.change([change::Kind::Withdraw(2)]).await;
    stream.assert_ends(2, EndReason::Transferred).await;
    assert!(stream.token(3).await > token);
    within(transfer).await.expect("ran").expect("handed over");
}

#[tokio::test]
async fn memberships_are_declared_like_claims() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let mut stream = Stream::with_session(&caller).await;
    let join = |number| DeclaredMembership { number, group: "g".to_owned(), ..DeclaredMembership::default() };
    let declare = |number| {
        let memberships = vec![join(number)];
        change::Kind::Declare(Declaration { session: 1, memberships, ..Declaration::default() })
    };
    stream.change([declare(2)]).await;
    assert!(matches!(stream.state(2).await, State::Joined(joined) if joined.member > 0));
    stream.change([declare(3)]).await;
    assert_eq!(stream.rejected(3).await, (Code::FailedPrecondition, "MEMBERSHIP_OVERLAP".to_owned()));
    stream.change([change::Kind::Withdraw(2)]).await;
    stream.assert_ends(2, EndReason::Released).await;
}

#[tokio::test]
async fn bad_items_are_rejected_one_by_one() {
    let cluster = Cluster::start(1).await;
    let mut stream = Stream::with_session(&cluster.caller(0).await).await;
    let priority = DeclaredClaim { priority: 1_001, ..claim(3, "b") };
    stream.change([claims(1, [claim(2, ""), priority, claim(4, "c")])]).await;
    assert_eq!(stream.rejected(2).await, (Code::InvalidArgument, "INVALID_FIELD".to_owned()));
    assert_eq!(stream.rejected(3).await, (Code::InvalidArgument, "INVALID_FIELD".to_owned()));
    stream.token(4).await;
    stream.change([change::Kind::Declare(session(5, "ann", LONG)), claims(9, [claim(10, "d")])]).await;
    assert_eq!(stream.rejected(5).await.1, "SESSION_IN_USE");
    stream.assert_ends(10, EndReason::Unspecified).await;
    for (number, grace) in [(11, Duration::from_millis(99)), (12, LONG + Duration::from_millis(1))] {
        let mut declaration = session(number, "bob", LONG);
        let open = declaration.open.as_mut().expect("a session");
        open.disconnect_grace = Some(grace.try_into().expect("short"));
        stream.change([change::Kind::Declare(declaration)]).await;
        assert_eq!(stream.rejected(number).await, (Code::InvalidArgument, "INVALID_FIELD".to_owned()), "{grace:?}");
    }
}

#[tokio::test]
async fn last_changes_of_a_client_that_sends_no_more_are_reported() {
    let cluster = Cluster::start(1).await;
    let mut stream = Stream::with_session(&cluster.caller(0).await).await;
    stream.change([claims(1, [claim(2, "a")]), change::Kind::Withdraw(1)]).await;
    stream.requests = None;
    assert_eq!(stream.end().await.code(), Code::Ok);
    stream.assert_ends(1, EndReason::Closed).await;
    stream.assert_ends(2, EndReason::Closed).await;
}

fn change_of(kind: change::Kind) -> Sent {
    Sent::Changes(Changes { changes: vec![Change { kind: Some(kind), ..Change::default() }] })
}

/// What is out of bounds so that no state could report it ends the stream.
#[tokio::test]
async fn malformed_messages_end_the_stream_with_the_field() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let malformed = [
        Sent::Changes(Changes::default()),
        Sent::Changes(Changes { changes: vec![Change::default()] }),
        change_of(claims(0, [claim(2, "a")])),
        change_of(claims(1, [claim(0, "a")])),
        Sent::Hello(Hello::default()),
    ];
    for (epoch, kind) in (1..).zip(malformed) {
        let client = format!("{CLIENT}{epoch}");
        let mut stream = Stream::connect(&caller, hello(&client, epoch, &[], vec![])).await.expect("welcome");
        stream.send(kind).await;
        let status = stream.end().await;
        assert_eq!((status.code(), &*reason(&status)), (Code::InvalidArgument, "INVALID_FIELD"), "{status:?}");
    }
    for hello in [hello("short", 1, &[], vec![]), hello(CLIENT, 0, &[], vec![])] {
        let status = Stream::connect(&caller, hello).await.err().expect("rejected");
        assert_eq!((status.code(), &*reason(&status)), (Code::InvalidArgument, "INVALID_FIELD"), "{status:?}");
    }
}

#[tokio::test]
async fn hello_in_parts_reports_thousands_of_claims() {
    const CLAIMS: u64 = 2_500;
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let mut stream = Stream::with_session(&caller).await;
    for first in (2..CLAIMS).step_by(500) {
        stream.change([claims(1, (first..first + 500).map(|number| claim(number, &format!("lock-{number}"))))]).await;
    }
    let mut tokens = BTreeMap::new();
    for number in 2..2 + CLAIMS {
        tokens.insert(number, stream.token(number).await);
    }
    drop(stream);
    let part = |known: Vec<u64>, more| Hello { known, more, ..hello(CLIENT, 2, &[], vec![]) };
    let parts = [part((2..1_000).collect(), true), part((1_000..CLAIMS + 2).collect(), true), part(vec![1], false)];
    let mut stream = Stream::connect_in_parts(&caller, parts).await.expect("welcome");
    for (number, token) in tokens {
        assert_eq!(stream.token(number).await, token, "{number}");
    }
}

#[tokio::test]
async fn client_without_sessions_is_forgotten_when_it_leaves() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    for _ in 0..3 {
        let gone = async || Stream::connect(&caller, hello(CLIENT, 1, &[], vec![])).await.is_ok();
        until("it is forgotten", gone).await;
    }
}

#[tokio::test]
async fn changes_of_one_message_share_one_append() {
    let cluster = Cluster::start(1).await;
    let mut stream = Stream::with_session(&cluster.caller(0).await).await;
    let before = cluster.database.log("default").len();
    stream.change((2..502).map(|number| claims(1, [claim(number, &format!("lock/{number}"))]))).await;
    for number in 2..502 {
        stream.token(number).await;
    }
    assert_eq!(cluster.database.log("default").len(), before + 1, "one batch");
}

/// What is reported as rejected is withdrawn, should it be made later.
#[tokio::test]
async fn claim_is_rejected_in_time_while_the_store_hangs() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let mut stream = Stream::with_session(&caller).await;
    let hold = cluster.database.hold_appends();
    let sent = Instant::now();
    stream.change([claims(1, [claim(2, "a")])]).await;
    assert_eq!(stream.rejected(2).await, (Code::Unavailable, "OUTCOME_UNKNOWN".to_owned()));
    assert!(sent.elapsed() >= Duration::from_secs(9), "{:?}", sent.elapsed());
    drop(hold);
    stream.change([claims(1, [claim(3, "b")])]).await;
    stream.token(3).await;
    until("the late grant is withdrawn", async || caller.holder("a").await.is_none()).await;
}

#[tokio::test]
async fn session_of_a_client_is_not_claimed_by_another_or_by_calls() {
    let cluster = Cluster::start(2).await;
    let (first, second) = (cluster.caller(0).await, cluster.caller(1).await);
    let mut ann = Stream::with_session(&first).await;
    for (number, caller) in [&first, &second].into_iter().enumerate() {
        let id = format!("another-client-{number}");
        let mut other =
            Stream::connect(caller, hello(&id, 1, &[], vec![session(1, "ann", LONG)])).await.expect("welcome");
        assert_eq!(other.rejected(1).await, (Code::FailedPrecondition, "SESSION_IN_USE".to_owned()));
        let refused = caller.acquire(acquire_request("ann", "a", Some(Duration::ZERO))).await.expect_err("declared");
        assert_eq!(reason(&refused), "SESSION_IN_USE");
        assert_eq!(reason(&caller.renew("ann").await.expect_err("declared")), "SESSION_IN_USE");
    }
    ann.keep_alive(1).await;
    assert_eq!(first.holder("a").await, None);
}

#[tokio::test]
async fn rejected_request_does_not_renew_its_session() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let open = |seconds| tenure_proto::v1::OpenSessionRequest {
        session_id: "ann".into(),
        ttl: Some(prost_types::Duration { seconds, nanos: 0 }),
        ..Default::default()
    };
    within(caller.sessions().open_session(open(60))).await.expect("opened");
    let remaining = async || {
        let remaining = caller.session("ann").await.expect("open").remaining.expect("known");
        Duration::try_from(remaining).expect("positive")
    };
    until("some of the TTL has passed", async || remaining().await < Duration::from_millis(59_900)).await;
    let before = remaining().await;
    let refused = within(caller.sessions().open_session(open(i64::MAX))).await.expect_err("out of bounds");
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused:?}");
    assert!(remaining().await <= before);
}
