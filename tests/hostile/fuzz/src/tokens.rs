//! The file of static tokens, and the presented tokens.

use aws_lc_rs::digest::{SHA256, digest};
use tenure_server::auth::fuzzing::Tokens;
use tenure_server::auth::new_token;

/// Any file is rejected with a line number, or has exactly the tokens whose hashes are in it.
pub fn tokens(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    check_new(text);
    let tokens = match Tokens::parse(text) {
        Ok(tokens) => tokens,
        Err(problem) => {
            let number = problem.strip_prefix("line ").and_then(|rest| rest.split_once(": "));
            let number: usize = number.and_then(|(number, _)| number.parse().ok()).expect("a line number");
            assert!((1..=text.lines().count()).contains(&number), "{problem}");
            assert!(problem.len() < 200, "the error repeats the line: {problem}");
            return;
        }
    };
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines() {
        let (_, hash) = line.rsplit_once("sha256:").expect("a hash");
        assert!(hash.len() == 64 && hash.bytes().all(|digit| digit.is_ascii_hexdigit()), "{line:?}");
    }
    for shown in text.lines().chain(lines().flat_map(str::split_whitespace)).chain(["", "token", text]) {
        let hex: String = digest(&SHA256, shown.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        // The last line with this hash determines the name.
        let named = lines().rev().find(|line| line.to_ascii_lowercase().ends_with(&hex));
        let name = named.and_then(|line| line.split_whitespace().next());
        let found = tokens.find(shown);
        assert_eq!(
            found.as_ref().map(|(_, identity)| identity.as_str()),
            name.map(|name| format!("token:{name}")).as_deref()
        );
        assert!(found.is_none_or(|(hash, _)| tokens.has(&hash)));
    }
}

/// A token for a new name is found by its line, and identifies only that name.
fn check_new(text: &str) {
    let name = text.lines().next().unwrap_or_default();
    let Ok((token, line)) = new_token(name) else { return };
    assert!(!name.is_empty() && name.len() <= 128 && !line.contains(&token));
    let tokens = Tokens::parse(&line).expect("the line of a new token");
    let found = tokens.find(&token).expect("the new token");
    assert_eq!(found.1.as_str(), format!("token:{name}"));
    assert!(tokens.find(name).is_none() && tokens.find(&line).is_none() && tokens.find("").is_none());
}
