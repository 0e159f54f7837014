//! `cargo xtask`: the entry point of all developer tasks.
mod apart;
mod bench;
mod beside;
mod chart;
mod check;
mod clients;
mod console;
mod container;
mod contract;
mod deny;
mod deploy;
mod engines;
mod excerpt;
mod fuzz;
mod generate;
mod modules;
mod monitoring;
mod mutants;
mod packages;
mod pages;
mod programs;
mod readme;
mod release;
mod snippets;
mod stages;
mod upgrade;
mod words;

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::apart::Apart;
use crate::beside::Beside;
use crate::programs::{cargo, linted, program, root};
use crate::stages::Stages;

/// Everything a developer of Tenure runs.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Checks everything, with all the set-up that this needs on a fresh machine.
    Test {
        /// Only this stage. May be given several times.
        #[arg(long, value_enum, value_name = "STAGE")]
        only: Vec<Stage>,
    },
    /// Checks the form (format, generated code, contract, imports and words), and lints and runs the tests of what has
    /// changed: for daily work.
    Check,
    /// Tests real Tenure processes against real databases, in the long form.
    E2e {
        /// How often each scenario with chance in it is tried.
        #[arg(long, default_value_t = 50)]
        tries: u32,
        /// Only tests whose name contains this.
        name: Option<String>,
    },
    /// Simulates servers and clients under faults, in the long form: each seed is one run, and always the same one.
    Sim(Passed),
    /// Cuts the power of the databases' disks right after clients were answered, and looks whether anything is lost.
    ///
    /// For example `--cuts 200 --store postgres`.
    Power(Passed),
    /// Checks a model of the protocol, all of it within bounds, in the long form.
    Model(Passed),
    /// Changes the core in every small way, and lists the changes that no test of it detects.
    ///
    /// For example `--file server/core/src/home.rs`.
    Mutants(Passed),
    /// Tries each fuzz target with any bytes that a fuzzer comes up with, in the long form: see tests/hostile/fuzz/README.md.
    Fuzz(fuzz::Fuzzing),
    /// Lets faults that follow from a seed hit real servers, clients and databases, in the long form.
    Chaos(Passed),
    /// Kills the database that takes the writes under load, again and again, and has another take over.
    Failover(Passed),
    /// Runs the tests that depend on a database with each version of the databases, and prints a table.
    Engines(engines::Engines),
    /// Replaces servers of an earlier version by this one, and back, one after the other under load.
    Upgrade(upgrade::Upgrade),
    /// Attacks a server in many ways: only the attacker may be affected.
    Abuse {
        /// In the long form: more of everything, of a release build.
        #[arg(long)]
        long: bool,
        /// Only attacks whose name contains this.
        name: Option<String>,
    },
    /// Offers a server three times what it can take, in a release build: who holds something must not notice.
    ///
    /// For example `--store postgres --seconds 30`.
    Overload(Passed),
    /// Has three servers do a bit of everything for an hour, in a release build: they must not grow.
    ///
    /// For example `--minutes 10 --report soak.json`.
    Soak(Passed),
    /// Checks the clients in other languages: form, types, tests and packages of each.
    Clients {
        /// Only these, such as `go`. Default: all.
        only: Vec<String>,
    },
    /// Plays the scenarios against every client, and prints a line for each.
    ///
    /// For example `--client go --scenario lock-min-hold`.
    Scenarios(Passed),
    /// Measures Tenure beside its peers, in release builds: see tests/performance/bench/README.md.
    Bench(Passed),
    /// Checks the licences and sources of all dependencies, that none is banned, and, where the list of them can be
    /// had, that no weakness of one is known: by cargo-deny, which is built for it. Also compiles the Rust client
    /// without TLS.
    Deny,
    /// Builds the container image from scratch, runs it without rights and with nothing to write to but its data, and
    /// takes a lock in it. As root, by buildah.
    Container(container::Container),
    /// Makes a release of the last commit in `target/release-VERSION`: programs, packages of the clients, chart and
    /// contract. Installs each part where nothing else of Tenure is, and uses it.
    Release(release::Release),
    /// Makes this the version of the tree, wherever it is repeated.
    Version {
        /// Such as `1.2.3` or `1.2.3-rc.1`.
        version: String,
    },
    /// Generates the Rust code of the contract from proto/, without a system protoc, and what pages have of examples
    /// and tables.
    Generate,
    /// Makes the contract as it is now the one that later changes must not break: proto/image.binpb.
    Image,
}

#[derive(Args)]
struct Passed {
    /// The program's own arguments: `--help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<String>,
}

