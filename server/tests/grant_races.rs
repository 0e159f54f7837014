//! Races at the moment of a grant: the caller cancels, its wait times out, the store's outcome is unknown, the server
//! dies. Each in both orders, forced by holding an append up.

use crate::lab;

use lab::{SOON, Server, eventually, granted, grants, reply, settle, within};
use tenure_core::testing::{cancel, release};
use tenure_core::{Command, EndReason, Outcome, Rejection, Revision};
use tenure_server::sequencer::{CommandResult, PendingGrant, WaitEnd};
use tenure_server::store::{Fault, MemoryDatabase};

/// ann holds the lock; bob and cid wait in this order.
struct Queue {
    database: MemoryDatabase,
    server: Server,
    token: Revision,
    bob: PendingGrant,
    cid: PendingGrant,
}

impl Queue {
    async fn start() -> Self {
        let (database, server) = Server::with_database().await;
        let token = server.hold("ann", "a").await;
        let bob = server.queue("bob", "a").await;
        let cid = server.queue("cid", "a").await;
        Self { database, server, token, bob, cid }
    }

    fn release(&self) -> Command {
        release("ann", "a", self.token)
    }

    /// The commands by which bob, or his server, ends his wait.
    fn ends_of_bobs_wait(&self) -> [Command; 2] {
        let end_wait = Command::EndWait { claim: self.bob.claim(), home: self.server.node.id };
        [end_wait, cancel("bob", "a")]
    }

    /// Has these commands decided in one batch, in this order.
    async fn in_one_batch(&self, commands: Vec<Command>) -> Vec<Result<CommandResult, Rejection>> {
        let hold = self.database.hold_appends();
        let other = self.server.send(self.server.acquire("other", "z")).await;
        hold.reached().await;
        let batches = self.database.log("default").len();
        let mut sent = Vec::new();
        for command in commands {
            sent.push(self.server.send(command).await);
        }
        drop(hold);
        drop(reply(other).await);
        let mut replies = Vec::new();
        for sent in sent {
            replies.push(reply(sent).await);
        }
        assert_eq!(self.database.log("default").len(), batches + 2, "one batch");
        replies
    }
}

#[tokio::test(start_paused = true)]
async fn wait_that_ends_just_before_the_grant_is_passed_over() {
    for way in 0..2 {
        let mut queue = Queue::start().await;
        let end_wait = queue.ends_of_bobs_wait()[way].clone();
        let replies = queue.in_one_batch(vec![end_wait, queue.release()]).await;
        assert!(matches!(replies[0].as_ref().expect("decided").outcome, Outcome::Busy { .. } | Outcome::Done));
        assert_eq!(within(SOON, queue.bob.wait()).await, Some(WaitEnd::Ended(EndReason::Released)));
        assert_eq!(grants(&queue.database, "bob"), []);
        let token = granted(queue.cid).await;
        assert_eq!(queue.server.holder("a").await, Some(("cid".to_owned(), token)));
    }
}

#[tokio::test(start_paused = true)]
async fn wait_that_times_out_just_after_the_grant_returns_the_grant() {
    let queue = Queue::start().await;
    let replies = queue.in_one_batch(vec![queue.release(), queue.ends_of_bobs_wait()[0].clone()]).await;
    let Outcome::Held { claim, .. } = &replies[1].as_ref().expect("decided").outcome else { panic!("not held") };
    let token = claim.token().expect("held");
    assert_eq!(granted(queue.bob).await, token, "the wait returns the same grant");
    assert_eq!(queue.server.holder("a").await, Some(("bob".to_owned(), token)));
    assert_eq!(grants(&queue.database, "cid"), []);
}

#[tokio::test(start_paused = true)]
async fn cancel_just_after_the_grant_grants_the_lock_to_the_next_waiter() {
    let mut queue = Queue::start().await;
    let replies = queue.in_one_batch(vec![queue.release(), queue.ends_of_bobs_wait()[1].clone()]).await;
    assert!(replies.iter().all(Result::is_ok));
    let end = within(SOON, queue.bob.wait()).await;
    let Some(WaitEnd::Granted(claim)) = end else { panic!("{end:?}") };
    let token = granted(queue.cid).await;
    assert_eq!(grants(&queue.database, "bob"), [claim.token().expect("was held")]);
    assert_eq!(queue.server.holder("a").await, Some(("cid".to_owned(), token)));
}

