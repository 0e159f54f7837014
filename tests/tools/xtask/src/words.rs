//! Checks the words of comments against a list of banned ones, so that the prose stays plain technical English.

use std::fs;

use anyhow::{Context, bail};

use crate::programs::{files, root};

/// The banned words, and what to write instead.
const BANNED: [(&str, &str); 11] = [
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
];

/// The folders that are checked.
const CHECKED: [&str; 4] = ["server/src", "server/core/src", "client-rs/cli/src", "proto/tenure/v1"];

/// Parts that have yet to be rewritten.
const EXCEPT: [&str; 3] = ["server/src/peer", "server/src/sequencer/passing", "server/src/grpc/stream"];

/// Fails if a comment has a banned word, and lists all of them.
pub fn check() -> anyhow::Result<()> {
    let mut found = Vec::new();
    for folder in CHECKED {
        for file in files(&root().join(folder), &["rs", "proto"])? {
            let name = file.strip_prefix(root()).unwrap_or(&file).display().to_string();
            if EXCEPT.iter().any(|part| name.starts_with(part)) {
                continue;
            }
            let text = fs::read_to_string(&file).with_context(|| name.clone())?;
            found.extend(
                banned(&text).map(|(line, word, instead)| format!("{name}:{line}: \"{word}\": write {instead}")),
            );
        }
    }
    if !found.is_empty() {
        bail!("comments are to be in plain technical English:\n{}", found.join("\n"));
    }
    Ok(())
}

/// The banned words in the comments of a file, with the numbers of their lines.
fn banned(text: &str) -> impl Iterator<Item = (usize, &'static str, &'static str)> {
    let comments =
        text.lines().enumerate().filter_map(|(at, line)| Some((at + 1, line.trim_start().strip_prefix("//")?)));
    comments.flat_map(|(line, comment)| {
        let comment = format!(" {} ", words(comment));
        let of_line = BANNED.iter().filter(move |(word, _)| comment.contains(&format!(" {word} ")));
        of_line.map(move |(word, instead)| (line, *word, *instead))
    })
}

/// The words of a comment in lower case, apart by one space, without code in backticks.
fn words(comment: &str) -> String {
    let prose = comment.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    let words = prose.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn banned_words_are_found_in_comments_only() {
        let text = "/// Whoever asks is told.\nlet told = \"nobody\";\n    // It waits in\n    // `told` and retold, in vain.\n";
        let found: Vec<(usize, &str)> = banned(text).map(|(line, word, _)| (line, word)).collect();
        assert_eq!(found, [(1, "told"), (1, "whoever"), (4, "in vain")]);
    }
}
