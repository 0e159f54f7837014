//! Entry points for fuzzers: parse file contents and credentials without files.

use std::sync::Arc;
use std::time::SystemTime;

pub use super::audit::fuzzing::{LineFields, line};
use super::jwt::Jwt;
pub use super::policy::Policy;
pub use super::tokens::Tokens;
use super::{Identity, JwtOptions, Unidentified};

/// Validates JSON Web Tokens.
pub struct Taker(Jwt);

impl Taker {
    /// Creates a validator with these keys, ignoring the key source in the options.
    ///
    /// # Errors
    /// If the bytes are not a valid key set.
    pub fn new(options: JwtOptions, keys: &[u8]) -> Result<Self, String> {
        let jwt = Jwt::new(options);
        jwt.keys.store(Arc::new(serde_json::from_slice(keys).map_err(|error| error.to_string())?));
        Ok(Self(jwt))
    }

    /// The token's identity and expiry.
    ///
    /// # Errors
    /// The reason why the token is not valid.
    pub fn find(&self, token: &str) -> Result<(Identity, SystemTime), Unidentified> {
        self.0.find(token)
    }
}
