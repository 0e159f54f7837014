//! The binary `tenure`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tenure_cli::main()
}
