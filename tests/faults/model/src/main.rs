//! Command line of the model checker.

use std::fmt::Debug;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use tenure_model::calls;
use tenure_model::check::{Report, check};
use tenure_model::flaw::{self, Flaw};
use tenure_model::limits::{Budget, Limits};

/// Explores all behaviours of a model of the protocol within these bounds.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    other: Option<Other>,
    /// Number of servers
    #[arg(long, default_value_t = 2)]
    servers: u8,
    /// Number of clients
    #[arg(long, default_value_t = 2)]
    clients: u8,
    /// Duration, in ticks
    #[arg(long, default_value_t = 3)]
    ticks: u8,
    /// Final period without faults, in ticks
    #[arg(long, default_value_t = 0)]
    calm: u8,
    /// The TTL of a session, in ticks
    #[arg(long, default_value_t = 2)]
    ttl: u8,
    /// Server lease, in ticks
    #[arg(long, default_value_t = 2)]
    lease: u8,
    /// Maximum lead of a server's clock, in ticks
    #[arg(long, default_value_t = 0)]
    drift: u8,
    /// Let time pass only when no other action is possible, and check the properties of the final states, too
    #[arg(long)]
    prompt: bool,
    /// Renew sessions by calls to any server
    #[arg(long)]
    calls: bool,
    /// Start without any request for the lock
    #[arg(long)]
    fresh: bool,
    /// Number of slow renewals and heartbeats
    #[arg(long, default_value_t = 0)]
    slow: u8,
    /// Number of moves of clients without need
    #[arg(long, default_value_t = 0)]
    moves: u8,
    /// Number of releases
    #[arg(long, default_value_t = 0)]
    releases: u8,
    /// Number of clients that crash
    #[arg(long, default_value_t = 0)]
    client_crashes: u8,
    /// Number of servers that crash
    #[arg(long, default_value_t = 0)]
    server_crashes: u8,
    /// Number of servers that restart
    #[arg(long, default_value_t = 0)]
    restarts: u8,
    /// Number of appends of unknown outcome
    #[arg(long, default_value_t = 0)]
    unknowns: u8,
    /// Number of rejected appends
    #[arg(long, default_value_t = 0)]
    unavailables: u8,
    /// Number of lost heartbeats or replies to heartbeats
    #[arg(long, default_value_t = 0)]
    lost_heartbeats: u8,
    /// Number of failovers to another database
    #[arg(long, default_value_t = 0)]
    failovers: u8,
    /// Number of batches lost in failovers
    #[arg(long, default_value_t = 0)]
    lost_batches: u8,
    /// Add a flaw, which must be found
    #[arg(long, value_parser = flaw::parse)]
    flaw: Option<Flaw>,
    /// Number of threads. Default: the number of cores
    #[arg(long)]
    threads: Option<usize>,
}

impl Arguments {
    fn limits(&self) -> Limits {
        Limits {
            servers: self.servers,
            clients: self.clients,
            ticks: self.ticks,
            calm: self.calm,
            ttl: self.ttl,
            lease: self.lease,
            drift: self.drift,
            prompt: self.prompt,
            calls: self.calls,
            begun: !self.fresh,
            budget: Budget {
                slow: self.slow,
                moves: self.moves,
                releases: self.releases,
                client_crashes: self.client_crashes,
                server_crashes: self.server_crashes,
                restarts: self.restarts,
                unknowns: self.unknowns,
                unavailables: self.unavailables,
                lost_heartbeats: self.lost_heartbeats,
                failovers: self.failovers,
                lost_batches: self.lost_batches,
            },
            flaw: self.flaw,
        }
    }
}

/// Another model.
#[derive(Debug, Subcommand)]
enum Other {
    /// Plain calls that are spread over several servers
    Calls(Calls),
}

/// The bounds of the model of plain calls.
#[derive(Debug, Args)]
struct Calls {
    /// The number of servers
    #[arg(long, default_value_t = 2)]
    servers: u8,
    /// The number of clients. The first one holds the lock at the beginning
    #[arg(long, default_value_t = 2)]
    clients: u8,
    /// The number of Acquires of each other client
    #[arg(long, default_value_t = 2)]
    acquires: u8,
    /// Allow Acquires that do not wait
    #[arg(long)]
    tries: bool,
    /// The number of Acquires of the first client
    #[arg(long, default_value_t = 0)]
    again: u8,
    /// The number of releases
    #[arg(long, default_value_t = 0)]
    releases: u8,
    /// The number of cancels
    #[arg(long, default_value_t = 0)]
    cancels: u8,
    /// The number of renewals at a server that is not the home
    #[arg(long, default_value_t = 0)]
    renews: u8,
    /// The number of calls that their clients abandon
    #[arg(long, default_value_t = 0)]
    leaves: u8,
    /// The number of commands that a server forwards to another one
    #[arg(long, default_value_t = 0)]
    forwards: u8,
    /// The number of lost replies
    #[arg(long, default_value_t = 0)]
    losses: u8,
    /// The number of waits that time out
    #[arg(long, default_value_t = 0)]
    timeouts: u8,
    /// The number of sessions that expire
    #[arg(long, default_value_t = 0)]
    expiries: u8,
    /// The number of servers that crash
    #[arg(long, default_value_t = 0)]
    crashes: u8,
    /// The number of times that a server reloads its table
    #[arg(long, default_value_t = 0)]
    reloads: u8,
    /// Add a flaw, which must be found
    #[arg(long, value_parser = calls::flaw::parse)]
    flaw: Option<calls::flaw::Flaw>,
    /// The number of threads. Default: the number of cores
    #[arg(long)]
    threads: Option<usize>,
}

impl Calls {
    fn limits(&self) -> calls::limits::Limits {
        calls::limits::Limits {
            servers: self.servers,
            clients: self.clients,
            acquires: self.acquires,
            tries: self.tries,
            again: self.again,
            budget: calls::limits::Budget {
                releases: self.releases,
                cancels: self.cancels,
                renews: self.renews,
                leaves: self.leaves,
                forwards: self.forwards,
                losses: self.losses,
                timeouts: self.timeouts,
                expiries: self.expiries,
                crashes: self.crashes,
                reloads: self.reloads,
            },
            flaw: self.flaw,
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let threads =
        |asked: Option<usize>| asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    match &arguments.other {
        Some(Other::Calls(calls)) => show(&check(calls.limits(), threads(calls.threads))),
        None => show(&check(arguments.limits(), threads(arguments.threads))),
    }
}

fn show<A: Debug>(report: &Report<A>) -> ExitCode {
    let seconds = report.took.as_secs_f64();
    println!("{} states, at most {} steps deep, in {seconds:.1} s", report.states, report.depth);
    for (name, actions) in &report.broken {
        println!("does not hold: {name}");
        actions.iter().for_each(|action| println!("  {action:?}"));
    }
    if report.broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
