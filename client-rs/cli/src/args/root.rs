//! The help of `tenure` itself: an introduction by examples, and the commands in groups.

use std::fmt::Write;

use clap::CommandFactory;
use clap::builder::StyledStr;

use super::Cli;

pub const ABOUT: &str = "\
Tenure's command line: run a command under a lock, lead an election, inspect locks.

Examples:
  # Run a job on one host only; the others wait for it
  tenure lock nightly-report -- ./report.sh
  # A leader and its standbys: start this on every host
  tenure elect service_leader -- ./serve
  # Show the holder, the events, and the explanation of the state
  tenure get service_leader
  tenure watch service_leader
  tenure why service_leader
  # Move the lead to a standby, without a moment without a leader
  tenure transfer service_leader";

pub const SEE_ALSO: &str = "\
More: `tenure cheat`, `tenure help COMMAND`, `tenure help exit-codes`";

/// The groups of commands, in the order in which users meet them.
pub const GROUPS: [(&str, &[&str]); 6] = [
    ("Hold", &["lock", "elect"]),
    ("Look", &["ls", "get", "why", "watch", "history", "blocked", "sessions", "servers", "top", "doctor"]),
    ("Operate", &["transfer", "evict", "set", "close"]),
    ("Share work in groups", &["group"]),
    ("Step by step, for scripts", &["acquire", "renew", "release"]),
    ("And", &["cheat", "exit-codes", "json", "fence-sql", "completions", "man", "help"]),
];

/// The whole command line, used for parsing, completion, help and manual.
pub fn command() -> clap::Command {
    let command = Cli::command();
    let template = template(&command);
    command.help_template(template)
}

/// Whether JSON output is requested, as far as an invalid command line shows it.
pub fn wants_json() -> bool {
    let words: Vec<_> = std::env::args_os().skip(1).take_while(|word| word != "--").collect();
    let by_two = words.windows(2).any(|two| (two[0] == "-o" || two[0] == "--output") && two[1] == "json");
    by_two || words.iter().any(|word| word == "-ojson" || word == "--output=json")
}

fn template(command: &clap::Command) -> StyledStr {
    let (header, literal) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (heading, names) in GROUPS {
        let _ = write!(text, "\n{header}{heading}:{header:#}");
        for name in names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map_or_else(|| "Print the help of a command".to_owned(), ToString::to_string);
            let _ = write!(text, "\n  {literal}{name:<11}{literal:#}  {about}");
        }
        text.push('\n');
    }
    let _ = write!(text, "\n{header}Options:{header:#}\n{{options}}{{after-help}}");
    text.into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let command = command();
        let mut there: BTreeSet<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        there.insert("help");
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), there);
        assert_eq!(listed.len(), there.len(), "a command is listed twice");
    }

    #[test]
    fn the_list_of_commands_fits_a_common_terminal() {
        let help = command().render_help().to_string();
        let (list, _) = help.split_once("\nOptions:\n").unwrap();
        assert!(list.lines().all(|line| line.chars().count() <= 80), "{list}");
        assert!(list.lines().count() <= 48, "it is more than a screen:\n{list}");
        for (heading, _) in GROUPS {
            assert!(help.contains(&format!("\n{heading}:\n")), "{help}");
        }
    }
}
