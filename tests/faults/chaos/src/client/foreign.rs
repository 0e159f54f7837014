//! The workload of a client in another language. Like the programs of the library, it uses locks, watches everything,
//! and is a member of a group.

use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use tenure_checker::{Call, CallKind, Entry, Outcome, Sharing, ValidHold, WatchItem};
use tenure_programs::draw::{HoldEnd, LockRequest, SessionParameters, draw_check_interval, draw_hold_time};
use tenure_programs::{Environment, ProgramOptions};
use tokio::time::{Instant, sleep};

use super::driver::Driver;

/// The group that all clients join.
const GROUP: &str = "team";

/// The interval at which a member polls its status.
const POLL_INTERVAL: Duration = Duration::from_millis(40);

fn ms(duration: Duration) -> u64 {
    duration.as_millis() as u64
}

/// A worker that uses locks, in its own sessions.
pub(super) struct Worker {
    pub(super) driver: Arc<Driver>,
    /// Distinguishes its sessions and owners from those of other workers.
    pub(super) name: String,
    pub(super) options: ProgramOptions,
    pub(super) locks: u32,
    pub(super) rng: StdRng,
}

impl Worker {
    pub(super) async fn run(mut self) -> anyhow::Result<()> {
        let mut count = 0;
        while self.driver.environment.may_continue() {
            count += 1;
            let session = format!("{}-{count}", self.name);
            let SessionParameters { ttl, grace } = SessionParameters::draw(&mut self.rng, &self.options);
            let fields =
                json!({"client": "c", "session": session, "ttl_ms": ms(ttl), "disconnect_grace_ms": grace.map(ms)});
            let Ok(opened) = self.driver.ask("session", fields).await? else {
                sleep(self.options.pause.unwrap_or_default()).await;
                continue;
            };
            let id = opened["session_id"].as_str().unwrap_or_default().to_owned();
            for turn in 0..self.rng.random_range(1..6) {
                if !self.driver.environment.may_continue() {
                    break;
                }
                self.use_lock(&session, &id, format!("{session}-{turn}")).await?;
                sleep(Duration::from_millis(self.rng.random_range(0..100))).await;
            }
            let _ = self.driver.ask("close_session", json!({"session": session})).await?;
        }
        Ok(())
    }

    async fn use_lock(&mut self, session: &str, id: &str, guard: String) -> anyhow::Result<()> {
        let LockRequest { names, sharing, priority, wait } = LockRequest::draw(&mut self.rng, self.locks);
        let mut fields = json!({
            "session": session, "guard": guard, "names": names, "priority": priority, "wait_ms": ms(wait),
        });
        match sharing {
            Sharing::Exclusive => {}
            Sharing::Shared => fields["mode"] = json!("shared"),
            Sharing::Permits(limit) => (fields["permits"], fields["limit"]) = (json!(1), json!(limit)),
        }
        let start = self.driver.environment.now();
        let outcome = match self.driver.ask("acquire", fields).await? {
            Ok(answer) if answer["acquired"] == true => Outcome::Acquired(answer["token"].as_u64().unwrap_or(0)),
            Ok(_) => Outcome::Busy,
            Err(error) => Outcome::Unknown(error.to_string()),
        };
        self.record(id, &names, CallKind::Acquire(sharing), start, outcome.clone());
        if let Outcome::Acquired(token) = outcome {
            self.work(id, &guard, names, token, sharing).await?;
        }
        Ok(())
    }

    /// Works while the hold is valid, then releases it, hands it over, or drops it.
    async fn work(
        &mut self,
        id: &str,
        guard: &str,
        names: Vec<String>,
        token: u64,
        sharing: Sharing,
    ) -> anyhow::Result<()> {
        let until = Instant::now() + draw_hold_time(&mut self.rng, &self.options);
        while Instant::now() < until {
            // Taken before the hold is checked: a process may be frozen in between.
            let at = self.driver.environment.now();
            let hold = self.driver.ask("hold", json!({"guard": guard})).await?;
            if hold.is_ok_and(|hold| hold["valid"] == true) {
                self.driver.write(Entry::ValidHold(ValidHold { at, names: names.clone(), token, sharing }));
            } else {
                break;
            }
            sleep(draw_check_interval(&mut self.rng)).await;
        }
        let start = self.driver.environment.now();
        let (request, kind) = match HoldEnd::draw(&mut self.rng) {
            HoldEnd::Drop => ("drop", None),
            HoldEnd::Transfer => ("transfer_to", Some(CallKind::Transfer(token))),
            HoldEnd::Release => ("release", Some(CallKind::Release(token))),
        };
        let ended = self.driver.ask(request, json!({"guard": guard})).await?;
        if let Some(kind) = kind {
            let outcome = ended.map_or_else(|error| Outcome::Unknown(error.to_string()), |_| Outcome::Done);
            self.record(id, &names, kind, start, outcome);
        }
        Ok(())
    }

