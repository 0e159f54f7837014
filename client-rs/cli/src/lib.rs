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

use args::{Cli, Command, Format, Global, Helper, HelperCli};
use exit::Failure;
use output::Output;
use rpc::Rpc;

/// The environment of a command.
struct Context {
    global: Global,
    output: Output,
    rpc: Rpc,
}

/// Runs the program.
pub fn main() -> ExitCode {
    if HelperCli::is_requested() {
        let HelperCli { global, helper } = HelperCli::parse();
        let output = Output::new(global.output);
        return end(output, run_helper(global, helper));
    }
    match args::command()
        .color(output::help_colours())
        .try_get_matches()
        .and_then(|matches| Cli::from_arg_matches(&matches))
    {
        Ok(cli) => end(Output::new(cli.global.output), run_offline(cli)),
        Err(error) if error.use_stderr() && args::wants_json() => end(Output::new(Format::Json), Err(error.into())),
        Err(error) => error.exit(),
    }
}

/// The definition of the whole command line, for inspection.
pub fn command() -> clap::Command {
    args::command()
}

/// Runs commands that need no server, without starting a runtime or a client.
fn run_offline(cli: Cli) -> Result<u8, Failure> {
    let output = Output::new(cli.global.output);
    match cli.command {
        Command::FenceSql(args) => commands::fence_sql(output, &args),
        Command::Cheat => commands::cheat(output),
        Command::ExitCodes => commands::exit_codes(output),
        Command::Json => commands::formats(output),
        Command::Completions(args) => commands::completions(output, &args),
        Command::Man(args) => commands::man(output, &args),
        command => run(cli.global, command),
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
            (true, Some(id)) => run(global, Command::Close(args::SessionIdArgs { id })),
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
    let security = global.security()?;
    let rpc = Rpc::new(global.endpoints.clone(), security, global.timeout);
    let context = Context { output: Output::new(global.output), rpc, global };
    match command {
        Command::Lock(args) => commands::lock(&context, args).await,
        Command::Elect(args) => commands::elect(&context, args).await,
        Command::Watch(args) => commands::watch(&context, args).await,
        Command::Ls(args) => commands::ls(&context, args).await,
        Command::Get(args) => commands::get(&context, args).await,
        Command::History(args) => commands::history(&context, args).await,
        Command::Why(args) => commands::why(&context, args).await,
        Command::Group(command) => commands::group(&context, command).await,
        Command::Sessions(args) => commands::sessions(&context, args).await,
        Command::Acquire(args) => commands::acquire(&context, args).await,
        Command::Renew(args) => commands::renew(&context, args).await,
        Command::Release(args) => commands::release(&context, args).await,
        Command::Close(args) => commands::close(&context, args).await,
        Command::Transfer(args) => commands::transfer(&context, args).await,
        Command::Evict(args) => commands::evict(&context, args).await,
        Command::Set(args) => commands::set(&context, args).await,
        Command::Blocked(args) => commands::blocked(&context, args).await,
        Command::Servers => commands::servers(&context).await,
        Command::Top(args) => commands::top(&context, args).await,
        Command::Doctor => commands::doctor(&context).await,
        Command::FenceSql(_)
        | Command::Cheat
        | Command::ExitCodes
        | Command::Json
        | Command::Completions(_)
        | Command::Man(_) => run_offline(Cli { global: context.global, command }),
    }
}
