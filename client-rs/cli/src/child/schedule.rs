//! Computes when to stop CMD. Pure: time is an argument.

use std::time::Duration;

/// The minimum time from SIGKILL to the end of the validity: what the kernel may need to carry it out.
const LEAST_MARGIN: Duration = Duration::from_millis(20);
/// The maximum of that time.
const MOST_MARGIN: Duration = Duration::from_millis(250);
/// That time, between these bounds, as a fraction of the window, which is the TTL, or the disconnect grace if there is
/// one. The validity itself ends some time before the hold does.
const MARGIN_DIVISOR: u32 = 40;
/// The time between SIGTERM and SIGKILL, as a fraction of the window. It is short, because the rest of the window is
/// the time in which another server can take over from a silent one.
const GRACE_DIVISOR: u32 = 8;
/// The maximum fraction of the window for an explicit grace: three renewals are sent per window.
pub const MOST_GRACE_DIVISOR: u32 = 3;
/// The maximum time between SIGTERM and SIGKILL, unless another is requested.
const MOST_GRACE: Duration = Duration::from_secs(5);

/// How long before the end of a hold's validity its command is terminated and killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// SIGTERM is due this long before the end.
    pub term_before: Duration,
    /// SIGKILL is due this long before the end.
    pub kill_before: Duration,
}

/// The action that is due now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Do nothing until this time.
    Wait(Duration),
    /// Send SIGTERM; the next step is due at this time.
    Term(Duration),
    /// Send SIGKILL.
    Kill,
}

impl Schedule {
    /// The schedule for a hold that a renewal extends by `window`. `grace` is the time between SIGTERM and SIGKILL: by
    /// default an eighth of the window and at most 5 s, and never more than a third of it, which leaves time for
    /// renewals.
    pub fn new(window: Duration, grace: Option<Duration>) -> Self {
        let kill_before = (window / MARGIN_DIVISOR).clamp(LEAST_MARGIN, MOST_MARGIN);
        let grace = grace.unwrap_or_else(|| (window / GRACE_DIVISOR).min(MOST_GRACE)).min(window / MOST_GRACE_DIVISOR);
        Self { term_before: kill_before + grace, kill_before }
    }

    /// The time between SIGTERM and SIGKILL.
    pub fn grace(&self) -> Duration {
        self.term_before.saturating_sub(self.kill_before)
    }

    /// This schedule with each step a little later: the guard acts only if `tenure` does not.
    #[must_use]
    pub fn for_guard(&self) -> Self {
        Self { term_before: self.kill_before + self.grace() / 2, kill_before: self.kill_before / 4 * 3 }
    }

    /// The action due at `now` for a hold that is valid until `end`.
    pub fn due(&self, now: Duration, end: Duration) -> Action {
        let term_at = end.saturating_sub(self.term_before);
        let kill_at = end.saturating_sub(self.kill_before);
        if now >= kill_at {
            Action::Kill
        } else if now >= term_at {
            Action::Term(kill_at)
        } else {
            Action::Wait(term_at)
        }
    }

    /// The action due at `now` for a hold that is valid until `end`, if CMD must end by `stop_by` for a handoff.
    pub fn due_for_handoff(&self, now: Duration, end: Duration, stop_by: Duration) -> Action {
        let kill_at = end.saturating_sub(self.kill_before).min(stop_by);
        if now >= kill_at { Action::Kill } else { Action::Term(kill_at) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_defaults_fit_the_window() {
        let ten = Schedule::new(Duration::from_secs(10), None);
        assert_eq!((ten.grace(), ten.kill_before), (1250 * MS, 250 * MS));
        let short = Schedule::new(1200 * MS, None);
        assert_eq!((short.grace(), short.kill_before), (150 * MS, 30 * MS));
        let graced = Schedule::new(300 * MS, None);
        assert_eq!((graced.grace(), graced.kill_before), (300 * MS / 8, 20 * MS));
        let day = Schedule::new(Duration::from_secs(86400), None);
        assert_eq!((day.grace(), day.kill_before), (MOST_GRACE, MOST_MARGIN));
    }

    #[test]
    fn an_explicit_grace_leaves_time_for_renewals() {
        assert_eq!(Schedule::new(1000 * MS, Some(300 * MS)).grace(), 300 * MS);
        assert_eq!(Schedule::new(1000 * MS, Some(5000 * MS)).grace(), 1000 * MS / 3);
        assert_eq!(Schedule::new(1000 * MS, Some(Duration::ZERO)).grace(), Duration::ZERO);
    }

    #[test]
    fn first_term_then_kill_both_before_the_end() {
        let schedule = Schedule { term_before: 250 * MS, kill_before: 50 * MS };
        let end = 10_000 * MS;
        assert_eq!(schedule.due(Duration::ZERO, end), Action::Wait(9750 * MS));
        assert_eq!(schedule.due(9749 * MS, end), Action::Wait(9750 * MS));
        assert_eq!(schedule.due(9750 * MS, end), Action::Term(9950 * MS));
        assert_eq!(schedule.due(9949 * MS, end), Action::Term(9950 * MS));
        assert_eq!(schedule.due(9950 * MS, end), Action::Kill);
        assert_eq!(schedule.due(99_999 * MS, end), Action::Kill);
    }

    #[test]
    fn a_lost_hold_is_stopped_now_and_killed_after_the_grace() {
        let schedule = Schedule { term_before: 250 * MS, kill_before: 50 * MS };
        let end = 1000 * MS + schedule.term_before;
        assert_eq!(schedule.due(1000 * MS, end), Action::Term(1200 * MS));
        assert_eq!(schedule.due(1200 * MS, end), Action::Kill);
    }

    #[test]
    fn a_handoff_grants_the_command_all_the_remaining_time() {
        let schedule = Schedule { term_before: 250 * MS, kill_before: 50 * MS };
        let at = |now, end| schedule.due_for_handoff(now, end, 5000 * MS);
        assert_eq!(at(1000 * MS, 10_000 * MS), Action::Term(5000 * MS));
        assert_eq!(at(5000 * MS, 10_000 * MS), Action::Kill);
        // The hold ends before `stop_by`, unless it is renewed.
        assert_eq!(at(1000 * MS, 4000 * MS), Action::Term(3950 * MS));
        assert_eq!(at(3950 * MS, 4000 * MS), Action::Kill);
    }

    #[test]
    fn the_guard_acts_after_tenure() {
        let later = Schedule { term_before: 240 * MS, kill_before: 40 * MS }.for_guard();
        assert_eq!(later.due(9800 * MS, 10_000 * MS), Action::Wait(9860 * MS));
        assert_eq!(later.due(9969 * MS, 10_000 * MS), Action::Term(9970 * MS));
        assert_eq!(later.due(9970 * MS, 10_000 * MS), Action::Kill);
    }
}
