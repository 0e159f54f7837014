//! The command-line arguments and their help texts.

mod acquire;
mod child;
mod global;
mod groups;
mod operate;
mod root;
mod values;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};

pub use acquire::{AcquireArgs, ModeArgs};
pub use child::{ElectArgs, ExecArgs, GuardArgs, Helper, HelperCli, LockArgs, OnTransfer, RunArgs};
pub use global::{Format, Global};
pub use groups::{GroupCommand, GroupJoinArgs};
pub use operate::{OperatorArgs, SetArgs, TransferArgs};
pub use root::{command, wants_json};

use crate::exit;

#[derive(Debug, Parser)]
#[command(name = "tenure", version, about = "Tenure's command line: locks, leaders, and their holders",
          long_about = root::ABOUT, after_help = root::SEE_ALSO,
          after_long_help = format!("{}\n\n{}", exit::help(), root::SEE_ALSO), max_term_width = 110)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// A kind of database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FenceDialect {
    /// PostgreSQL, 13 or newer
    Postgres,
    /// MySQL, 8.0 or newer, and MariaDB, 10.6 or newer
    #[value(alias = "mariadb")]
    Mysql,
    /// SQLite, 3.24 or newer
    Sqlite,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a command while holding a lock
    Lock(LockArgs),
    /// Run a command while leading; stand by while another leads
    Elect(ElectArgs),
    /// Print the events of locks as they happen
    #[command(after_help = "\
Examples:
  tenure watch                          # everything
  tenure watch service_leader --prefix jobs/
  tenure watch -o json | jq -c '.events.events[]?'
  tenure watch --after-revision 4711    # resume after the last seen revision

If a server becomes unavailable, the watch resumes at another one, without gaps or duplicates.")]
    Watch {
        /// The locks to watch [default: all]
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// Watch all locks whose names start with this prefix; may be repeated
        #[arg(long, value_name = "PREFIX")]
        prefix: Vec<String>,
        /// Resume after this revision, instead of starting with the current state
        #[arg(long, value_name = "REVISION", default_value_t = 0)]
        after_revision: u64,
    },
    /// List the locks that are held or waited for
    #[command(after_help = "\
Examples:
  tenure ls
  tenure ls jobs/
  tenure ls -o json | jq -r '.locks[] | select(.waiterCount != \"0\") | .name'

On a narrow terminal, columns are truncated or omitted; in a pipe the output is complete.")]
    Ls {
        /// Only names that start with this prefix
        #[arg(default_value = "")]
        prefix: String,
    },
    /// Show one lock: its holder and its queue
    #[command(after_help = "\
Examples:
  tenure get service_leader
  # The metadata that the leader publishes
  tenure get service_leader -o json | jq -r '.lock.holders[0].metadata.addr'")]
    Get {
        /// The lock
        name: String,
    },
    /// Show the past holds of a lock, and why they ended
    #[command(after_help = "\
Examples:
  tenure history service_leader
  tenure history nightly -n 1000
  tenure history nightly -o json | jq '.entries[].hold | [.owner, .endReason]'

PAUSE is the longest time without a renewal of the holder's session. If it is close to the TTL, the holder was about \
to lose the lock. A value shown as - was dropped from history (see history_retention of tenured) or is known only to \
another server. Times are UTC.")]
    History {
        /// The lock
        name: String,
        /// The maximum number of past holds, in addition to the current ones
        #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 20,
              value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
    },
    /// Explain the state of a lock: holder, waiters and causes
    #[command(after_help = "\
Examples:
  tenure why service_leader
  tenure why nightly -o json | jq .waiters

Shows the holder and its renewals, the waiters and their blockers; or why the lock is not held; and the latest \
history. Times are UTC.")]
    Why {
        /// The lock
        name: String,
    },
    /// Members with a leader, a config, and an assignment for each
    #[command(subcommand)]
    Group(GroupCommand),
    /// List the open sessions, or show one
    #[command(after_help = "\
Examples:
  tenure sessions
  tenure sessions worker-7
  tenure sessions -o json | jq -r '.sessions[] | [.id, .owner] | @tsv'")]
    Sessions {
        /// Show this session with all its claims
        id: Option<String>,
    },
    /// Acquire a lock for a session and return (`lock` is simpler)
    Acquire(AcquireArgs),
    /// Renew a session once
    #[command(after_help = "\
Examples:
  tenure renew worker-7
  tenure renew $(hostname) -o json | jq -r .ttl

