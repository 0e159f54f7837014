//! Command line of the model checker.

use std::fmt::Debug;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use tenure_model::calls;
use tenure_model::check::{Report, check};
use tenure_model::flaw::{self, Flaw};
use tenure_model::limits::{Budget, Limits};

/// Looks at everything that can happen in a model of the protocol within these bounds.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    other: Option<Other>,
    /// How many servers
    #[arg(long, default_value_t = 2)]
    servers: u8,
    /// How many clients
    #[arg(long, default_value_t = 2)]
    clients: u8,
    /// How long it lasts, in ticks
    #[arg(long, default_value_t = 3)]
    ticks: u8,
    /// For how long at the end nothing goes wrong, in ticks
    #[arg(long, default_value_t = 0)]
    calm: u8,
    /// The TTL of a session, in ticks
    #[arg(long, default_value_t = 2)]
    ttl: u8,
    /// How long a server may be silent, in ticks
    #[arg(long, default_value_t = 2)]
    lease: u8,
    /// By how many ticks a server's clock may run ahead
    #[arg(long, default_value_t = 0)]
    drift: u8,
    /// Time passes only when all is done that can be; then what comes about in the end is looked at, too
    #[arg(long)]
    prompt: bool,
    /// Sessions are renewed by calls to whatever server
    #[arg(long)]
    calls: bool,
    /// Nobody has asked for the lock yet
    #[arg(long)]
    fresh: bool,
    /// How many renewals and heartbeats may take long
    #[arg(long, default_value_t = 0)]
    slow: u8,
    /// How often a client moves without need
    #[arg(long, default_value_t = 0)]
    moves: u8,
    /// How often a holder releases
    #[arg(long, default_value_t = 0)]
    releases: u8,
    /// How many clients die
    #[arg(long, default_value_t = 0)]
    client_crashes: u8,
    /// How many servers die
    #[arg(long, default_value_t = 0)]
    server_crashes: u8,
    /// How many servers start again
    #[arg(long, default_value_t = 0)]
    restarts: u8,
    /// Of how many appends the outcome is not told
    #[arg(long, default_value_t = 0)]
    unknowns: u8,
    /// How many appends are turned away
    #[arg(long, default_value_t = 0)]
    unavailables: u8,
    /// How many heartbeats or their answers are lost
    #[arg(long, default_value_t = 0)]
    lost_heartbeats: u8,
    /// How often another database takes over
    #[arg(long, default_value_t = 0)]
    failovers: u8,
    /// How many batches are lost with that
    #[arg(long, default_value_t = 0)]
    lost_batches: u8,
    /// Bring in a flaw, which is to be found
    #[arg(long, value_parser = flaw::parse)]
    flaw: Option<Flaw>,
    /// How many threads; as many as there are cores unless said otherwise
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
    /// Let an Acquire also be one that does not wait
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
    /// The number of calls that are left by their clients
    #[arg(long, default_value_t = 0)]
    leaves: u8,
    /// The number of commands that a server passes to another one
    #[arg(long, default_value_t = 0)]
    passes: u8,
    /// The number of answers that are lost
    #[arg(long, default_value_t = 0)]
    losses: u8,
    /// The number of waits whose time is up
    #[arg(long, default_value_t = 0)]
    timeouts: u8,
    /// The number of sessions that expire
    #[arg(long, default_value_t = 0)]
    expiries: u8,
    /// The number of servers that crash
    #[arg(long, default_value_t = 0)]
    crashes: u8,
    /// The number of times that a server loads its table anew
    #[arg(long, default_value_t = 0)]
    reloads: u8,
    /// Add a flaw, which is to be found
    #[arg(long, value_parser = calls::flaw::parse)]
    flaw: Option<calls::flaw::Flaw>,
    /// The number of threads; one for each core by default
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
                passes: self.passes,
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