/// A part of `cargo xtask test`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Stage {
    /// The databases that the tests start, from Debian's packages where they are missing.
    Packages,
    /// rustfmt.
    Format,
    /// The generated code is what proto/ gives, the code in pages what the examples have, and what pages refer to is
    /// there.
    Generated,
    /// The contract is in good form and breaks no client.
    Contract,
    /// The modules of each crate import each other in one direction.
    Modules,
    /// Comments, identifiers, texts and pages are in plain technical English: without banned words.
    Words,
    /// The programs and the tests, with clippy and without a warning.
    Build,
    /// The tests of each part, with real databases.
    Unit,
    /// The shell snippets of the README and the other pages, and the contract's program in C++, against real servers.
    Readme,
    /// Tests of real processes.
    E2e,
    /// The clients in other languages: their forms, tests and packages.
    Clients,
    /// The packages of the clients, the chart and the contract, as a release has them.
    Release,
    /// The programs that make the clients in other languages available to the scenarios and to chaos.
    Drivers,
    /// The licences and sources of the dependencies, that none is banned, and that the Rust client needs no TLS.
    Deny,
    /// The rules for alerts, and their tests.
    Monitoring,
    /// What is shipped to deploy a server: image, compose files, balancer, systemd unit. None of them is run.
    Deploy,
    /// The Helm chart, rendered without a cluster.
    Chart,
    /// What MySQL is asked, read by a parser other than MariaDB's.
    Dialects,
    /// The console, in a browser.
    Console,
    /// The scenarios, played against all clients, in their short form, by the drivers as `drivers` has built them.
    Scenarios,
    /// Chaos and failover, in their short form.
    Chaos,
    /// Attacks, in their short form.
    Abuse,
    /// Overload and soak, in their short form.
    Load,
}

impl Stage {
    const FORM: [Self; 5] = [Self::Format, Self::Generated, Self::Contract, Self::Modules, Self::Words];

    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_string())
    }

    fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Packages => packages::provide(),
            Self::Format => cargo(&["fmt", "--all", "--check"]).run(),
            Self::Generated => generate::check().and_then(|()| snippets::check()).and_then(|()| pages::check()),
            Self::Contract => contract::check(),
            Self::Modules => modules::check(),
            Self::Words => words::check(),
            Self::Deny => deny::check(),
            // Built all at once, whichever parts are needed: for single packages cargo would select other features, and
            // rebuild most of it.
            Self::Build => linted(&["build", "--locked", "--workspace", "--all-targets"]).run(),
            Self::Monitoring => monitoring::check(),
            Self::Deploy => deploy::check(),
            Self::Chart => chart::check(),
            Self::Dialects => program(root().join("tests/static/dialects/check")).run(),
            Self::Console => console::check(),
            Self::Unit => {
                let mut command = linted(&["test", "--locked", "--workspace", "--no-fail-fast"]);
                for apart in ["tenure-e2e", "tenure-chaos", "tenure-abuse", "tenure-load"] {
                    command.args(["--exclude", apart]);
                }
                command.run()
            }
            Self::Readme => readme::check(),
            Self::E2e => e2e(None, None),
            Self::Clients => clients::check(&[]),
            Self::Release => release::check(),
            Self::Drivers => built("tenure-scenarios", &["--only-build".to_owned()]),
            Self::Scenarios => built("tenure-scenarios", &["--short", "--no-build"].map(str::to_owned)),
            Self::Chaos => Apart::build("tests/faults/chaos")?.run(&[], &[LANGUAGES]),
            Self::Abuse => abuse(None),
            Self::Load => Apart::build("tests/performance/load")?.run(&[], &[]),
        }
    }
}

/// Enables the clients in other languages, whose drivers an earlier stage has built.
const LANGUAGES: (&str, &str) = ("TENURE_CHAOS_LANGUAGES", "go,python,typescript,java");

fn e2e(tries: Option<u32>, name: Option<&str>) -> anyhow::Result<()> {
    let tries = tries.map(|tries| tries.to_string());
    // Most of their time, they wait for what a server does after a time.
    let mut environment = vec![("RUST_TEST_THREADS", "4")];
    environment.extend(tries.iter().map(|tries| ("TENURE_E2E_TRIES", tries.as_str())));
    Apart::build("tests/blackbox/e2e")?.run(name.as_slice(), &environment)
}

fn abuse(name: Option<&str>) -> anyhow::Result<()> {
    // Most of their time, they wait for a time limit.
    Apart::build("tests/hostile/abuse")?.run(name.as_slice(), &[("RUST_TEST_THREADS", "3")])
}

/// Against a release build, since the load is ten times as high.
fn abuse_at_length(name: Option<&str>) -> anyhow::Result<()> {
    cargo(&["build", "--locked", "--release", "--package", "tenure-server", "--bins"]).run()?;
    let server = root().join("target/release/tenured");
    let environment = [("TENURE_ABUSE_LONG", "1"), ("TENURED_BIN", &*server.to_string_lossy())];
    Apart::build("tests/hostile/abuse")?.run(name.as_slice(), &environment)
}

/// With optimizations, since these runs go through many states.
fn explore(package: &str, arguments: &[String]) -> anyhow::Result<()> {
    cargo(&["run", "--locked", "--profile", "sim", "--package", package, "--"]).args(arguments).run()
}

fn built(name: &str, arguments: &[String]) -> anyhow::Result<()> {
    packages::provide()?;
    Stage::Build.run()?;
    program(root().join("target/debug").join(name)).args(arguments).run()
}

fn chaos(run: &str, arguments: &[String]) -> anyhow::Result<()> {
    Stage::Build.run()?;
    program(root().join("target/debug/tenure-chaos")).args([run]).args(arguments).run()
}

