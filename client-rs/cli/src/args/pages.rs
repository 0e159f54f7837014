//! The arguments of the commands that print the material shipped with the program.

use std::path::PathBuf;

use clap::Args;

/// `tenure completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure completions bash > /usr/share/bash-completion/completions/tenure
  tenure completions zsh > /usr/share/zsh/vendor-completions/_tenure
  tenure completions fish > ~/.config/fish/completions/tenure.fish
  # For the current shell only
  source <(tenure completions bash)")]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// `tenure man`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure man | man -l -
  tenure man lock > tenure-lock.1
  # All pages: tenure.1, tenure-lock.1 and so on
  tenure man --dir /usr/local/share/man/man1")]
pub struct ManArgs {
    /// The command of the page [default: tenure itself]
    #[arg(value_name = "COMMAND", conflicts_with = "dir")]
    pub command: Vec<String>,
    /// Write a page for tenure and one for each command to this folder, which is created if needed
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}
