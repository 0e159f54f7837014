//! Static tokens: a file of names and hashes.

use std::collections::HashMap;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::Identity;

/// The prefix of a hash in the file.
const HASHED: &str = "sha256:";

/// The prefix of tokens generated here, so that secret scanners recognize them.
const MARK: &str = "tenure_";

/// SHA-256 of a token.
pub(super) type Hash = [u8; 32];

/// The accepted tokens, by their hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens(HashMap<Hash, Identity>);

impl Tokens {
    /// Parses one `NAME sha256:HASH` per line; the hash is the SHA-256 of the token, in hex. Empty lines and lines that
    /// begin with `#` are ignored. A name may have several tokens, so that they can be rotated one after the other.
    ///
    /// # Errors
    /// If a line is invalid: its number and the reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut tokens = HashMap::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, hash) = entry(line).map_err(|problem| format!("line {}: {problem}", number + 1))?;
            tokens.insert(hash, Identity::of_token(name));
        }
        Ok(Self(tokens))
    }

    /// The hash and identity of a token.
    #[must_use]
    pub fn find(&self, token: &str) -> Option<(Hash, Identity)> {
        let hash = hash(token);
        Some((hash, self.0.get(&hash)?.clone()))
    }

    /// Whether a token with this hash is accepted.
    #[must_use]
    pub fn has(&self, hash: &Hash) -> bool {
        self.0.contains_key(hash)
    }
}

fn entry(line: &str) -> Result<(&str, Hash), String> {
    let Some((name, hash)) = line.split_once(char::is_whitespace) else {
        return Err(format!("must be NAME {HASHED}HASH"));
    };
    check_name(name)?;
    let hex = hash.trim().strip_prefix(HASHED).ok_or_else(|| format!("the hash must begin with {HASHED}"))?;
    let wanted = || format!("the hash must have {} hex digits", 2 * size_of::<Hash>());
    if hex.len() != 2 * size_of::<Hash>() || !hex.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(wanted());
    }
    let mut hash = Hash::default();
    for (byte, digits) in hash.iter_mut().zip(hex.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(digits).map_err(|_| wanted())?;
        *byte = u8::from_str_radix(digits, 16).map_err(|_| wanted())?;
    }
    Ok((name, hash))
}

/// Checks a token's name: 1 to 128 letters, digits, and any of `-_./@:`.
fn check_name(name: &str) -> Result<(), String> {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_./@:".contains(letter);
    if name.is_empty() || name.len() > 128 || !name.chars().all(allowed) {
        return Err("the name must be 1 to 128 letters, digits and -_./@:".to_owned());
    }
    Ok(())
}

fn hash(token: &str) -> Hash {
    let mut hash = Hash::default();
    hash.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
    hash
}

/// Creates a token of 256 random bits for this name; returns it with its line for the file.
///
/// # Errors
/// If the name is not valid.
pub fn new_token(name: &str) -> Result<(String, String), String> {
    check_name(name)?;
    let token = format!("{MARK}{}", URL_SAFE_NO_PAD.encode(rand::random::<Hash>()));
    let hex: String = hash(&token).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((token, format!("{name} {HASHED}{hex}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_token_is_found_by_its_exact_text_only() {
        let (token, line) = new_token("ci/deploy").expect("a name");
        let tokens = Tokens::parse(&format!("# comment\n\n  {line}  \n")).expect("lines");
        let (hash, identity) = tokens.find(&token).expect("known");
        assert_eq!(identity.as_str(), "token:ci/deploy");
        assert!(tokens.has(&hash));
        assert_eq!(tokens.find(&format!("{token} ")), None);
        assert_eq!(tokens.find(""), None);
        assert!(!line.contains(&token), "the file has no usable token");
    }

    #[test]
    fn malformed_line_is_rejected_by_its_number() {
        let hash = "0".repeat(64);
        let cases = [
            ("alone".to_owned(), "line 2: must be NAME"),
            (format!("a {hash}"), "line 2: the hash must begin with sha256:"),
            ("a sha256:00".to_owned(), "line 2: the hash must have 64 hex digits"),
            (format!("a sha256:{}", "é".repeat(32)), "line 2: the hash must have 64 hex digits"),
            (format!("a sha256:{}", "zz".repeat(32)), "line 2: the hash must have 64 hex digits"),
            (format!("a sha256:{}", "+f".repeat(32)), "line 2: the hash must have 64 hex digits"),
            (format!("a*b sha256:{hash}"), "line 2: the name must be 1 to 128"),
        ];
        for (line, expected) in cases {
            let refused = Tokens::parse(&format!("#\n{line}")).expect_err("malformed");
            assert!(refused.starts_with(expected), "{line}: {refused}");
        }
    }
}
