//! Page tokens: where the next page of a list begins.

use tenure_server::grpc::fuzzing::{page_after, page_token};

use crate::draw::Draw;

/// The scopes of lists.
pub(crate) const SCOPES: [&str; 6] =
    ["locks/default/", "locks/default/a", "locks/b/", "groups/default/", "sessions/default", "history/default/a"];

/// A token gives the position that it was made for, in the list that made it. Any other bytes are rejected with the
/// name of their field, or are exactly the token that some list makes.
pub fn pages(data: &[u8]) {
    let mut draw = Draw::new(data);
    let scope = draw.of(&SCOPES);
    let Ok(text) = std::str::from_utf8(draw.rest()) else { return };
    check_forged(scope, text);
    if !text.is_empty() && !text.contains(char::is_control) {
        let token = page_token(scope, text);
        assert_eq!(page_after(scope, &token), Ok(Some(text.to_owned())));
        for other in SCOPES.iter().filter(|other| **other != scope) {
            assert!(page_after(other, &token).is_err(), "a token of {scope} is valid for {other}");
        }
    }
}

fn check_forged(scope: &str, token: &str) {
    match page_after(scope, token) {
        Ok(None) => assert_eq!(token, ""),
        Ok(Some(last)) => {
            assert!(!last.is_empty());
            assert_eq!(page_token(scope, &last), token, "another form of a token");
        }
        Err(refusal) => {
            assert_eq!((refusal.reason.as_str(), refusal.metadata["field"].as_str()), ("INVALID_FIELD", "page_token"));
            assert!(refusal.message.len() < 200 && !refusal.message.contains(char::is_control));
        }
    }
}
