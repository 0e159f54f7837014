//! Command lines shown in the documentation parse.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Places with documented command lines, relative to the repository root.
const PLACES: [&str; 4] = ["README.md", "client-rs/cli/README.md", "deploy", "clients/guides"];

fn pages(place: &Path) -> Vec<String> {
    if place.is_file() {
        let is_page = place.extension().is_some_and(|extension| extension == "md");
        return is_page.then(|| fs::read_to_string(place).expect("a page")).into_iter().collect();
    }
    let inside = fs::read_dir(place).expect("a folder").map(|entry| entry.expect("an entry").path());
    inside.flat_map(|place| pages(&place)).collect()
}

/// Returns the commands in the `sh` blocks of a page that begin with `tenure`, ignoring variable assignments before
/// them.
fn commands(page: &str) -> Vec<Vec<String>> {
    let mut is_shell = false;
    let mut commands = Vec::new();
    for line in page.lines() {
        if line.starts_with("```") {
            is_shell = line == "```sh";
        } else if is_shell {
            let words = words(line).into_iter().skip_while(|word| word.contains('='));
            commands.push(words.collect::<Vec<String>>());
        }
    }
    commands.retain(|words| words.first().is_some_and(|word| word == "tenure"));
    commands
}

/// Splits a line into words as a shell does, up to the first pipe, redirection or comment.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in line.chars() {
        match (quote, letter) {
            (Some(end), letter) if letter == end => quote = None,
            (Some(_), letter) => word.get_or_insert_default().push(letter),
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, '#' | '|' | '>' | '&' | ';') if word.is_none() => break,
            (None, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[test]
fn command_lines_in_pages_are_valid() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let all: Vec<Vec<String>> =
        PLACES.iter().flat_map(|place| pages(&top.join(place))).flat_map(|page| commands(&page)).collect();
    assert!(all.len() > 30, "the pages show how to use the command line: {all:?}");
    for words in all {
        // With `--help`, the arguments before it are parsed first; invalid ones are errors.
        let own = words.iter().position(|word| word == "--").unwrap_or(words.len());
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        let output = command.args(&words[1..own]).arg("--help").output().expect("it starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}\n{stderr}", words.join(" "));
    }
}

#[test]
fn lines_are_split_as_by_a_shell() {
    let page = "```sh\nA=b tenure lock --note 'a b' x -- sh -c \"echo 1\" | cat   # why\ntenure ls > list && ls -d\nls\n```\ntenure ls\n```\ntenure ls\n```\n";
    assert_eq!(
        commands(page),
        [&["tenure", "lock", "--note", "a b", "x", "--", "sh", "-c", "echo 1"][..], &["tenure", "ls"],]
    );
}
