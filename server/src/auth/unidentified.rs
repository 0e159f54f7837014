//! Why it is not known who calls.

/// Why it is not known who calls. Each is told as it is: it says nothing about what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unidentified {
    /// There is neither a certificate nor a token.
    #[error("credentials are required: a client certificate, or a token in the authorization header")]
    CredentialsRequired,
    /// The header is none of ours.
    #[error("the authorization header must be \"Bearer\" and a token")]
    NoBearer,
    /// The token is not known, or not any more.
    #[error("the token is not known")]
    UnknownToken,
    /// The token is signed by an algorithm that is not taken.
    #[error("the token is signed by an algorithm that is not allowed here")]
    TokenAlgorithm,
    /// The token has extensions that whoever takes it must know, and which are not known here (RFC 7515, section 4.1.11).
    #[error("the token has extensions that must be known to whoever takes it, and are not known here")]
    TokenExtension,
    /// There is no key for the token.
    #[error("the token names no key that is known for its algorithm")]
    TokenKey,
    /// The token's signature is wrong.
    #[error("the token's signature is wrong")]
    TokenSignature,
    /// Somebody else has issued the token.
    #[error("the token is by another issuer")]
    TokenIssuer,
    /// The token is meant for somebody else.
    #[error("the token is for another audience")]
    TokenAudience,
    /// The token is over, or does not count yet.
    #[error("the token has expired, or is not valid yet")]
    TokenTime,
    /// The token names nobody.
    #[error("the token does not say who it is for: its subject is missing")]
    TokenSubject,
    /// The certificate names nobody.
    #[error("the client certificate has neither a URI nor a DNS name as subject alternative name")]
    NamelessCertificate,
    /// The certificate does not count any more.
    #[error("the client certificate is not valid any more")]
    RevokedCertificate,
}

impl Unidentified {
    /// The rule that refused, as one word.
    #[must_use]
    pub fn rule(self) -> &'static str {
        match self {
            Self::CredentialsRequired => "credentials-required",
            Self::NoBearer => "bearer-token",
            Self::UnknownToken => "known-token",
            Self::TokenAlgorithm => "token-algorithm",
            Self::TokenKey => "token-key",
            Self::TokenSignature => "token-signature",
            Self::TokenIssuer => "token-issuer",
            Self::TokenExtension => "token-extension",
            Self::TokenAudience => "token-audience",
            Self::TokenTime => "token-time",
            Self::TokenSubject => "token-subject",
            Self::NamelessCertificate => "certificate-name",
            Self::RevokedCertificate => "certificate-valid",
        }
    }
}
