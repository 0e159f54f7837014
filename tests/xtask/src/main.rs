//! `cargo xtask`: the one door for developers.
mod bench;
mod contract;
mod generate;
mod packages;
mod programs;
mod readme;
mod stages;

use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use crate::programs::cargo;
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
    /// Checks everything, with all the set-up that this takes on a fresh machine.
    Test {
        /// Only this stage. May be given several times.
        #[arg(long, value_enum, value_name = "STAGE")]
        only: Vec<Stage>,
    },
    /// Checks the form: format, lints, generated code and contract.
    Lint,
    /// Tests real Tenure processes against real databases, in the long form.
    E2e {
        /// How often each scenario with chance in it is tried.
        #[arg(long, default_value_t = 50)]
        tries: u32,
        /// Only tests whose name contains this.
        name: Option<String>,
    },
    /// Simulates servers and clients under faults, in the long form: each seed is one run, and always the same one.
    Sim {
        /// The simulation's own arguments: `--help` tells them.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
        arguments: Vec<String>,
    },
    /// Measures Tenure beside its peers, in release builds: see tests/bench/README.md.
    Bench {
        /// The bench's own arguments: `--help` tells them.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
        arguments: Vec<String>,
    },
    /// Generates the Rust code of the contract from proto/, without a system protoc.
    Generate,
    /// Makes the contract as it is now the one that later changes must not break: proto/image.binpb.
    Image,
}

/// A part of `cargo xtask test`, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Stage {
    /// The databases that the tests start, from Debian's packages where they are missing.
    Packages,
    /// rustfmt.
    Format,
    /// The generated code is what proto/ gives.
    Generated,
    /// The contract is in good form and breaks no client.
    Contract,
    /// clippy, without a warning.
    Clippy,
    /// The programs.
    Build,
    /// The tests of each part, with real databases.
    Unit,
    /// The README's grpcurl lines.
    Readme,
    /// Tests of real processes.
    E2e,
}

impl Stage {
    const FORM: [Self; 4] = [Self::Format, Self::Generated, Self::Contract, Self::Clippy];

    fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Packages => packages::provide(),
            Self::Format => cargo(&["fmt", "--all", "--check"]).run(),
            Self::Generated => generate::check(),
            Self::Contract => contract::check(),
            Self::Clippy => {
                cargo(&["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"]).run()
            }
            Self::Build => cargo(&["build", "--locked", "--workspace", "--bins", "--examples"]).run(),
            Self::Unit => {
                cargo(&["test", "--locked", "--workspace", "--exclude", "tenure-e2e", "--no-fail-fast"]).run()
            }
            Self::Readme => readme::check(),
            Self::E2e => e2e(None, None),
        }
    }
}

/// One at a time: they measure how long things take.
fn e2e(tries: Option<u32>, name: Option<&str>) -> anyhow::Result<()> {
    let mut command = cargo(&["test", "--locked", "--package", "tenure-e2e", "--no-fail-fast"]);
    command.args(name).args(["--", "--test-threads=1"]);
    if let Some(tries) = tries {
        command.env("TENURE_E2E_TRIES", &tries.to_string());
    }
    command.run()
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
        Task::Test { only } => {
            let all = Stage::value_variants().iter().copied();
            stages_of(all.filter(|stage| only.is_empty() || only.contains(stage)))
        }
        Task::Lint => stages_of(Stage::FORM),
        Task::E2e { tries, name } => {
            Stage::Build.run()?;
            e2e(Some(tries), name.as_deref())
        }
        Task::Sim { arguments } => {
            let mut run = cargo(&["run", "--locked", "--profile", "sim", "--package", "tenure-sim", "--"]);
            run.args(&arguments);
            run.run()
        }
        Task::Bench { arguments } => bench::run(&arguments),
        Task::Generate => generate::write(&generate::generated_folder()),
        Task::Image => contract::write_image(),
    }
}

fn stages_of(stages: impl IntoIterator<Item = Stage>) -> anyhow::Result<()> {
    let mut run = Stages::default();
    for stage in stages {
        let name = stage.to_possible_value().map_or_else(String::new, |value| value.get_name().to_string());
        run.stage(&name, || stage.run());
    }
    run.finish()
}
