//! Planned handoff and preemption in the naive model.

use tenure_core::{Handoff, Mode};

use super::{Kind, Naive, Stake, State};

impl Naive {
    /// Hands a hold over to the named stake, if that is still possible, or to the best one.
    pub(super) fn hand_over(&mut self, place: usize, named: u64) {
        let next = self
            .place_of(named)
            .filter(|next| self.stakes[*next].state == State::Waiting && self.fits(*next, Some(place)));
        match next.or_else(|| self.best_after(place)) {
            Some(next) => {
                self.stakes[next].state = State::Held;
                self.stakes.remove(place);
                self.serve();
            }
            None => self.end(place),
        }
    }

    pub(super) fn best_after(&self, place: usize) -> Option<usize> {
        let can = |next: &usize| self.share_a_name(place, *next) && self.can_be_served(*next, Some(place));
        (0..self.stakes.len()).filter(can).min_by_key(|next| (-self.stakes[*next].priority, *next))
    }

    pub(super) fn transfer(&mut self, name: &str, token: Option<u64>, to: Option<&str>, by: &Handoff) -> Kind {
        let named = |stake: &Stake| stake.names.iter().any(|held| held == name);
        let holders: Vec<usize> = (0..self.stakes.len())
            .filter(|place| {
                let stake = &self.stakes[*place];
                stake.state == State::Held && named(stake) && token.is_none_or(|token| token == stake.token)
            })
            .collect();
        let [place] = holders[..] else { return Kind::Rejected };
        let right = match by {
            Handoff::ByHolder { session } => *self.stakes[place].session == **session,
            Handoff::ByOperator { .. } => true,
        };
        if self.stakes[place].lingers || !right {
            return Kind::Rejected;
        }
        let next = match to {
            Some(session) => (0..self.stakes.len()).find(|next| {
                let stake = &self.stakes[*next];
                stake.session == session
                    && stake.state == State::Waiting
                    && named(stake)
                    && self.fits(*next, Some(place))
            }),
            None => self.best_after(place),
        };
        let Some(next) = next else { return Kind::Rejected };
        let target = if to.is_some() { self.stakes[next].id } else { 0 };
        match (by, self.stakes[place].pending) {
            (Handoff::ByHolder { .. }, _) => {
                self.hand_over(place, target);
                Kind::Transferred
            }
            (_, Some(pending)) if pending != target => Kind::Rejected,
            _ => {
                self.stakes[place].pending = Some(target);
                Kind::Transferring
            }
        }
    }

    pub(super) fn preempt(&mut self, next: usize) {
        let name = self.stakes[next].names[0].clone();
        let has =
            |place: &usize| self.stakes[*place].state != State::Waiting && self.stakes[*place].names.contains(&name);
        let holders: Vec<usize> = (0..self.stakes.len()).filter(has).collect();
        let [place] = holders[..] else { return };
        let holder = &self.stakes[place];
        let worse = holder.priority < self.stakes[next].priority
            && holder.mode == Mode::Exclusive
            && self.stakes[next].mode == Mode::Exclusive
            && holder.state == State::Held
            && !holder.lingers
            && holder.pending.is_none();
        if worse && self.can_be_served(next, Some(place)) {
            self.stakes[place].pending = Some(self.stakes[next].id);
        }
    }
}
