//! Caller identities.

use std::fmt;

use tenure_core::Text;

/// The longest accepted name, in bytes: the limit for a SPIFFE ID (section 2.3 of its specification).
const LONGEST: usize = 2_048;

/// An identity with its kind: `cert:` and the name in the certificate, `token:` and the token's name, or `jwt:` and the
/// subject. The prefix keeps names of different kinds apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity(Text);

impl Identity {
    /// The holder of a certificate with this name. `None` if the name is not [acceptable](Self::counts).
    #[must_use]
    pub fn of_certificate(name: &str) -> Option<Self> {
        Self::counts(name).then(|| Self(format!("cert:{name}").into()))
    }

    /// Whether an externally assigned name is acceptable: 1 to 2,048 bytes without control characters, which databases
    /// cannot store and people cannot read.
    #[must_use]
    pub fn counts(name: &str) -> bool {
        (1..=LONGEST).contains(&name.len()) && !name.chars().any(char::is_control)
    }

    /// The holder of a static token with this name.
    #[must_use]
    pub fn of_token(name: &str) -> Self {
        Self(format!("token:{name}").into())
    }

    /// The subject of a JSON Web Token.
    #[must_use]
    pub fn of_subject(subject: &str) -> Self {
        Self(format!("jwt:{subject}").into())
    }

    /// The identity as shared text.
    #[must_use]
    pub fn text(&self) -> Text {
        self.0.clone()
    }

    /// The identity as text.
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