/// With release builds, since these runs are about load.
fn load(run: &str, arguments: &[String]) -> anyhow::Result<()> {
    packages::provide()?;
    cargo(&["build", "--locked", "--release", "--package", "tenure-server", "--package", "tenure-load", "--bins"])
        .run()?;
    program(root().join("target/release/tenure-load")).args([run]).args(arguments).run()
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cargo xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<()> {
    match Arguments::parse().task {
        Task::Test { only } if only.is_empty() => test(),
        Task::Test { only } => stages_of(Stage::value_variants().iter().copied().filter(|stage| only.contains(stage))),
        Task::Check => check(),
        Task::E2e { tries, name } => {
            Stage::Build.run()?;
            e2e(Some(tries), name.as_deref())
        }
        Task::Sim(passed) => explore("tenure-sim", &passed.arguments),
        Task::Power(passed) => built("tenure-power", &passed.arguments),
        Task::Model(passed) => explore("tenure-model", &passed.arguments),
        Task::Mutants(passed) => mutants::run(&passed.arguments),
        Task::Chaos(passed) => chaos("chaos", &passed.arguments),
        Task::Fuzz(fuzzing) => fuzz::run(&fuzzing),
        Task::Failover(passed) => chaos("failover", &passed.arguments),
        Task::Engines(engines) => {
            packages::provide()?;
            engines::run(&engines)
        }
        Task::Upgrade(upgrade) => {
            Stage::Build.run()?;
            upgrade::run(&upgrade)
        }
        Task::Abuse { long, name } => {
            Stage::Build.run()?;
            if long { abuse_at_length(name.as_deref()) } else { abuse(name.as_deref()) }
        }
        Task::Overload(passed) => load("overload", &passed.arguments),
        Task::Soak(passed) => load("soak", &passed.arguments),
        Task::Clients { only } => {
            packages::provide()?;
            Stage::Build.run()?;
            clients::check(&only)
        }
        Task::Scenarios(passed) => built("tenure-scenarios", &passed.arguments),
        Task::Bench(passed) => bench::run(&passed.arguments),
        Task::Deny => deny::check_by_cargo_deny(),
        Task::Container(options) => container::check(&options),
        Task::Release(options) => release::make(&options),
        Task::Version { version } => release::version::set(&version),
        Task::Generate => generate::write(&generate::generated_folder()).and_then(|()| snippets::write()),
        Task::Image => contract::write_image(),
    }
}

/// Stages that run one after the other, beside other lanes. A lane with a higher niceness yields more.
type Lane = (&'static [Stage], u8);

/// The steps of a whole run. Each has lanes that run beside each other: installing waits for the network, and most
/// tests wait most of their time. The output of the first lane is shown as it comes. Scenarios and chaos run the same
/// drivers, which are built before both; abuse and load fill the machine themselves.
const STEPS: [&[Lane]; 4] = [
    &[(&[Stage::Format, Stage::Generated, Stage::Modules, Stage::Words, Stage::Build], 0), (&[Stage::Packages], 0)],
    &[
        (&[Stage::Unit], 0),
        (&[Stage::Readme, Stage::E2e], 0),
        (&[Stage::Contract, Stage::Clients, Stage::Release, Stage::Drivers], 0),
        (&[Stage::Chart, Stage::Dialects], 5),
        (&[Stage::Deny, Stage::Monitoring, Stage::Deploy, Stage::Console], 5),
    ],
    &[(&[Stage::Chaos], 0), (&[Stage::Scenarios], 0)],
    &[(&[Stage::Abuse, Stage::Load], 0)],
];

fn test() -> anyhow::Result<()> {
    let mut run = Stages::default();
    for lanes in STEPS {
        let Some(((shown, _), others)) = lanes.split_first() else { continue };
        let others: Vec<_> = others.iter().map(|(stages, nice)| (*stages, Beside::test(stages, *nice))).collect();
        let mut is_built = true;
        for stage in *shown {
            let passed = run.stage(&stage.name(), || stage.run());
            is_built &= passed || *stage != Stage::Build;
        }
        for (stages, started) in others {
            let names: Vec<String> = stages.iter().map(|stage| stage.name()).collect();
            run.stage(&names.join(", "), || started?.finish());
        }
        if !is_built {
            // All later ones would only repeat why.
            break;
        }
    }
    run.finish()
}

fn check() -> anyhow::Result<()> {
    let mut run = Stages::default();
    for stage in Stage::FORM {
        run.stage(&stage.name(), || stage.run());
    }
    run.stage("tests", check::tests);
    run.finish()
}

fn stages_of(stages: impl IntoIterator<Item = Stage>) -> anyhow::Result<()> {
    let mut run = Stages::default();
    for stage in stages {
        run.stage(&stage.name(), || stage.run());
    }
    run.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_run_has_every_stage_once() {
        let lanes = STEPS.iter().copied().flatten();
        let mut run: Vec<Stage> = lanes.flat_map(|(stages, _)| *stages).copied().collect();
        run.sort_by_key(|stage| *stage as u8);
        assert_eq!(run, Stage::value_variants());
    }
}
