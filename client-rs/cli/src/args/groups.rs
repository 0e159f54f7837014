//! The arguments of `tenure group`.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::values;

#[derive(Debug, Subcommand)]
pub enum GroupCommand {
    /// List the groups that have members or a config
    #[command(after_help = "\
Examples:
  tenure group ls
  tenure group ls prod/
  tenure group ls -o json | jq -r '.groups[].name'")]
    Ls {
        /// Only names that start with this prefix
        #[arg(default_value = "")]
        prefix: String,
    },
    /// Show one group: its leader, config, members and assignments
    #[command(after_help = "\
Examples:
  tenure group get throughput
  tenure group get throughput -o json | jq -r '.group.members[].assignment'")]
    Get {
        /// The group
        name: String,
    },
    /// Set the config of a group
    #[command(after_help = "\
Examples:
  tenure group set throughput 1000
  # Only if it has not changed since revision 42
  tenure group set throughput 900 --expect 42
  # From the standard input
  tenure group set routes - < routes.json

The leader recomputes the assignments. Exits with 1 if the config is not the expected one.")]
    Set {
        /// The group
        name: String,
        /// The value, at most 65536 bytes; - reads it from the standard input
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// Only if the current config is that of this revision; 0: only if there is none [default: always]
        #[arg(long, value_name = "REVISION")]
        expect: Option<u64>,
    },
    /// Clear the config of a group
    #[command(after_help = "\
Examples:
  tenure group clear throughput
  # Only if it has not changed since revision 42
  tenure group clear throughput --expect 42

Members stay, and the leader recomputes the assignments without a config. Exits with 1 if the config is not the expected one.")]
    Clear {
        /// The group
        name: String,
        /// Only if the current config is that of this revision [default: always]
        #[arg(long, value_name = "REVISION")]
        expect: Option<u64>,
    },
    /// Join a group, and print the member's assignment, one line per change
    Join(GroupJoinArgs),
    /// Print the events of groups as they happen
    #[command(after_help = "\
Examples:
  tenure group watch throughput
  tenure group watch throughput -o json | jq -c '.events.groups[]?'

If a server becomes unavailable, the watch resumes at another one, without gaps or duplicates.")]
    Watch {
        /// The groups to watch, at most 100
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        /// Resume after this revision, instead of starting with the current state
        #[arg(long, value_name = "REVISION", default_value_t = 0)]
        after_revision: u64,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # On every host: the leader divides the config among the members;
  # each member prints its share
  tenure group join throughput --assign ./divide
  # If other programs of the group can lead
  tenure group join throughput | while read -r share; do ./limit \"$share\"; done

The oldest member leads, and must compute an assignment for every member; otherwise no assignments take effect. With \
--assign, CMD is run (by sh -c) whenever this member leads and members or config have changed. It reads the group as \
JSON from its standard input, and prints a line for each member: the member's number, a space, and its assignment. \
For example:

  jq -r '((.config | tonumber) / (.members | length) | floor) as $share
         | .members[] | \"\\(.number) \\($share)\"'

An empty line is printed when the membership is lost: the other members then continue without this one. It joins \
again, as a new member, until it receives a signal to end.")]
pub struct GroupJoinArgs {
    /// The group
    pub name: String,
    /// The command with which the leader computes the assignments
    #[arg(long, value_name = "CMD")]
    pub assign: Option<String>,
    /// How long the membership outlives this process or its network; it is renewed at a third of this
    #[arg(long, value_name = "DURATION", value_parser = values::duration, default_value = "10s")]
    pub ttl: Duration,
    /// A label of the member, for people [default: the host's name]
    #[arg(long)]
    pub owner: Option<String>,
    /// Metadata of the member, which the leader can read; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = values::key_value)]
    pub metadata: Vec<(String, String)>,
    /// Print only the assignments
    #[arg(short, long)]
    pub quiet: bool,
}
