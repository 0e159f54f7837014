//! What programs read from a rejection, and from the end of a session or claim.

use std::fmt;

use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::v1::{EndReason, EndedState, ErrorReason, Refusal};

/// The domain of the service's own error details.
const DOMAIN: &str = "tenure";

/// The rejection of a call. Without details of the service itself, it has neither a reason nor metadata.
impl From<&Status> for Refusal {
    fn from(status: &Status) -> Self {
        let info = status.get_details_error_info().filter(|info| info.domain == DOMAIN);
        let (reason, metadata) = info.map(|info| (info.reason, info.metadata)).unwrap_or_default();
        let (code, message) = (status.code().into(), status.message().to_owned());
        Self { code, reason, message, metadata: metadata.into_iter().collect() }
    }
}

impl Refusal {
    /// Why it was rejected. `Unspecified` if this version does not know the reason, which is then in the field, or if
    /// there is none, because the rejection does not come from the service itself.
    pub fn error_reason(&self) -> ErrorReason {
        ErrorReason::from_str_name(&format!("ERROR_REASON_{}", self.reason)).unwrap_or_default()
    }

    /// Why the session or hold ended, if that is why this was rejected. `Unspecified` if this version does not know the
    /// reason.
    pub fn end_reason(&self) -> Option<EndReason> {
        self.metadata.get("end_reason").map(|word| EndReason::from_word(word))
    }

    /// Whether the same call may succeed later, at this or another server.
    pub fn is_transient(&self) -> bool {
        matches!(
            self.error_reason(),
            ErrorReason::StoreUnavailable
                | ErrorReason::OutcomeUnknown
                | ErrorReason::LeaseLost
                | ErrorReason::Draining
                | ErrorReason::Overloaded
        )
    }
}

/// The message; without one, the reason or the code.
impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match [&self.message, &self.reason].into_iter().find(|text| !text.is_empty()) {
            Some(text) => formatter.write_str(text),
            None => write!(formatter, "{}", Code::from(self.code)),
        }
    }
}

/// The reason, with the operator and the note: `evicted by anna (host is gone)`.
impl fmt::Display for EndedState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.reason().word())?;
        if !self.operator.is_empty() {
            write!(formatter, " by {}", self.operator)?;
        }
        if !self.note.is_empty() {
            write!(formatter, " ({})", self.note)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use tonic_types::ErrorDetails;

    use super::*;

    fn refusal(reason: &str) -> Refusal {
        Refusal { reason: reason.to_owned(), ..Refusal::default() }
    }

    #[test]
    fn rejection_of_a_call_has_the_details_of_the_service_only() {
        let status = |domain| {
            let facts = HashMap::from([("session_id".to_owned(), "s".to_owned())]);
            let details = ErrorDetails::with_error_info("SESSION_NOT_FOUND", domain, facts);
            Refusal::from(&Status::with_error_details(Code::NotFound, "no", details))
        };
        let refusal = status(DOMAIN);
        assert_eq!((Code::from(refusal.code), refusal.message.as_str()), (Code::NotFound, "no"));
        assert_eq!((refusal.error_reason(), &*refusal.metadata["session_id"]), (ErrorReason::SessionNotFound, "s"));
        let other = status("proxy.example");
        assert_eq!((other.reason.as_str(), other.metadata.len()), ("", 0));
    }

    #[test]
    fn reasons_of_the_contract_are_known() {
        for reason in (1..1_000).filter_map(|number| ErrorReason::try_from(number).ok()) {
            let name = reason.as_str_name().trim_start_matches("ERROR_REASON_");
            assert_eq!(refusal(name).error_reason(), reason);
        }
        assert_eq!(refusal("FULL_MOON").error_reason(), ErrorReason::Unspecified);
        assert_eq!(refusal("").error_reason(), ErrorReason::Unspecified);
    }

    #[test]
    fn outage_is_transient_and_an_unknown_reason_is_not() {
        assert!(refusal("STORE_UNAVAILABLE").is_transient());
        assert!(!refusal("SESSION_ENDED").is_transient() && !refusal("FULL_MOON").is_transient());
    }

    #[test]
    fn end_reason_is_read_from_the_metadata() {
        let ended = |word: &str| {
            let metadata = [("end_reason".to_owned(), word.to_owned())].into();
            Refusal { metadata, ..refusal("SESSION_ENDED") }.end_reason()
        };
        assert_eq!(ended("expired"), Some(EndReason::Expired));
        assert_eq!(ended("eaten"), Some(EndReason::Unspecified));
        assert_eq!(refusal("SESSION_ENDED").end_reason(), None);
    }

    #[test]
    fn rejection_without_a_message_still_has_a_text() {
        let text = |message: &str, reason| Refusal { message: message.to_owned(), ..refusal(reason) }.to_string();
        assert_eq!((text("no", "DRAINING").as_str(), text("", "DRAINING").as_str()), ("no", "DRAINING"));
        let aborted = Refusal { code: Code::Aborted.into(), ..Refusal::default() };
        assert_eq!(aborted.to_string(), Code::Aborted.to_string());
    }

    #[test]
    fn end_shows_its_operator_and_note() {
        let mut ended = EndedState { reason: EndReason::Evicted.into(), ..EndedState::default() };
        assert_eq!(ended.to_string(), "evicted");
        (ended.operator, ended.note) = ("anna".to_owned(), "host is gone".to_owned());
        assert_eq!(ended.to_string(), "evicted by anna (host is gone)");
    }
}
