//! For fuzzers: what is read from files and shown by callers, without the files.

use std::sync::Arc;
use std::time::SystemTime;

pub use super::audit::fuzzing::{Told, line};
use super::jwt::Jwt;
use super::policy;
pub use super::tokens::Tokens;
use super::{Identity, JwtOptions, Rights, Unidentified};

/// A policy.
pub struct Policy(policy::Policy);

impl Policy {
    /// Reads it.
    ///
    /// # Errors
    /// If it is none: where, and why.
    pub fn parse(text: &str) -> Result<Self, String> {
        policy::Policy::parse(text).map(Self)
    }

    /// What somebody may do.
    #[must_use]
    pub fn rights(&self, identity: &Identity) -> Rights {
        self.0.rights(identity)
    }
}

/// Takes JSON Web Tokens.
pub struct Taker(Jwt);

impl Taker {
    /// With these keys, whatever the options say about where they are.
    ///
    /// # Errors
    /// If they are no set of keys.
    pub fn new(options: JwtOptions, keys: &[u8]) -> Result<Self, String> {
        let jwt = Jwt::new(options);
        jwt.keys.store(Arc::new(serde_json::from_slice(keys).map_err(|error| error.to_string())?));
        Ok(Self(jwt))
    }

    /// Whose token this is, and until when it counts.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn find(&self, token: &str) -> Result<(Identity, SystemTime), Unidentified> {
        self.0.find(token)
    }
}
