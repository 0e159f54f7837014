//! Tests that help teaches with examples, and that all of them are valid commands of this version.

use clap::Command;
use clap::error::ErrorKind;

use super::text::{Piece, pieces};
use crate::args::command;

/// The width of a common terminal.
const WIDTH: usize = 80;

/// The `tenure` commands in the literal lines of a text, each as its words.
pub fn commands(text: &str) -> Vec<Vec<String>> {
    let mut commands = Vec::new();
    for piece in pieces(text) {
        let Piece::Literal(lines) = piece else { continue };
        let mut begun = String::new();
        for line in lines {
            begun.push_str(line);
            begun.push('\n');
            let is_open = line.ends_with('|') || line.ends_with('\\');
            if let Some(words) = shlex::split(&begun).filter(|_| !is_open) {
                commands.extend(of_line(&words));
                begun.clear();
            }
        }
        assert!(begun.is_empty(), "this never ends: {begun}");
    }
    commands
}

/// The parts between pipes and other separators that start with `tenure`; a command may also be nested in `$(…)`.
fn of_line(words: &[String]) -> Vec<Vec<String>> {
    const BETWEEN: [&str; 11] = ["|", "||", "&&", ";", ">", ">>", "<", "do", "done", "then", "\\"];
    let words: Vec<String> = words.iter().flat_map(|word| between(word)).collect();
    let parts = words.split(|word| BETWEEN.contains(&word.as_str()));
    parts.filter(|part| part.first().is_some_and(|word| word == "tenure")).map(<[String]>::to_vec).collect()
}

fn between(word: &str) -> Vec<String> {
    let word = word.strip_suffix('\n').unwrap_or(word);
    let opened = ["token=$(", "<("].iter().find_map(|opening| word.strip_prefix(opening));
    match (opened, word.strip_suffix(';')) {
        (Some(first), _) => vec![";".to_owned(), first.to_owned()],
        (None, Some(last)) => vec![last.to_owned(), ";".to_owned()],
        (None, None) if word.ends_with(')') && !word.contains('(') => vec![word.trim_end_matches(')').to_owned()],
        (None, None) => vec![word.to_owned()],
    }
}

/// All help texts of a command, except its options.
fn texts(command: &Command) -> Vec<String> {
    let texts = [command.get_long_about(), command.get_after_help(), command.get_after_long_help()];
    texts.into_iter().flatten().map(ToString::to_string).collect()
}

fn visit(command: &Command, visitor: &mut impl FnMut(&Command)) {
    visitor(command);
    command.get_subcommands().for_each(|command| visit(command, visitor));
}

#[test]
fn every_command_is_explained_by_examples() {
    visit(&command(), &mut |command| {
        if command.has_subcommands() {
            return;
        }
        let name = command.get_name();
        let shown: Vec<Vec<String>> = texts(command).iter().flat_map(|text| commands(text)).collect();
        let own = shown.iter().filter(|words| words.iter().any(|word| word == name)).count();
        assert!(own >= 2, "{name} has {own} examples of its own");
    });
}

#[test]
fn every_example_is_a_command_of_this_version() {
    let mut found = 0;
    visit(&command(), &mut |of| {
        for words in texts(of).iter().flat_map(|text| commands(text)) {
            found += 1;
            // The output of an earlier command.
            let words = words.iter().map(|word| if word == "$token" { "42" } else { word });
            let words: Vec<&str> = words.collect();
            match command().try_get_matches_from(&words) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::DisplayHelp => {}
                Err(error) => panic!("{}: {}\n{error}", of.get_name(), words.join(" ")),
            }
        }
    });
    assert!(found > 60, "only {found} examples were found");
}

#[test]
fn no_example_is_wider_than_a_usual_terminal() {
    visit(&command(), &mut |command| {
        for text in texts(command) {
            for line in pieces(&text)
                .iter()
                .filter_map(|piece| if let Piece::Literal(lines) = piece { Some(lines) } else { None })
                .flatten()
            {
                // It is indented by two blanks.
                assert!(line.chars().count() + 2 <= WIDTH, "{}: {line}", command.get_name());
            }
        }
    });
}

#[test]
fn commands_are_found_among_others() {
    let text = "  # a comment\n  tenure ls jobs/ | jq '.a | .b'    # and why\n  cat x |\n    tenure group set a - && echo\n  \
        token=$(tenure renew me)\n  while read -r id; do tenure close \"$id\"; done\n  tenure lock a -- sh -c 'b;\n  c'";
    let found: Vec<String> = commands(text).iter().map(|words| words.join(" ")).collect();
    assert_eq!(
        found,
        [
            "tenure ls jobs/",
            "tenure group set a -",
            "tenure renew me",
            "tenure close $id",
            "tenure lock a -- sh -c b;\nc"
        ]
    );
}
