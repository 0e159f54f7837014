//! The command line of Tenure. The binary `tenure` is this library's [`main`]; it is a library for the sake of tests.

mod args;
pub mod child;
mod commands;
pub mod exit;
mod output;
mod pages;
mod rejection;
mod rpc;

use std::process::ExitCode;

use clap::{FromArgMatches, Parser};

pub use args::command;
use args::{Cli, Command, Format, Global, Helper, HelperCli};
use exit::Failure;
use output::Output;
use rpc::Rpc;

/// The environment of a command that calls servers.
struct Context {
    global: Global,
    output: Output,
    rpc: Rpc,
}

impl Context {
    /// The namespace, for a request.
    fn namespace(&self) -> String {
        self.global.namespace.clone()
    }
}

/// Runs the program.
pub fn main() -> ExitCode {
    if HelperCli::is_requested() {
        let HelperCli { global, helper } = HelperCli::parse();
        return end(Output::new(global.output), run_helper(global, helper));
    }
    match command().color(output::help_colours()).try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches))
    {
        Ok(Cli { global, command }) => end(Output::new(global.output), run(global, command)),
        Err(error) if error.use_stderr() && args::wants_json() => end(Output::new(Format::Json), Err(error.into())),
        Err(error) => error.exit(),
    }
}

fn end(output: Output, ended: Result<u8, Failure>) -> ExitCode {
    match ended {
        Ok(code) => code.into(),
        Err(failure) => {
            if !failure.is_closed_pipe() {
                output.failure(&failure);
            }
            failure.code.into()
        }
    }
}

fn run_helper(global: Global, helper: Helper) -> Result<u8, Failure> {
    match helper {
        Helper::Exec(args) => child::exec(&args),
        Helper::Guard(args) => match (child::guard(&args)?, args.session) {
            // Nothing runs under the hold of the killed `tenure` any more, so the next waiter may have it now.
            (true, Some(id)) => run(global, Command::Close { id }),
            _ => Ok(exit::OK),
        },
    }
}

fn run(global: Global, command: Command) -> Result<u8, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::new(exit::REFUSED, format!("cannot start: {error}")))?;
    let ended = runtime.block_on(dispatch(global, command));
    // Background tasks had their chance to finish; do not wait for them.
    runtime.shutdown_background();
    ended
}

async fn dispatch(global: Global, command: Command) -> Result<u8, Failure> {
    let output = Output::new(global.output);
    // Not before the match: commands that need no server must not fail because of the options of connections.
    let context = || -> Result<Context, Failure> {
        let rpc = Rpc::new(global.endpoints.clone(), global.security()?, global.timeout);
        Ok(Context { global, output, rpc })
    };
    match command {
        Command::Lock(args) => commands::lock(&context()?, args).await,
        Command::Elect(args) => commands::elect(&context()?, args).await,
        Command::Watch { names, prefix, after_revision } => {
            commands::watch(&context()?, names, prefix, after_revision).await
        }
        Command::Ls { prefix } => commands::ls(&context()?, &prefix).await,
        Command::Get { name } => commands::get(&context()?, &name).await,
        Command::History { name, limit } => commands::history(&context()?, &name, limit).await,
        Command::Why { name } => commands::why(&context()?, &name).await,
        Command::Group(command) => commands::group(&context()?, command).await,
        Command::Sessions { id } => commands::sessions(&context()?, id).await,
        Command::Acquire(args) => commands::acquire(&context()?, args).await,
        Command::Renew { id } => commands::renew(&context()?, id).await,
        Command::Release { name, session, token } => commands::release(&context()?, name, session, token).await,
        Command::Close { id } => commands::close(&context()?, id).await,
        Command::Transfer(args) => commands::transfer(&context()?, args).await,
        Command::Evict { name, token, by } => commands::evict(&context()?, name, token, by).await,
        Command::Set(args) => commands::set(&context()?, args).await,
        Command::Blocked { deadlocks } => commands::blocked(&context()?, deadlocks).await,
        Command::Servers => commands::servers(&context()?).await,
        Command::Top { interval, rows, once } => commands::top(&context()?, interval, rows, once).await,
        Command::Doctor => commands::doctor(&context()?).await,
        Command::FenceSql { dialect } => commands::fence_sql(output, dialect),
        Command::Cheat => commands::cheat(output),
        Command::ExitCodes => commands::exit_codes(output),
        Command::Json => commands::formats(output),
        Command::Completions { shell } => commands::completions(output, shell),
        Command::Man { command, dir } => commands::man(output, &command, dir.as_deref()),
    }
}
