//! A session's id inside the client.

use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use foldhash::fast::FixedState;

/// A session's id. Each command and each answer has one, which is looked up several times: so it is hashed once, and
/// clones compare equal without a comparison of the text.
#[derive(Clone)]
pub(crate) struct SessionId {
    text: Arc<str>,
    hash: u64,
}

impl SessionId {
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The id in messages.
    pub(crate) fn to_wire(&self) -> String {
        self.text.as_ref().to_owned()
    }
}

impl From<&str> for SessionId {
    fn from(text: &str) -> Self {
        Self { text: text.into(), hash: FixedState::default().hash_one(text) }
    }
}

impl From<String> for SessionId {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl PartialEq for SessionId {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && (Arc::ptr_eq(&self.text, &other.text) || self.text == other.text)
    }
}

impl Eq for SessionId {}

impl Hash for SessionId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_make_equal_ids() {
        let id = SessionId::from("a");
        assert_eq!(id, id.clone());
        assert_eq!(id, SessionId::from("a".to_owned()), "equal texts make equal ids");
        assert_ne!(id, SessionId::from("b"));
        let ids: foldhash::HashMap<SessionId, u32> = [(id, 1)].into_iter().collect();
        assert_eq!(ids.get(&SessionId::from("a")), Some(&1));
        assert_eq!(
            (SessionId::from("a").to_string(), format!("{:?}", SessionId::from("a"))),
            ("a".into(), "\"a\"".into())
        );
    }
}