    fn record(&self, session: &str, names: &[String], kind: CallKind, start: Duration, outcome: Outcome) {
        let (session, names, end) = (session.to_owned(), names.to_vec(), self.driver.environment.now());
        self.driver.write(Entry::Call(Call { session, names, kind, start, end, outcome }));
    }
}

/// Journals all events of a watch on everything, until the watch ends.
pub(super) async fn watch(driver: Arc<Driver>, name: String) -> anyhow::Result<()> {
    let _ = driver.ask("watch", json!({"client": "c", "watch": "w"})).await?;
    while let Some(item) = driver.next("w").await? {
        let revision = item["revision"].as_u64().unwrap_or(0);
        let item = match item["kind"].as_str() {
            Some("snapshot") => WatchItem::Snapshot { revision, holders: holders(&item) },
            Some("events") => WatchItem::Events { events: events(&item), revision },
            Some("progress") => WatchItem::Progress(revision),
            Some("history_gone") => WatchItem::Gone,
            _ => continue,
        };
        driver.write(Entry::Watched { watch: name.clone(), at: driver.environment.now(), item });
    }
    Ok(())
}

fn list<'a>(item: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    item[field].as_array().into_iter().flatten()
}

fn text(item: &Value, field: &str) -> String {
    item[field].as_str().unwrap_or_default().to_owned()
}

fn holders(item: &Value) -> Vec<(String, u64)> {
    let of = |lock: &Value| {
        let name = text(lock, "name");
        list(lock, "holders").map(|claim| (name.clone(), claim["token"].as_u64().unwrap_or(0))).collect::<Vec<_>>()
    };
    list(item, "locks").flat_map(of).collect()
}

fn events(item: &Value) -> Vec<(u64, String, std::borrow::Cow<'static, str>)> {
    let of = |event: &Value| (event["revision"].as_u64().unwrap_or(0), text(event, "name"), text(event, "kind").into());
    list(item, "events").map(of).collect()
}

/// A group member: while it leads, it divides the work among all members.
pub(super) async fn member(driver: Arc<Driver>, mut rng: StdRng) -> anyhow::Result<()> {
    let mut count = 0;
    while driver.environment.may_continue() {
        count += 1;
        let member = format!("m{count}");
        let ttl = rng.random_range(600..2_000);
        let fields = json!({"client": "c", "member": member, "group": GROUP, "ttl_ms": ttl});
        if driver.ask("join", fields).await?.is_err() {
            sleep(POLL_INTERVAL).await;
            continue;
        }
        let until = Instant::now() + Duration::from_millis(rng.random_range(200..5_000));
        while Instant::now() < until && record_standing(&driver, &member).await? {
            sleep(POLL_INTERVAL).await;
        }
        let _ = driver.ask("leave", json!({"member": member})).await?;
    }
    Ok(())
}

/// Journals the status of a member, and assigns work if the member leads. Returns whether it is still a member.
async fn record_standing(driver: &Driver, member: &str) -> anyhow::Result<bool> {
    let at = driver.environment.now();
    let Ok(standing) = driver.ask("standing", json!({"member": member})).await? else { return Ok(false) };
    if !standing["lost"].is_null() {
        return Ok(false);
    }
    if let (true, Some(token)) = (standing["leads"] == true, standing["token"].as_u64()) {
        let names = vec![format!("group {GROUP}")];
        driver.write(Entry::ValidHold(ValidHold { at, names, token, sharing: Sharing::Exclusive }));
        if standing["current"] == false {
            let parts: Vec<String> =
                (0..list(&standing, "members").count()).map(|part| format!("part {part}")).collect();
            // The group may have changed in the meantime.
            let _ = driver.ask("assign", json!({"member": member, "assignments": parts})).await?;
        }
    }
    Ok(true)
}
