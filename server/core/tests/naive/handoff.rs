//! Planned handoff and preemption in the naive model.

use tenure_core::{Handoff, Mode};

use super::{Kind, Naive, Stake, State};

impl Naive {
    /// Hands a hold over to the named stake, if that is still possible, or to the best one.
    pub(super) fn hand_over(&mut self, index: usize, named: u64) {
        let next = self
            .index_of(named)
            .filter(|next| self.stakes[*next].state == State::Waiting && self.fits(*next, Some(index)));
        match next.or_else(|| self.best_after(index)) {
            Some(next) => {
                self.stakes[next].state = State::Held;
                self.stakes.remove(index);
                self.serve();
            }
            None => self.end(index),
        }
    }

    pub(super) fn best_after(&self, index: usize) -> Option<usize> {
        let can = |next: &usize| self.share_a_name(index, *next) && self.can_be_served(*next, Some(index));
        (0..self.stakes.len()).filter(can).min_by_key(|next| (-self.stakes[*next].priority, *next))
    }

    pub(super) fn transfer(&mut self, name: &str, token: Option<u64>, to: Option<&str>, by: &Handoff) -> Kind {
        let named = |stake: &Stake| stake.names.iter().any(|held| held == name);
        let holders: Vec<usize> = (0..self.stakes.len())
            .filter(|index| {
                let stake = &self.stakes[*index];
                stake.state == State::Held && named(stake) && token.is_none_or(|token| token == stake.token)
            })
            .collect();
        let [index] = holders[..] else { return Kind::Rejected };
        let right = match by {
            Handoff::ByHolder { session } => *self.stakes[index].session == **session,
            Handoff::ByOperator { .. } => true,
        };
        if self.stakes[index].lingers || !right {
            return Kind::Rejected;
        }
        let next = match to {
            Some(session) => (0..self.stakes.len()).find(|next| {
                let stake = &self.stakes[*next];
                stake.session == session
                    && stake.state == State::Waiting
                    && named(stake)
                    && self.fits(*next, Some(index))
            }),
            None => self.best_after(index),
        };
        let Some(next) = next else { return Kind::Rejected };
        let target = if to.is_some() { self.stakes[next].id } else { 0 };
        match (by, self.stakes[index].pending) {
            (Handoff::ByHolder { .. }, _) => {
                self.hand_over(index, target);
                Kind::Transferred
            }
            (_, Some(pending)) if pending != target => Kind::Rejected,
            _ => {
                self.stakes[index].pending = Some(target);
                Kind::Transferring
            }
        }
    }

    pub(super) fn preempt(&mut self, next: usize) {
        let name = self.stakes[next].names[0].clone();
        let has =
            |index: &usize| self.stakes[*index].state != State::Waiting && self.stakes[*index].names.contains(&name);
        let holders: Vec<usize> = (0..self.stakes.len()).filter(has).collect();
        let [index] = holders[..] else { return };
        let holder = &self.stakes[index];
        let worse = holder.priority < self.stakes[next].priority
            && holder.mode == Mode::Exclusive
            && self.stakes[next].mode == Mode::Exclusive
            && holder.state == State::Held
            && !holder.lingers
            && holder.pending.is_none();
        if worse && self.can_be_served(next, Some(index)) {
            self.stakes[index].pending = Some(self.stakes[next].id);
        }
    }
}
