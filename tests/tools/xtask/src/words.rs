//! Checks the words of comments, code and pages against a list of banned ones, so that they stay plain technical English.

use std::fs;

use anyhow::{Context, bail};

use crate::pages;
use crate::programs::{files, root};

/// The banned words, and what to write instead.
const BANNED: [(&str, &str); 18] = [
    ("told", "notified, replied, returned"),
    ("tell", "notify, reply, return"),
    ("tells", "notifies, replies, returns"),
    ("telling", "notifying, message"),
    ("tellings", "notifications, replies"),
    ("whoever", "caller, client"),
    ("somebody", "a caller, another session"),
    ("nobody", "no caller, no holder"),
    ("in vain", "fails, without effect"),
    ("mend", "fix"),
    ("put into words", "encode"),
    ("give up", "cancel, stop"),
    ("gives up", "cancels, stops"),
    ("given up", "cancelled, stopped"),
    ("come back", "reconnect, return"),
    ("comes back", "reconnects, returns"),
    ("goes elsewhere", "fails over"),
    ("turned away", "rejected"),
];

/// The folders whose comments, identifiers and string literals are checked.
const FOLDERS: [&str; 10] = [
    "server/src",
    "server/core",
    "server/tests",
    "client-rs/src",
    "client-rs/tests",
    "client-rs/cli",
    "client-rs/driver",
    "client-rs/fence",
    "proto/tenure/v1",
    "tests",
];

/// The list itself, which is not checked.
const THIS: &str = "tests/tools/xtask/src/words.rs";

/// The pages that are not checked: measurements, as they were printed.
const RESULTS: &str = "tests/results/";

/// Fails if a banned word is found, and lists all of them.
pub fn check() -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    for folder in FOLDERS {
        for file in files(&root().join(folder), &["rs", "proto"])? {
            let name = file.strip_prefix(root()).unwrap_or(&file).display().to_string();
            if name == THIS {
                continue;
            }
            let text = fs::read_to_string(&file).with_context(|| name.clone())?;
            wrong.extend(in_source(&text).iter().map(|found| described(&name, found)));
        }
    }
    for name in pages::names()?.iter().filter(|name| !name.starts_with(RESULTS)) {
        let text = fs::read_to_string(root().join(name)).with_context(|| name.clone())?;
        wrong.extend(in_page(&text).iter().map(|found| described(name, found)));
    }
    if !wrong.is_empty() {
        bail!("write plain technical English:\n{}", wrong.join("\n"));
    }
    Ok(())
}

/// A line, its banned word, and what to write instead.
type Found = (usize, &'static str, &'static str);

fn described(name: &str, (line, word, instead): &Found) -> String {
    format!("{name}:{line}: \"{word}\": write {instead}")
}

/// The banned words in the comments and in the code of a file.
fn in_source(text: &str) -> Vec<Found> {
    banned(text.lines().map(|line| match line.trim_start().strip_prefix("//") {
        Some(comment) => Some(words(&without_code(comment))),
        None => Some(words(line)),
    }))
}

/// The banned words in a Markdown page, without its code.
fn in_page(text: &str) -> Vec<Found> {
    let mut is_code = false;
    banned(text.lines().map(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then(|| words(&without_code(line)))
    }))
}

/// The banned words in the words of each line.
fn banned(lines: impl Iterator<Item = Option<String>>) -> Vec<Found> {
    let lines = lines.enumerate().filter_map(|(at, words)| Some((at + 1, format!(" {} ", words?))));
    let found = lines.flat_map(|(line, words)| {
        let of_line = BANNED.iter().filter(move |(word, _)| words.contains(&format!(" {word} ")));
        of_line.map(move |(word, instead)| (line, *word, *instead))
    });
    found.collect()
}

/// The text without what is in backticks.
fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// The words of a text in lower case, apart by one space. Identifiers are split into theirs.
fn words(text: &str) -> String {
    let mut words = String::new();
    let mut before = ' ';
    for letter in text.chars() {
        let begins = letter.is_uppercase() && !before.is_uppercase();
        if letter.is_alphanumeric() {
            if (begins || !before.is_alphanumeric()) && !words.is_empty() {
                words.push(' ');
            }
            words.extend(letter.to_lowercase());
        }
        before = letter;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(found: &[Found]) -> Vec<(usize, &str)> {
        found.iter().map(|(line, word, _)| (*line, *word)).collect()
    }

    #[test]
    fn banned_words_are_found_in_comments_without_their_code() {
        let text = "/// Whoever asks is told.\n    // It waits in\n    // `told` and retold, in vain.\n";
        assert_eq!(found(&in_source(text)), [(1, "told"), (1, "whoever"), (3, "in vain")]);
    }

    #[test]
    fn banned_words_are_found_in_identifiers_and_literals() {
        let text = "fn attached_twice(told: &Told) {}\nlet a = \"it has no holder: nobody does\";\n\
            ClaimEnded { recommended, NO_WAITER }\nNobodyElse::Waits;\n";
        assert_eq!(found(&in_source(text)), [(1, "told"), (2, "nobody"), (4, "nobody")]);
    }

    #[test]
    fn banned_words_are_found_in_pages_without_their_code() {
        let text = "# Nobody\n\n`somebody` is\n```sh\ntell\n```\ntold [`told`](told.md)\n";
        assert_eq!(found(&in_page(text)), [(1, "nobody"), (7, "told")]);
    }
}
