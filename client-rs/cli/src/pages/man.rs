//! Generates the manual from the help texts: a page for `tenure` and one for each command.

use std::io::{self, Write};

use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::text::{Piece, pieces};

/// A page of the manual.
#[derive(Debug)]
pub struct Page {
    /// Its file name, such as `tenure-lock.1`.
    pub name: String,
    /// Its source in roff.
    pub text: String,
}

/// Environment variables that do not belong to an option.
const VARIABLES: [(&str, &str); 4] = [
    ("TENURE_TOKEN", "The token that authenticates the caller, unless --token-file is set."),
    ("NO_COLOR", "If set and not empty, disables colours. A pipe, or TERM=dumb, disables them, too."),
    ("COLUMNS", "The width of tables on a terminal that does not report its own."),
    ("USER", "The operator's name that evict, transfer and set record, unless --operator is set."),
];

/// The pages of the whole command line.
///
/// # Errors
/// None that are known: only memory is written.
pub fn pages(command: &clap::Command) -> io::Result<Vec<Page>> {
    let mut built = command.clone().disable_help_subcommand(true);
    built.build();
    let mut pages = Vec::new();
    collect(&built, true, &mut pages)?;
    Ok(pages)
}

/// The page of one command, given as its words after `tenure`: none if there is no such command.
///
/// # Errors
/// As [`pages`].
pub fn page(command: &clap::Command, words: &[String]) -> io::Result<Option<Page>> {
    let name = [&[command.get_name().to_owned()], words].concat().join("-");
    Ok(pages(command)?.into_iter().find(|page| page.name == format!("{name}.1")))
}

fn collect(command: &clap::Command, is_root: bool, pages: &mut Vec<Page>) -> io::Result<()> {
    pages.push(render(command, is_root)?);
    command.get_subcommands().try_for_each(|command| collect(command, false, pages))
}

fn render(command: &clap::Command, is_root: bool) -> io::Result<Page> {
    let version = env!("CARGO_PKG_VERSION");
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    // On other pages the global options would distract from the command's own.
    let shown = command.clone().mut_args(|option| {
        let is_of_all = option.is_global_set();
        option.hide_short_help(false).hide(is_of_all && !is_root)
    });
    let man = Man::new(shown).title(name.clone()).source(format!("tenure {version}")).manual("Tenure");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    let about = command.get_long_about().or_else(|| command.get_about()).map(ToString::to_string).unwrap_or_default();
    write!(text, "{}", section("DESCRIPTION", &about))?;
    if command.get_arguments().any(|option| is_root || !option.is_global_set()) {
        man.render_options_section(&mut text)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(&mut text)?;
    }
    let after = command.get_after_long_help().or_else(|| command.get_after_help());
    write!(text, "{}", section("NOTES", &after.map(ToString::to_string).unwrap_or_default()))?;
    if is_root {
        write!(text, "{}", environment(command))?;
    } else {
        write!(text, "{}", section("SEE ALSO", "tenure(1): options of every command, environment, exit codes."))?;
    }
    Ok(Page { name: format!("{name}.1"), text: String::from_utf8_lossy(&text).into_owned() })
}

/// A help text as sections: the first under `heading`, unless it starts with a heading of its own.
fn section(heading: &str, text: &str) -> String {
    let mut roff = Roff::default();
    let pieces = pieces(text);
    if !matches!(pieces.first(), None | Some(Piece::Heading(_))) {
        roff.control("SH", [heading]);
    }
    for piece in pieces {
        match piece {
            Piece::Heading("Exit codes") => roff.control("SH", ["EXIT STATUS"]),
            Piece::Heading(heading) => roff.control("SH", [heading.to_uppercase().as_str()]),
            Piece::Prose(prose) => roff.control("PP", []).text([roman(prose)]),
            Piece::Literal(lines) => {
                roff.control("PP", []).control("RS", ["4"]).control("nf", []);
                for line in lines {
                    roff.text([roman(line)]);
                }
                roff.control("fi", []).control("RE", [])
            }
        };
    }
    roff.to_roff()
}

fn environment(command: &clap::Command) -> String {
    let mut roff = Roff::default();
    roff.control("SH", ["ENVIRONMENT"]);
    let of_options = command.get_arguments().filter_map(|option| {
        let name = option.get_env()?.to_string_lossy().into_owned();
        Some((name, format!("As --{}.", option.get_long()?)))
    });
    let others = VARIABLES.iter().map(|(name, meaning)| ((*name).to_owned(), (*meaning).to_owned()));
    for (name, meaning) in of_options.chain(others) {
        roff.control("TP", []).text([bold(name)]).text([roman(meaning)]);
    }
    roff.to_roff()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::command;

    #[test]
    fn every_command_has_a_page() {
        let names: Vec<String> = pages(&command()).unwrap().into_iter().map(|page| page.name).collect();
        for name in ["tenure.1", "tenure-lock.1", "tenure-group.1", "tenure-group-set.1", "tenure-man.1"] {
            assert!(names.iter().any(|known| known == name), "{name} is missing: {names:?}");
        }
        assert!(page(&command(), &["group".into(), "set".into()]).unwrap().is_some());
        assert!(page(&command(), &["no-such".into()]).unwrap().is_none());
    }

    #[test]
    fn a_page_has_examples_as_they_are_typed_and_no_options_of_others() {
        let page = page(&command(), &["lock".into()]).unwrap().unwrap().text;
        assert!(page.contains(".SH EXAMPLES\n") && page.contains(".SH OPTIONS\n"), "{page}");
        assert!(
            page.contains(".nf\n# Wait without limit, then run\ntenure lock db\\-migration \\-\\- ./migrate.sh\n"),
            "{page}"
        );
        assert!(!page.contains("endpoints"), "{page}");
    }

    #[test]
    fn the_first_page_lists_the_exit_codes_and_the_environment() {
        let page = page(&command(), &[]).unwrap().unwrap().text;
        for part in [
            ".SH \"EXIT STATUS\"\n",
            "the service rejected the call",
            "\\fBTENURE_ENDPOINTS\\fR\n",
            "\\fBNO_COLOR\\fR\n",
        ] {
            assert!(page.contains(part), "{part} is missing in:\n{page}");
        }
    }
}
