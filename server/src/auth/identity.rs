//! Who somebody is.

use std::fmt;
use std::sync::Arc;

/// The longest name that counts, in bytes: that of a SPIFFE ID (section 2.3 of its specification).
const LONGEST: usize = 2_048;

/// Who somebody is, and by what: `cert:` and the name in its certificate, `token:` and the token's name, `jwt:` and the subject.
/// So nobody takes a name of another kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity(Arc<str>);

impl Identity {
    /// Who has a certificate with this name. `None` if that is none that [counts](Self::counts).
    #[must_use]
    pub fn of_certificate(name: &str) -> Option<Self> {
        Self::counts(name).then(|| Self(format!("cert:{name}").into()))
    }

    /// Whether a name that somebody else has given is one to go by: 1 to 2,048 bytes without control characters, which databases
    /// cannot keep and people cannot read.
    #[must_use]
    pub fn counts(name: &str) -> bool {
        (1..=LONGEST).contains(&name.len()) && !name.chars().any(char::is_control)
    }

    /// Who has a static token of this name.
    #[must_use]
    pub fn of_token(name: &str) -> Self {
        Self(format!("token:{name}").into())
    }

    /// Whom a JSON Web Token is for.
    #[must_use]
    pub fn of_subject(subject: &str) -> Self {
        Self(format!("jwt:{subject}").into())
    }

    /// As text that many places may share.
    #[must_use]
    pub fn text(&self) -> Arc<str> {
        self.0.clone()
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
