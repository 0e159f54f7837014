//! Generates the server's man page from its help texts.

use std::io;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

/// The other sources of settings.
const ENVIRONMENT: &str = "Each setting may also be given as a variable or as a line of the file that --config names: --min-ttl as \
    TENURE_MIN_TTL or min_ttl. A flag wins over a variable, which wins over the file.";

/// The page in roff format.
///
/// # Errors
/// None are expected, because the page is written to memory.
pub fn page(command: &Command) -> io::Result<String> {
    let man = Man::new(command.clone()).manual("Tenure").section("8");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    let mut tasks = Roff::default();
    tasks.control("SH", ["COMMANDS"]);
    for task in command.get_subcommands() {
        let about = task.get_long_about().or_else(|| task.get_about()).map(ToString::to_string).unwrap_or_default();
        tasks.control("TP", []).text([bold(task.get_name())]).text([roman(about.replace('\n', " "))]);
    }
    tasks.to_writer(&mut page)?;
    man.render_options_section(&mut page)?;
    let mut more = Roff::default();
    more.control("SH", ["ENVIRONMENT"]).text([roman(ENVIRONMENT)]);
    more.control("SH", ["EXIT STATUS"]).text([roman("0 after a requested stop or a successful task; 1 otherwise.")]);
    more.control("SH", ["SEE ALSO"]).text([roman("tenure(1)")]);
    more.to_writer(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    #[test]
    fn man_page_describes_commands_and_settings() {
        let option = Arg::new("listen").long("listen").help("The address for clients");
        let command = Command::new("tenured").about("The server").arg(option);
        let page = page(&command.subcommand(Command::new("migrate").about("Brings the tables up to date"))).unwrap();
        for part in [
            ".TH tenured 8",
            "\\fBmigrate\\fR\nBrings the tables",
            "\\fB\\-\\-listen\\fR",
            "TENURE_MIN_TTL",
            "tenure(1)",
        ] {
            assert!(page.contains(part), "{part} is missing in:\n{page}");
        }
    }
}
