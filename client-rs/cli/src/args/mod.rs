//! The arguments, and the help that explains them.

mod child;
mod fence;
mod locks;
mod values;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use child::{ElectArgs, ExecArgs, GuardArgs, LockArgs, OwnStep, RunArgs, Step};
pub use fence::{FenceDialect, FenceSqlArgs};
pub use locks::{AcquireArgs, EvictArgs, GetArgs, LsArgs, ReleaseArgs, SessionIdArgs, SessionsArgs, WatchArgs};

use crate::exit;

const ABOUT: &str = "\
Tenure's command line: run a command under a lock, lead an election, see who holds what.

Examples:
  # Run a job on one host only; the others wait for it
  tenure lock nightly-report -- ./report.sh
  # As a cron job: run, or leave it to whoever has it, and keep it for a minute at least
  tenure lock -n --min-hold 1m nightly-report -- ./report.sh
  # A leader and its standbys: start this on every host
  tenure elect service_leader -- ./serve
  # Who holds it, and what happens to it
  tenure get service_leader
  tenure watch service_leader
  # Have the database that you write to turn away who has lost the lock
  tenure fence-sql postgres | psql -v ON_ERROR_STOP=1 \"$DATABASE_URL\"";

/// What stands on the command line.
#[derive(Debug, Parser)]
#[command(name = "tenure", version, about = "Tenure's command line: locks, leaders, and who holds them",
          long_about = ABOUT, after_help = exit::HELP, max_term_width = 110)]
pub struct Cli {
    /// What holds for every command.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
pub struct Global {
    /// The servers, separated by commas: any of them will do, the next is asked if one is away
    #[arg(long, env = "TENURE_ENDPOINTS", value_delimiter = ',', value_parser = values::endpoint, global = true,
          default_value = "http://127.0.0.1:7420", value_name = "URL,…", help_heading = "Options of every command")]
    pub endpoints: Vec<String>,
    /// The namespace: a separate world of names
    #[arg(
        long,
        env = "TENURE_NAMESPACE",
        global = true,
        default_value = "default",
        help_heading = "Options of every command"
    )]
    pub namespace: String,
    /// How long a call may take, all servers together: 5, 500ms, 1m (waiting for a lock comes on top)
    #[arg(long, env = "TENURE_TIMEOUT", global = true, default_value = "10s", value_parser = values::duration,
          value_name = "DURATION", help_heading = "Options of every command")]
    pub timeout: Duration,
    /// Tables for people, or JSON with the field names of the API
    #[arg(long, short = 'o', global = true, value_enum, default_value_t = Format::Table, help_heading = "Options of every command")]
    pub output: Format,
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables and sentences
    Table,
    /// One JSON document, or one a line where there are many
    Json,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a command while holding a lock
    Lock(LockArgs),
    /// Run a command while leading; stand by while another leads
    Elect(ElectArgs),
    /// Print what happens to locks, as it happens
    Watch(WatchArgs),
    /// List the locks that are held or waited for
    Ls(LsArgs),
    /// Show one lock: its holder and its queue
    Get(GetArgs),
    /// List the open sessions, or show one
    Sessions(SessionsArgs),
    /// Take a lock for a session and return at once (for scripts; `lock` is simpler)
    Acquire(AcquireArgs),
    /// Renew a session once
    Renew(SessionIdArgs),
    /// Give a hold back
    Release(ReleaseArgs),
    /// End a session, and with it all that it holds and waits for
    Close(SessionIdArgs),
    /// Take a lock away from its holder (for operators; kept in history)
    Evict(EvictArgs),
    /// Check connections, health, the write path and clocks
    Doctor,
    /// Print the SQL with which your own database turns away stale fencing tokens
    FenceSql(FenceSqlArgs),
    /// Print a shell's completion script
    #[command(after_help = "Example: tenure completions bash > /etc/bash_completion.d/tenure")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// The program that runs the steps of `OwnStep`: this very file, even if it was replaced on disk meanwhile.
pub fn own_program() -> PathBuf {
    if cfg!(target_os = "linux") {
        PathBuf::from("/proc/self/exe")
    } else {
        std::env::current_exe().unwrap_or_else(|_| PathBuf::from("tenure"))
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use clap::error::ErrorKind;

    use super::*;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(line.split(' '))
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn global_options_may_stand_anywhere() {
        let cli = parse("tenure ls --endpoints a:1,b:2 jobs/ -o json --namespace blue --timeout 3").unwrap();
        assert_eq!(cli.global.endpoints, ["http://a:1", "http://b:2"]);
        assert_eq!(cli.global.namespace, "blue");
        assert_eq!(cli.global.timeout, Duration::from_secs(3));
        assert_eq!(cli.global.output, Format::Json);
    }

    #[test]
    fn a_lock_has_names_and_a_command_of_its_own_arguments() {
        let Command::Lock(lock) = parse("tenure lock -n -E 9 a b -- make -n all").unwrap().command else {
            panic!("not a lock")
        };
        assert_eq!(lock.names, ["a", "b"]);
        assert_eq!(lock.run.command, ["make", "-n", "all"]);
        assert!(lock.no_wait);
        assert_eq!(lock.conflict_exit_code, 9);
    }

    #[test]
    fn nonsense_is_refused() {
        for line in [
            "tenure lock a",
            "tenure lock -- make",
            "tenure lock -n -w 5 a -- make",
            "tenure lock --ttl soon a -- make",
            "tenure lock -E 300 a -- make",
            "tenure release a --session s",
            "tenure ls --output yaml",
            "tenure ls --endpoints nowhere",
        ] {
            let error = parse(line).expect_err(line);
            assert_ne!(error.kind(), ErrorKind::DisplayHelp, "{line}");
            assert_eq!(error.exit_code(), i32::from(exit::USAGE), "{line}");
        }
    }

    #[test]
    fn help_tells_the_exit_codes() {
        let help = Cli::command().render_long_help().to_string();
        for code in [exit::UNAVAILABLE, exit::REFUSED, exit::HOLD_LOST, exit::NOT_FOUND] {
            assert!(help.contains(&format!("{code}  ")), "{code} is missing in:\n{help}");
        }
    }
}
