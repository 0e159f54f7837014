//! Tests in which the holder of a lock is paused in the middle of its work, another takes over, and the first one
//! resumes and writes: as in the [article](https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html)
//! that made fencing known.

use std::time::Duration;

use tenure_e2e::{Fencing, Store, UserDatabase, Writer, on_every_store, tries};
use tenure_harness::Tenured;

on_every_store!(
    write_of_a_paused_holder_is_rejected,
    write_of_a_paused_holder_without_the_check_loses_updates,
    next_holder_waits_for_the_transaction_of_a_paused_one,
);

const WRITER: &str = env!("CARGO_BIN_EXE_writer");

const LOCK: &str = "nightly-report";

/// Short, so that a paused holder is soon replaced.
const TTL: Duration = Duration::from_millis(500);

/// The number of writes of the next holder before the paused one resumes.
const WRITES: i64 = 2;

/// How long the next holder is observed to wait. Unblocked, it would finish in a few milliseconds.
const A_WHILE: Duration = Duration::from_millis(500);

struct Setup {
    _server: Tenured,
    database: UserDatabase,
    first: Writer,
    second: Writer,
}

impl Setup {
    async fn start(store: Store, fencing: Fencing) -> Self {
        let server = store.server().await.unwrap();
        let database = UserDatabase::fresh(store).await.unwrap();
        let start = || Writer::start(WRITER, &server.url(), LOCK, TTL, database.url(), fencing).unwrap();
        let (first, second) = (start(), start());
        Self { _server: server, database, first, second }
    }

    /// The first holder reads, is paused, is replaced by the second, which writes, and then resumes and writes. Returns
    /// their tokens, and the result of that last write.
    async fn pause_between_read_and_write(&mut self) -> (i64, i64, String) {
        let old_token = self.first.number("acquire", "holds").await;
        self.first.number("read", "read").await;
        self.first.pause().await;

        let new_token = self.second.number("acquire", "holds").await;
        for _ in 0..WRITES {
            let value = self.second.number("read", "read").await;
            assert_eq!(self.second.number("write", "wrote").await, value + 1);
        }
        self.first.resume();
        let outcome = self.first.step("write").await;
        self.second.step("release").await;
        self.first.step("release").await;
        (old_token, new_token, outcome)
    }
}

async fn write_of_a_paused_holder_is_rejected(store: Store) {
    let mut setup = Setup::start(store, Fencing::On).await;
    let mut refused = 0;
    for round in 1..=i64::from(tries()) {
        let (old_token, new_token, outcome) = setup.pause_between_read_and_write().await;
        assert!(new_token > old_token);
        assert_eq!(outcome, format!("refused {old_token} {new_token}"), "in round {round}");
        assert_eq!(setup.database.counter().await.unwrap(), round * WRITES, "in round {round}");
        refused += 1;
    }
    println!("refused {refused} of {} times", tries());
}

/// The scenario without the check: it shows that the test above can fail.
async fn write_of_a_paused_holder_without_the_check_loses_updates(store: Store) {
    let mut setup = Setup::start(store, Fencing::Off).await;
    for round in 1..=i64::from(tries().min(5)) {
        let (.., outcome) = setup.pause_between_read_and_write().await;
        assert_eq!(outcome, format!("wrote {round}"));
        assert_eq!(setup.database.counter().await.unwrap(), round, "the writes of the next holder are lost");
    }
}

/// The fence blocks while a lower token's transaction is open, whether its process is alive or not: what that
/// transaction commits in the end is not too late.
async fn next_holder_waits_for_the_transaction_of_a_paused_one(store: Store) {
    let mut setup = Setup::start(store, Fencing::On).await;
    setup.first.number("acquire", "holds").await;
    assert_eq!(setup.first.step("begin").await, "wrote 1");
    setup.first.pause().await;

    setup.second.number("acquire", "holds").await;
    setup.second.send("begin").await;
    assert_eq!(setup.second.report_within(A_WHILE).await, None, "begun beside a transaction with an older token");
    setup.first.resume();
    assert_eq!(setup.first.step("commit").await, "committed");
    assert_eq!(setup.second.report_within(Duration::from_secs(60)).await.unwrap(), "wrote 2");
    assert_eq!(setup.second.step("commit").await, "committed");
    assert!(setup.first.step("write").await.starts_with("refused "));
    assert_eq!(setup.database.counter().await.unwrap(), 2);
}
