//! The arguments of `tenure group`.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::values;

/// `tenure group`.
#[derive(Debug, Subcommand)]
pub enum GroupCommand {
    /// List the groups that have members or a config
    Ls(GroupLsArgs),
    /// Show one group: its leader, its config, its members and what is assigned to them
    Get(GroupNameArgs),
    /// Set the value that a group shares
    Set(GroupSetArgs),
    /// Clear the value that a group shares
    Clear(GroupClearArgs),
    /// Be a member of a group, and print what is assigned to it, a line each time that this changes
    Join(GroupJoinArgs),
    /// Print what happens to groups, as it happens
    Watch(GroupWatchArgs),
}

/// `tenure group ls`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure group ls
  tenure group ls prod/
  tenure group ls -o json | jq -r '.groups[].name'")]
pub struct GroupLsArgs {
    /// Only names that start with this
    #[arg(default_value = "")]
    pub prefix: String,
}

/// `tenure group get`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure group get throughput
  tenure group get throughput -o json | jq -r '.group.members[].assignment'")]
pub struct GroupNameArgs {
    /// The group
    pub name: String,
}

/// `tenure group set`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure group set throughput 1000
  # Only if nobody has changed it since revision 42
  tenure group set throughput 900 --expect 42
  # From the standard input
  tenure group set routes - < routes.json

The leader computes the assignments anew. It exits with 1 if the config is not the expected one.")]
pub struct GroupSetArgs {
    /// The group
    pub name: String,
    /// The value, at most 65536 bytes; - reads it from the standard input
    #[arg(allow_hyphen_values = true)]
    pub value: String,
    /// Only if the config that is there is that of this revision; 0: only if there is none [default: in any case]
    #[arg(long, value_name = "REVISION")]
    pub expect: Option<u64>,
}

/// `tenure group clear`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure group clear throughput
  # Only if nobody has changed it since revision 42
  tenure group clear throughput --expect 42

Members stay, and the leader computes the assignments anew, without a config. It exits with 1 if the config is not the \
expected one.")]
pub struct GroupClearArgs {
    /// The group
    pub name: String,
    /// Only if the config that is there is that of this revision [default: in any case]
    #[arg(long, value_name = "REVISION")]
    pub expect: Option<u64>,
}

/// `tenure group join`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # On every host: whoever leads divides the config among the members;
  # each prints its share
  tenure group join throughput --assign ./divide
  # The same, where other programs of the group can lead
  tenure group join throughput | while read -r share; do ./limit \"$share\"; done

The member that has been there longest leads, and must assign something to every member, or nobody gets anything. With \
--assign, CMD is run (by sh -c) whenever this member leads and members or config have changed. It finds the group as JSON on \
its standard input, and prints a line for each member: the member's number, a space, and what is assigned to it. For example:

  jq -r '((.config | tonumber) / (.members | length) | floor) as $share
         | .members[] | \"\\(.number) \\($share)\"'

An empty line is printed when the membership is lost: then the others go on without this member. It joins again, as a new \
member, and goes on until it is asked to end.")]
pub struct GroupJoinArgs {
    /// The group
    pub name: String,
    /// How the leader computes what each member is assigned
    #[arg(long, value_name = "CMD")]
    pub assign: Option<String>,
    /// How long the membership outlives this process and its network. Renewed at a third of it
    #[arg(long, value_name = "DURATION", value_parser = values::duration, default_value = "10s")]
    pub ttl: Duration,
    /// Who this is, for people [default: the host's name]
    #[arg(long)]
    pub owner: Option<String>,
    /// What to attach to the membership, for the leader to read; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = values::key_value)]
    pub metadata: Vec<(String, String)>,
    /// Say nothing but the assignments
    #[arg(short, long)]
    pub quiet: bool,
}

/// `tenure group watch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure group watch throughput
  tenure group watch throughput -o json | jq -c '.events.groups[]?'

It goes on with another server when one goes away, without a gap and without telling anything twice.")]
pub struct GroupWatchArgs {
    /// The groups to watch, at most 100
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// Go on after this revision instead of beginning with how things are
    #[arg(long, value_name = "REVISION", default_value_t = 0)]
    pub after_revision: u64,
}
