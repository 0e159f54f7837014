//! The values of enums in one word, for people and programs: the names of the contract without their prefix, in
//! lowercase.

use crate::v1::{ClaimState, EndReason, EventType, GroupEventType, HistoryGoneCause, Mode};

macro_rules! words {
    ($($enum:ident { $($variant:ident: $word:literal),+ $(,)? })+) => {$(
        impl $enum {
            /// The value in one lowercase word; `unknown` if it is unspecified, as is a value that this version does
            /// not know.
            pub fn word(self) -> &'static str {
                match self {
                    Self::Unspecified => "unknown",
                    $(Self::$variant => $word,)+
                }
            }
        }
    )+};
}

words! {
    ClaimState { Waiting: "waiting", Held: "held", Lingering: "lingering" }
    EndReason {
        Released: "released",
        Expired: "expired",
        Disconnected: "disconnected",
        Closed: "closed",
        Evicted: "evicted",
        Transferred: "transferred",
    }
    EventType {
        Queued: "queued",
        Granted: "granted",
        Lingering: "lingering",
        Ended: "ended",
        TransferStarted: "transfer_started",
        TransferCancelled: "transfer_cancelled",
        Transferred: "transferred",
        Updated: "updated",
        Configured: "configured",
    }
    GroupEventType { Joined: "joined", Left: "left", Configured: "configured", Assigned: "assigned" }
    HistoryGoneCause { Compacted: "compacted", Lost: "lost" }
    Mode { Exclusive: "exclusive", Shared: "shared", Permits: "permits" }
}

impl EndReason {
    /// The reason of this word; unspecified if this version does not know it.
    pub(crate) fn from_word(word: &str) -> Self {
        (1..).map_while(|number| Self::try_from(number).ok()).find(|reason| reason.word() == word).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_names_of_the_contract() {
        macro_rules! check {
            ($($enum:ident),+) => {$(
                let prefix = $enum::Unspecified.as_str_name().trim_end_matches("UNSPECIFIED");
                for value in (1..100).filter_map(|number| $enum::try_from(number).ok()) {
                    assert_eq!(value.word(), value.as_str_name().trim_start_matches(prefix).to_lowercase());
                }
                assert_eq!($enum::Unspecified.word(), "unknown");
            )+};
        }
        check!(ClaimState, EndReason, EventType, GroupEventType, HistoryGoneCause, Mode);
    }

    #[test]
    fn reason_is_found_by_its_word() {
        assert_eq!(EndReason::from_word("released"), EndReason::Released);
        assert_eq!(EndReason::from_word("transferred"), EndReason::Transferred);
        assert_eq!(EndReason::from_word("eaten"), EndReason::Unspecified);
    }
}
