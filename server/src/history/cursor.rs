//! Cursors: where in the log the next page of a history begins.

use std::fmt;
use std::str::FromStr;

use tenure_core::Revision;

/// Where a page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The batches that end at this revision or before are yet to be examined ...
    pub(super) until: Revision,
    /// ... and in them the events before this one.
    pub(super) before: Revision,
    /// Claims that have been listed, and of which an event before that one would look like the end of another hold.
    pub(super) listed: Vec<Revision>,
}

impl Cursor {
    /// Begins at a revision, and includes everything up to it.
    pub(super) fn at(until: Revision) -> Self {
        Self { until, before: until.next(), listed: Vec::new() }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.until, self.before)?;
        self.listed.iter().try_for_each(|claim| write!(formatter, "-{claim}"))
    }
}

impl FromStr for Cursor {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut numbers = text.split('-').map(|number| number.parse().map(Revision));
        let mut next = || numbers.next().unwrap_or_else(|| "".parse().map(Revision));
        let (until, before) = (next()?, next()?);
        Ok(Self { until, before, listed: numbers.collect::<Result<_, _>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_survives_encoding() {
        let long = Cursor { until: Revision(9), before: Revision(u64::MAX), listed: vec![Revision(1), Revision(7)] };
        for cursor in [long, Cursor::at(Revision(0))] {
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }
    }

    #[test]
    fn malformed_cursor_is_rejected() {
        for text in ["", "1", "1-", "a-1", "1-2-", "1--2", "1-2-x", "18446744073709551616-1"] {
            assert!(text.parse::<Cursor>().is_err(), "{text}");
        }
    }
}
