//! Presence: this server's beats, and what follows from those of the others.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure_core::ServerId;
use tokio::time::Instant;

use crate::node::Node;
use crate::store::{Presence, StoreError};

/// A lease is beaten for this many times.
const BEATS_PER_LEASE: u32 = 20;

/// Between two tries of a beat that failed.
const RETRY: Duration = Duration::from_millis(200);

/// What this server has seen of another one's beats.
struct Seen {
    beat: u64,
    since: Duration,
}

/// Ended because others have marked this server dead: it must start over under another id.
#[derive(Debug, PartialEq, Eq)]
pub struct MarkedDead;

/// The beats of one node.
pub struct Beats {
    node: Arc<Node>,
    beat: Arc<AtomicU64>,
    seen: HashMap<ServerId, Seen>,
}

/// How long a server may answer renewals after it sent a beat: less than others wait for, by more than clock rates differ.
fn validity(lease: Duration) -> Duration {
    lease * 90 / 100
}

/// For how long a beat must have been seen unchanged before its server is marked dead. What is left of the lease is for
/// seeing the beat and for adopting.
fn patience(lease: Duration) -> Duration {
    lease * 92 / 100
}

impl Beats {
    /// Registers the node with its first beat.
    ///
    /// # Errors
    /// If the store does not take it.
    pub async fn begin(node: Arc<Node>) -> Result<Self, StoreError> {
        let mut beats = Self { node, beat: Arc::default(), seen: HashMap::new() };
        match beats.beat_once().await? {
            Some(_) => Ok(beats),
            None => Err(StoreError::Unavailable("the first beat was not registered".to_owned())),
        }
    }

    /// The number of the last beat that was sent.
    #[must_use]
    pub fn last_beat(&self) -> Arc<AtomicU64> {
        self.beat.clone()
    }

    /// Beats for as long as the node runs, marks the silent dead, and adopts what they leave behind.
    pub async fn run(mut self) -> MarkedDead {
        let node = self.node.clone();
        loop {
            let pause = match self.beat_once().await {
                Ok(Some(everybody)) => {
                    if let Err(error) = self.look_after(&everybody).await {
                        tracing::warn!(%error, "cannot look after other servers' sessions");
                    }
                    self.next_look()
                }
                Ok(None) => {
                    node.lease().give_up();
                    return MarkedDead;
                }
                Err(error) => {
                    tracing::warn!(%error, lease_left = ?node.lease().left(), "a beat failed");
                    RETRY
                }
            };
            tokio::time::sleep_until(Instant::now() + pause).await;
        }
    }

    /// One beat. `None`: this server was marked dead.
    async fn beat_once(&mut self) -> Result<Option<Vec<Presence>>, StoreError> {
        let node = self.node.clone();
        let sent = node.lease().now();
        let beat = self.beat.fetch_add(1, Ordering::AcqRel) + 1;
        let everybody = node.store().beat(&node.presence(beat)).await?;
        let alive = |presence: &Presence| presence.server == node.id() && !presence.dead;
        if !everybody.iter().any(alive) {
            return Ok(None);
        }
        if node.store().exclusive() {
            node.lease().hold_for_ever();
        } else if node.lease().extend(sent, validity(node.options().lease)) {
            node.refresh();
        }
        node.note_others(everybody.iter().any(|other| other.server != node.id() && !other.dead));
        Ok(Some(everybody))
    }

    /// Marks dead who has been silent for a full lease, and adopts the sessions of those who are dead or gone.
    async fn look_after(&mut self, everybody: &[Presence]) -> Result<(), crate::sequencer::Refusal> {
        let node = self.node.clone();
        let now = node.lease().now();
        let mut found_dead = false;
        for other in everybody.iter().filter(|other| other.server != node.id()) {
            if other.dead {
                found_dead = true;
                self.seen.remove(&other.server);
                continue;
            }
            let seen = self.seen.entry(other.server).or_insert(Seen { beat: other.beat, since: now });
            if seen.beat != other.beat {
                *seen = Seen { beat: other.beat, since: now };
            } else if now.saturating_sub(seen.since) >= patience(other.lease) {
                match node.store().mark_dead(other.server, other.beat).await {
                    Ok(dead) => found_dead |= dead,
                    Err(error) => tracing::warn!(%error, server = %other.server, "cannot mark a silent server dead"),
                }
            }
        }
        self.seen.retain(|server, _| everybody.iter().any(|other| other.server == *server));
        let homes = node.homes().await?;
        let known_to_live = |home: &ServerId| everybody.iter().any(|other| other.server == *home && !other.dead);
        if found_dead || homes.iter().any(|home| !known_to_live(home)) {
            self.adopt().await?;
        }
        Ok(())
    }

    /// Adopts what has no living home. Who lives is read *after* who is a home, so a server that has just come is not missed.
    async fn adopt(&mut self) -> Result<(), crate::sequencer::Refusal> {
        let node = self.node.clone();
        let homes = node.homes().await?;
        let everybody = match self.beat_once().await {
            Ok(Some(everybody)) => everybody,
            Ok(None) | Err(_) => return Ok(()),
        };
        let lives = |server: ServerId| everybody.iter().any(|other| other.server == server && !other.dead);
        let orphaning: Vec<ServerId> = homes.iter().copied().filter(|home| !lives(*home)).collect();
        if !orphaning.is_empty() {
            tracing::info!(servers = ?orphaning, "adopting the sessions of dead servers");
            node.adopt(&orphaning).await?;
        }
        let dead: Vec<ServerId> = everybody.iter().filter(|other| other.dead).map(|other| other.server).collect();
        if !dead.is_empty()
            && let Err(error) = node.store().forget(&dead).await
        {
            tracing::debug!(%error, "dead servers are not forgotten yet");
        }
        Ok(())
    }

    /// When to beat and look again: often enough for this server's lease, and just when a silent one's patience is over.
    fn next_look(&self) -> Duration {
        let lease = self.node.options().lease;
        if self.node.store().exclusive() {
            return lease;
        }
        let now = self.node.lease().now();
        let silent = self.seen.values().map(|seen| (seen.since + patience(lease)).saturating_sub(now));
        silent.min().unwrap_or(lease).clamp(Duration::from_millis(5), lease / BEATS_PER_LEASE)
    }
}