A renewal extends the session, with all its claims and memberships, by the TTL.")]
    Renew {
        /// The session
        id: String,
    },
    /// Release a hold
    #[command(after_help = "\
Examples:
  tenure release nightly --session $(hostname) --token 42
  # With the token that `acquire` printed
  token=$(tenure acquire job --session me --ttl 1m -o json | jq -r .token)
  tenure release job --session me --token \"$token\"

Only the holder can release a hold; others use `tenure close` and `tenure evict`.")]
    Release {
        /// The lock, or one of the names of the hold
        name: String,
        /// The session that holds it
        #[arg(long = "session", visible_alias = "session-id", value_name = "ID")]
        session: String,
        /// The fencing token of the hold
        #[arg(long)]
        token: u64,
    },
    /// End a session, with all its claims
    #[command(after_help = "\
Examples:
  tenure close worker-7
  # All sessions of a dead host
  tenure sessions -o json | jq -r '.sessions[] | select(.owner==\"host-a\").id' |
    while read -r id; do tenure close \"$id\"; done")]
    Close {
        /// The session
        id: String,
    },
    /// Hand a lock over to a waiter, without a gap
    Transfer(TransferArgs),
    /// End a hold without waiting for its holder
    #[command(after_help = "\
Examples:
  tenure evict nightly --note 'host is dead'
  # Only this hold, and not a later one
  tenure evict nightly --token 42 --note 'host is dead'

The holder is notified at once, but may still be running: make sure that it has ended, or that the resource checks \
the fencing token. Prefer `tenure close` for a dead session, and `tenure transfer` for a healthy holder.")]
    Evict {
        /// The lock
        name: String,
        /// Evict only the hold with this fencing token [default: any]
        #[arg(long, default_value_t = 0)]
        token: u64,
        #[command(flatten)]
        by: OperatorArgs,
    },
    /// Set a lock's limit of permits, and whether waiters preempt
    Set(SetArgs),
    /// List the waiters, their blockers, and deadlocks
    #[command(after_help = "\
Examples:
  tenure blocked
  tenure blocked --deadlocks || alert 'sessions wait for each other'

In a deadlock, sessions wait for each other in a cycle, which lasts until one of them ends: `tenure close SESSION`. \
Acquiring all locks in one `tenure lock A B` avoids deadlocks.")]
    Blocked {
        /// Only claims in a deadlock; exits with 1 if there are any
        #[arg(long)]
        deadlocks: bool,
    },
    /// List the servers, and the number of sessions of each
    #[command(after_help = "\
Examples:
  tenure servers
  tenure servers -o json | jq -r '.servers[] | select(.dead) | .label'")]
    Servers,
    /// Watch the namespace: holders, waiters, late renewals
    #[command(after_help = "\
Examples:
  tenure top
  tenure top --interval 5 --rows 40
  tenure top --once -o json | jq .servers

Only a session's home server knows its renewals: pass all servers in --endpoints to see all of them.")]
    Top {
        /// The refresh interval: 2, 500ms (at least 100ms)
        #[arg(long, value_parser = values::duration, default_value = "1s", value_name = "DURATION")]
        interval: Duration,
        /// The maximum number of rows of each table
        #[arg(long, default_value_t = 15)]
        rows: usize,
        /// Print the state once and exit, as in a pipe
        #[arg(long)]
        once: bool,
    },
    /// Check connections, health, the write path and clocks
    #[command(after_help = "\
Examples:
  tenure doctor
  tenure --endpoints db1:7420,db2:7420,db3:7420 doctor
  tenure doctor -o json | jq .healthy

Each endpoint is checked separately, with a scratch lock (tenure-doctor/...) that is acquired, renewed and released. \
Calls that the server's policy denies are not checked. Exits with 1 if a check failed, and with 69 if no server was \
reachable.")]
    Doctor,
    /// Print the SQL with which your database rejects stale tokens
    #[command(after_help = "\
Examples:
  tenure fence-sql postgres | psql -v ON_ERROR_STOP=1 \"$DATABASE_URL\"
  tenure fence-sql mysql | mysql your_database    # or mariadb
  tenure fence-sql sqlite | sqlite3 -bail your.db
  tenure fence-sql postgres > migrations/0007_tenure_fence.sql

Each transaction that a lock protects then starts with a call with the lock and the fencing token of the hold, which \
fails if a newer holder has made a call (MySQL: CALL, SQLite: an INSERT):

  SELECT tenure_fence('nightly-report', 33);

