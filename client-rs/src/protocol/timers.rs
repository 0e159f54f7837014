//! Timers. Pure: the time is passed in.

use std::collections::{BTreeMap, VecDeque};

use crate::clock::Moment;
use crate::connection::{ClaimKey, WatchKey};
use crate::session_id::SessionId;

/// What is due at a moment. Its handler checks whether it still is, since most timers are never cleared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// Send the opening of a session again.
    Open(SessionId),
    /// The deadline of an opening.
    OpenTimeout(SessionId),
    /// Send the attach of a session again.
    Attach(SessionId),
    /// Renew a session.
    Renew(SessionId),
    /// The phase of a session's validity changes.
    Phase(SessionId),
    /// Send the close of a session again.
    Close(SessionId),
    /// The deadline of a caller that closes a session.
    CloseTimeout(SessionId),
    /// Stop closing a session: it has ended by itself.
    CloseForget(SessionId),
    /// Send the command that a claim needs again.
    Claim(SessionId, ClaimKey),
    /// The end of a claim's wait, or the deadline of its answer.
    ClaimTimeout(SessionId, ClaimKey),
    /// Send a watch again.
    Watch(WatchKey),
    /// The answer to a command is overdue: the stream is broken.
    Silence(u64),
    /// The answer to a command takes long: another server may be faster.
    Slow(u64),
    /// The deadline of the shutdown.
    ShutDown,
}

/// A timer that may be cleared before it is due, because there would be too many of them otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimerKey {
    Sorted(Moment, u64),
    InLine(u64),
}

/// Timers in order of time.
#[derive(Debug, Default)]
pub(super) struct Timers {
    due: BTreeMap<(Moment, u64), Timer>,
    count: u64,
    /// Timers of which each is due no earlier than the one before. `None` if it was cleared, except for the first.
    line: VecDeque<Option<(Moment, Timer)>>,
    last_in_line: Moment,
    /// The number of timers that were removed from `line`.
    gone: u64,
}

impl Timers {
    pub(super) fn set(&mut self, at: Moment, timer: Timer) -> TimerKey {
        self.count += 1;
        self.due.insert((at, self.count), timer);
        TimerKey::Sorted(at, self.count)
    }

    /// Sets a timer after all that were set in this way. For timers of one constant delay, which need no sorting: one
    /// that would be due before the last one is due with it.
    pub(super) fn set_in_line(&mut self, at: Moment, timer: Timer) -> TimerKey {
        self.last_in_line = self.last_in_line.max(at);
        self.line.push_back(Some((self.last_in_line, timer)));
        TimerKey::InLine(self.gone + self.line.len() as u64 - 1)
    }

    /// Clears a timer, if it has not been due yet.
    pub(super) fn clear(&mut self, key: TimerKey) {
        match key {
            TimerKey::Sorted(at, count) => drop(self.due.remove(&(at, count))),
            TimerKey::InLine(number) => {
                let place = number.checked_sub(self.gone).and_then(|place| usize::try_from(place).ok());
                if let Some(timer) = place.and_then(|place| self.line.get_mut(place)) {
                    *timer = None;
                    self.close_up();
                }
            }
        }
    }

    pub(super) fn next(&self) -> Option<Moment> {
        let sorted = self.due.first_key_value().map(|((at, _), _)| *at);
        sorted.into_iter().chain(self.first_in_line()).min()
    }

    /// The earliest one that is due at `now`.
    pub(super) fn pop(&mut self, now: Moment) -> Option<Timer> {
        let next = self.next().filter(|next| *next <= now)?;
        if self.first_in_line() != Some(next) {
            return self.due.pop_first().map(|(_, timer)| timer);
        }
        let timer = self.line.front_mut().and_then(Option::take);
        self.close_up();
        timer.map(|(_, timer)| timer)
    }

    fn first_in_line(&self) -> Option<Moment> {
        self.line.front().and_then(Option::as_ref).map(|(at, _)| *at)
    }

    /// Removes cleared timers from the front of `line`.
    fn close_up(&mut self) {
        while let Some(None) = self.line.front() {
            self.line.pop_front();
            self.gone += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment(Duration::from_secs(seconds))
    }

    #[test]
    fn timers_are_due_in_order() {
        let mut timers = Timers::default();
        timers.set_in_line(at(2), Timer::Silence(2));
        timers.set(at(1), Timer::Silence(1));
        timers.set(at(5), Timer::Silence(5));
        timers.set_in_line(at(4), Timer::Silence(4));
        timers.set_in_line(at(3), Timer::Silence(3));
        assert_eq!((timers.next(), timers.pop(at(0))), (Some(at(1)), None));
        let due: Vec<Timer> = std::iter::from_fn(|| timers.pop(at(4))).collect();
        assert_eq!(due, [1, 2, 4, 3].map(Timer::Silence), "the third in line waited for the second");
        assert_eq!(timers.next(), Some(at(5)));
    }

    #[test]
    fn cleared_timer_is_never_due() {
        let mut timers = Timers::default();
        let sorted = timers.set(at(1), Timer::Silence(1));
        let in_line = [1, 2, 3].map(|number| timers.set_in_line(at(number), Timer::Silence(10 + number)));
        timers.clear(in_line[1]);
        timers.clear(sorted);
        assert_eq!(timers.pop(at(1)), Some(Timer::Silence(11)));
        timers.clear(in_line[0]);
        assert_eq!(timers.pop(at(9)), Some(Timer::Silence(13)), "no other timer has its number");
        assert_eq!((timers.next(), timers.line.len()), (None, 0));
    }
}