#[tokio::test(start_paused = true)]
async fn grant_of_unknown_outcome_is_made_once_whatever_its_caller_does_meanwhile() {
    for fault in [Fault::OutcomeUnknown, Fault::OutcomeUnknownAndLost] {
        for way in 0..2 {
            let queue = Queue::start().await;
            let end_wait = queue.ends_of_bobs_wait()[way].clone();
            let hold = queue.database.hold_appends();
            queue.database.fail_next(fault);
            let released = queue.server.send(queue.release()).await;
            hold.reached().await;
            drop(hold);
            settle().await;
            // The outcome is being looked up, and until then nothing else is decided.
            let refused = reply(queue.server.send(end_wait.clone()).await).await;
            assert!(matches!(refused, Err(Rejection::Unavailable(_))), "{fault:?}");
            reply(released).await.expect("released");
            let token = granted(queue.bob).await;
            assert_eq!(grants(&queue.database, "bob"), [token], "{fault:?}");
            let again = reply(queue.server.send(end_wait).await).await.expect("decided").outcome;
            match again {
                Outcome::Held { claim, .. } => assert_eq!(claim.token(), Some(token)),
                _ => assert_eq!(granted(queue.cid).await, grants(&queue.database, "cid")[0], "passed on"),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn grant_whose_server_dies_before_the_reply_is_found_at_another_server() {
    let Queue { database, server, token, bob, cid } = Queue::start().await;
    let other = Server::start(&database).await;
    let claim = bob.claim();
    // The grant is committed, but the server never receives the confirmation.
    database.fail_next(Fault::OutcomeUnknown);
    let release = release("ann", "a", token);
    let released = server.send(release.clone()).await;
    server.store.set_connected(false);
    server.kill();
    assert!(reply(released).await.is_err(), "the release gets no reply");
    let found = other.ask(other.acquire("bob", "a")).await.expect("decided");
    let Outcome::Held { claim: held, .. } = found.outcome else { panic!("{:?}", found.outcome) };
    assert_eq!((held.id, held.token()), (claim, grants(&database, "bob").first().copied()));
    if let Some(pending) = found.pending {
        pending.acknowledge();
    }
    other.ask(release).await.expect("the release had taken effect");
    assert_eq!(grants(&database, "bob").len(), 1);
    assert_eq!(other.holder("a").await, Some(("bob".to_owned(), held.token().expect("held"))));
    // The next waiter is granted the lock there as well.
    let next = other.queue("cid", "a").await;
    assert_eq!(next.claim(), cid.claim());
    other.release("bob", "a", held.token().expect("held")).await.expect("held");
    assert_eq!(granted(next).await, grants(&database, "cid")[0]);
}

#[tokio::test(start_paused = true)]
async fn wait_whose_server_dies_before_the_grant_goes_on_at_another_server() {
    let Queue { database, server, token, bob, cid } = Queue::start().await;
    let other = Server::start(&database).await;
    let (first, second) = (bob.claim(), cid.claim());
    // The release is not committed: the server dies before it reaches the store.
    let hold = database.hold_appends();
    let release = release("ann", "a", token);
    let released = server.send(release.clone()).await;
    hold.reached().await;
    server.store.set_connected(false);
    server.kill();
    drop(hold);
    assert!(reply(released).await.is_err());
    // They reconnect in the reverse of their queue order.
    let cid = other.queue("cid", "a").await;
    let bob = other.queue("bob", "a").await;
    assert_eq!((bob.claim(), cid.claim()), (first, second), "the same claims in the same order");
    other.ask(release).await.expect("held");
    assert_eq!(granted(bob).await, grants(&database, "bob")[0]);
    assert_eq!(grants(&database, "cid"), []);
}

#[tokio::test(start_paused = true)]
async fn grant_at_one_server_and_end_of_the_wait_at_another_agree() {
    for way in 0..2 {
        let (database, one, two) = Server::pair().await;
        let token = one.hold("ann", "a").await;
        let mut bob = two.queue("bob", "a").await;
        let mut cid = one.queue("cid", "a").await;
        // Both commands are being appended at once: one append loses, and is decided again.
        let hold = database.hold_appends();
        let release = release("ann", "a", token);
        let end_wait = match way {
            0 => Command::EndWait { claim: bob.claim(), home: two.node.id },
            _ => cancel("bob", "a"),
        };
        let released = one.send(release).await;
        let ended = two.send(end_wait).await;
        drop(hold);
        reply(released).await.expect("released");
        let keeps = matches!(reply(ended).await.expect("decided").outcome, Outcome::Held { .. });
        let end = within(SOON, bob.wait()).await;
        let was_granted = matches!(end, Some(WaitEnd::Granted(_)));
        assert_eq!(was_granted, !grants(&database, "bob").is_empty());
        assert!(was_granted || !keeps, "{end:?}");
        bob.acknowledge();
        let holder = if keeps { "bob" } else { "cid" };
        eventually(SOON, "both agree", async || {
            let seen = [one.holder("a").await, two.holder("a").await].map(|holder| holder.expect("held").0);
            seen == [holder, holder]
        })
        .await;
        if !keeps {
            assert!(matches!(within(SOON, cid.wait()).await, Some(WaitEnd::Granted(_))));
        }
        cid.acknowledge();
    }
}
