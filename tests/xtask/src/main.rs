//! `cargo xtask`: the one door for developers.
mod generate;

use clap::{Parser, Subcommand};

/// Everything a developer of Tenure runs.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Generates the Rust code of the contract from proto/, without a system protoc.
    Generate,
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().task {
        Task::Generate => generate::write(&generate::generated_folder()),
    }
}
