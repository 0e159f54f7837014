//! Tests that help teaches with examples, and that all of them are valid commands of this version.

use clap::Command;
use clap::error::ErrorKind;

use super::text::{Piece, commands, pieces};
use crate::args::command;

/// The width of a common terminal.
const WIDTH: usize = 80;

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
