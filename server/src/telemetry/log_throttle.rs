//! Trouble that may last: told of when it begins, now and then while it lasts, and when it is over.

use std::time::Duration;

use tokio::time::Instant;

/// What is told of something that fails again and again.
#[derive(Debug)]
pub(crate) struct Trouble {
    again: Duration,
    told: Option<Instant>,
    /// That it works again has not been told yet.
    is_on: bool,
}

impl Trouble {
    /// That something fails is told so often at the most.
    pub(crate) const fn told_every(again: Duration) -> Self {
        Self { again, told: None, is_on: false }
    }

    /// It has failed. Whether that is to be told.
    pub(crate) fn fails(&mut self, now: Instant) -> bool {
        let is_due = self.told.is_none_or(|told| now.duration_since(told) >= self.again);
        if is_due {
            (self.told, self.is_on) = (Some(now), true);
        }
        is_due
    }

    /// It has worked. Whether that is to be told, because it was told last that it fails.
    pub(crate) fn works(&mut self) -> bool {
        std::mem::take(&mut self.is_on)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_told_at_first_now_and_then_and_when_it_is_over() {
        let (mut trouble, start) = (Trouble::told_every(Duration::from_secs(10)), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(!trouble.works());
        let told: Vec<u64> = (0..25).filter(|second| trouble.fails(at(*second))).collect();
        assert_eq!(told, [0, 10, 20]);
        assert!(trouble.works());
        assert!(!trouble.works(), "once");
    }

    #[test]
    fn what_comes_and_goes_is_not_told_each_time() {
        let (mut trouble, start) = (Trouble::told_every(Duration::from_secs(10)), Instant::now());
        let mut told = 0;
        for second in 0..20 {
            told += u32::from(trouble.fails(start + Duration::from_secs(second))) + u32::from(trouble.works());
        }
        assert_eq!(told, 4, "twice that it fails, and each time that it works again");
    }
}
