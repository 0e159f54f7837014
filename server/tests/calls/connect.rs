//! The declared stream.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_proto::v1::client_service_client::ClientServiceClient;
use tenure_proto::v1::connect_request::Kind as Sent;
use tenure_proto::v1::connect_response::Kind as Received;
use tenure_proto::v1::state::Kind as State;
use tenure_proto::v1::{
    Change, Changes, ConnectRequest, ConnectResponse, Declaration, DeclaredClaim, DeclaredMembership, DeclaredSession,
    EndReason, EvictRequest, Hello, KeepAlive, PendingTransfer, TransferRequest, Welcome, change,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};
use tonic_types::StatusExt;

use crate::calls::cluster::{Caller, Cluster, acquire_request, assert_stays, until};
use crate::serving::within;

const CLIENT: &str = "0123456789abcdef";
const LONG: Duration = Duration::from_secs(600);

/// A client's stream, and the latest states that it has received.
struct Stream {
    /// `None`: the client sends no more.
    requests: Option<mpsc::Sender<ConnectRequest>>,
    responses: Streaming<ConnectResponse>,
    welcome: Welcome,
    states: BTreeMap<u64, State>,
}

fn reason(status: &Status) -> String {
    status.get_details_error_info().expect("an ErrorInfo").reason
}

fn hello(client: &str, epoch: u64, known: &[u64], declared: Vec<Declaration>) -> Hello {
    Hello { client_id: client.to_owned(), epoch, known: known.to_vec(), declared, ..Hello::default() }
}

/// A session with this TTL.
fn session(number: u64, id: &str, ttl: Duration) -> Declaration {
    let ttl = Some(ttl.try_into().expect("short"));
    let open = Some(DeclaredSession { session_id: id.to_owned(), ttl, ..DeclaredSession::default() });
    Declaration { session: number, open, ..Declaration::default() }
}

/// A claim that waits in the queue.
fn claim(number: u64, name: &str) -> DeclaredClaim {
    DeclaredClaim { number, names: vec![name.to_owned()], queue: true, ..DeclaredClaim::default() }
}

fn with_claims(declaration: Declaration, claims: impl IntoIterator<Item = DeclaredClaim>) -> Declaration {
    Declaration { claims: claims.into_iter().collect(), ..declaration }
}

/// Claims in a session that was declared before.
fn claims(session: u64, claims: impl IntoIterator<Item = DeclaredClaim>) -> change::Kind {
    change::Kind::Declare(with_claims(Declaration { session, ..Declaration::default() }, claims))
}

impl Stream {
    async fn connect(caller: &Caller, hello: Hello) -> Result<Self, Status> {
        Self::connect_in_parts(caller, [hello]).await
    }

    async fn connect_in_parts(caller: &Caller, parts: impl IntoIterator<Item = Hello>) -> Result<Self, Status> {
        let (requests, outgoing) = mpsc::channel(8);
        let mut client = ClientServiceClient::new(caller.channel.clone());
        for part in parts {
            requests.send(ConnectRequest { kind: Some(Sent::Hello(part)) }).await.expect("open");
        }
        let mut responses = within(client.connect(ReceiverStream::new(outgoing))).await?.into_inner();
        match within(responses.message()).await?.and_then(|response| response.kind) {
            Some(Received::Welcome(welcome)) => {
                Ok(Self { requests: Some(requests), responses, welcome, states: BTreeMap::new() })
            }
            other => panic!("no welcome: {other:?}"),
        }
    }

    /// Connects with a session "ann" of number 1.
    async fn with_session(caller: &Caller) -> Self {
        let mut stream =
            Self::connect(caller, hello(CLIENT, 1, &[], vec![session(1, "ann", LONG)])).await.expect("welcome");
        assert!(matches!(stream.state(1).await, State::Open(_)));
        stream
    }

    async fn change(&self, changes: impl IntoIterator<Item = change::Kind>) {
        let changes = changes.into_iter().map(|kind| Change { kind: Some(kind), ..Change::default() }).collect();
        self.send(Sent::Changes(Changes { changes })).await;
    }

    async fn send(&self, kind: Sent) {
        let requests = self.requests.as_ref().expect("open");
        requests.send(ConnectRequest { kind: Some(kind) }).await.expect("open");
    }

    /// The next message. States are recorded.
    async fn next(&mut self) -> Result<Option<Received>, Status> {
        let response = within(self.responses.message()).await?;
        let kind = response.map(|response| response.kind.expect("content"));
        if let Some(Received::States(states)) = &kind {
            for state in &states.states {
                self.states.insert(state.number, state.kind.clone().expect("a state"));
            }
        }
        Ok(kind)
    }

    /// Waits for a state of this number, and returns it.
    async fn state(&mut self, number: u64) -> State {
        loop {
            if let Some(state) = self.states.remove(&number) {
                return state;
            }
            self.next().await.expect("a message").expect("a message");
        }
    }

    async fn token(&mut self, number: u64) -> u64 {
        match self.state(number).await {
            State::Held(held) => held.token,
            other => panic!("not held: {other:?}"),
        }
    }

    async fn assert_waits(&mut self, number: u64) {
        let state = self.state(number).await;
        assert!(matches!(&state, State::Waiting(_)), "{state:?}");
    }

    async fn assert_ends(&mut self, number: u64, reason: EndReason) {
        match self.state(number).await {
            State::Ended(ended) => assert_eq!(ended.reason(), reason),
            other => panic!("{number} has not ended: {other:?}"),
        }
    }

    async fn rejected(&mut self, number: u64) -> (Code, String) {
        match self.state(number).await {
            State::Rejected(refusal) => (Code::from(refusal.code), refusal.reason),
            other => panic!("{number} was not rejected: {other:?}"),
        }
    }

    /// Renews the client.
    async fn keep_alive(&mut self, number: u64) {
        self.send(Sent::KeepAlive(KeepAlive { number })).await;
        loop {
            if let Some(Received::KeptAlive(kept)) = self.next().await.expect("a message") {
                assert_eq!(kept.number, number);
                return;
            }
        }
    }

    /// The status with which the server ends the stream.
    async fn end(&mut self) -> Status {
        loop {
            match self.next().await {
                Ok(Some(_)) => {}
                Ok(None) => return Status::ok(""),
                Err(status) => return status,
            }
        }
    }
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