Usage, errors and removal are described at the top of the script. It needs no Tenure server, and may be installed \
repeatedly: it keeps the recorded tokens.")]
    FenceSql {
        /// The kind of database
        dialect: FenceDialect,
    },
    /// Print the most useful commands on one screen
    #[command(after_help = "\
Examples:
  tenure cheat
  tenure cheat -o json | jq -r '.groups[].lines[].command'")]
    Cheat,
    /// Print the meaning of each exit code
    #[command(after_help = "\
Examples:
  tenure exit-codes
  tenure help exit-codes
  tenure exit-codes -o json | jq -r '.exitCodes[] | [.code, .name] | @tsv'",
              long_about = format!("The meaning of each exit code\n\n{}", exit::help()))]
    ExitCodes,
    /// Print the output of each command with `--output json`
    #[command(after_help = "\
Examples:
  tenure json
  tenure json -o json | jq -r '.commands[] | [.command, .message] | @tsv'

Names are those of the API (proto/tenure/v1) in JSON: lowerCamelCase, 64-bit numbers as strings, durations as \
\"1.5s\", times in RFC 3339. Every field is present, even with its default value, except unset messages. In a pipe \
each result is one line. Errors are JSON on the standard error: {\"error\": {\"exitCode\", \"reason\", \"message\", \"next\"}}.")]
    Json,
    /// Print a shell's completion script
    #[command(after_help = "\
Examples:
  tenure completions bash > /usr/share/bash-completion/completions/tenure
  tenure completions zsh > /usr/share/zsh/vendor-completions/_tenure
  tenure completions fish > ~/.config/fish/completions/tenure.fish
  # For the current shell only
  source <(tenure completions bash)")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual, or write its pages to a folder
    #[command(after_help = "\
Examples:
  tenure man | man -l -
  tenure man lock > tenure-lock.1
  # All pages: tenure.1, tenure-lock.1 and so on
  tenure man --dir /usr/local/share/man/man1")]
    Man {
        /// The command of the page [default: tenure itself]
        #[arg(value_name = "COMMAND", conflicts_with = "dir")]
        command: Vec<String>,
        /// Write a page for tenure and one for each command to this folder, which is created if needed
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
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
    fn health_checks_have_defaults() {
        let Command::Elect(elect) = parse("tenure elect --health-cmd true a -- make").unwrap().command else {
            panic!("not an election")
        };
        let health = elect.run.health;
        assert_eq!((health.health_interval, health.health_timeout), (Duration::from_secs(5), Duration::from_secs(5)));
        assert_eq!((health.health_retries, health.health_start_period), (3, Duration::ZERO));
    }

    #[test]
    fn invalid_arguments_are_rejected() {
        for line in [
            "tenure lock a",
            "tenure lock -- make",
            "tenure lock -n -w 5 a -- make",
            "tenure lock --ttl soon a -- make",
            "tenure lock -E 300 a -- make",
            "tenure lock --health-cmd true --health-interval 0 a -- make",
            "tenure lock --health-cmd true --health-timeout 25h a -- make",
            "tenure lock --health-cmd true --health-start-period never a -- make",
            "tenure elect --health-cmd true --health-retries 0 a -- make",
            "tenure elect --health-retries 2 a -- make",
            "tenure elect --health-cmd= a -- make",
            "tenure lock --shared --permits 2 a -- make",
            "tenure lock --shared --limit 2 a -- make",
            "tenure lock --permits 0 a -- make",
            "tenure lock --on-transfer never a -- make",
            "tenure elect --shared a -- make",
            "tenure acquire a --session s --limit 1000001",
            "tenure set a --limit 2 --no-limit",
            "tenure set a --preempt --no-preempt",
            "tenure set a --settling 1s",
            "tenure set a --drain 1s",
            "tenure transfer a --token x",
            "tenure release a --session s",
            "tenure history",
            "tenure history a --limit 0",
            "tenure why a b",
            "tenure ls --output yaml",
            "tenure ls --endpoints nowhere:0",
        ] {
            let error = parse(line).expect_err(line);
            assert_ne!(error.kind(), ErrorKind::DisplayHelp, "{line}");
            assert_eq!(error.exit_code(), i32::from(exit::USAGE), "{line}");
        }
    }

    #[test]
    fn help_lists_the_exit_codes() {
        let help = Cli::command().render_long_help().to_string();
        for code in [exit::UNAVAILABLE, exit::REFUSED, exit::HOLD_LOST, exit::NOT_FOUND] {
            assert!(help.contains(&format!("{code}  ")), "{code} is missing in:\n{help}");
        }
    }
}
