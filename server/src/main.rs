//! `tenured`, the Tenure server.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, Command, FromArgMatches, Subcommand};

use tenure_server::admin::Admin;
use tenure_server::admin::console::Console;
use tenure_server::config::{Config, Surroundings, load, with_settings};
use tenure_server::node::readiness::Readiness;
use tenure_server::process::signals::Signals;
use tenure_server::process::systemd::SystemdNotifier;
use tenure_server::process::{healthcheck, logging, manual};
use tenure_server::server::Server;
use tenure_server::telemetry::metrics::Metrics;
use tenure_server::telemetry::redact::redacted;
use tenure_server::telemetry::traces::Export;
use tenure_server::{auth, store};
use tikv_jemallocator::Jemalloc;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

/// Batches allocate and free large blocks, on which this allocator spends a fifth less of the server's time than the
/// system's.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// How many tasks a worker runs before it checks the global queue, which holds the tasks that its own queue had no space
/// for. The default is about sixty: calls that arrive faster than they are served would wait there behind all later ones.
const GLOBAL_QUEUE_INTERVAL: u32 = 1;

/// Time limit for the last replies of the admin port.
const ADMIN_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a stop may exceed `drain_timeout` before the process ends anyway.
const MARGIN: Duration = Duration::from_secs(2);

/// The Tenure server: locks and leadership over gRPC, kept in SQLite, PostgreSQL or MySQL.
///
/// Without arguments it keeps its state in an embedded database in the data directory and serves this machine only.
#[derive(Debug, Args)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    task: Option<Task>,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Serve until SIGTERM, SIGINT or SIGQUIT, then drain. SIGHUP reloads certificates, tokens, keys and policy.
    /// The default.
    Serve,
    /// Print the effective settings, without secrets.
    PrintConfig,
    /// Bring the database's tables up to date.
    Migrate {
        /// Change nothing, and fail if a migration is pending.
        #[arg(long)]
        check: bool,
    },
    /// Copy the embedded database to a new file. The server may be running.
    Backup {
        /// The new file. Must not exist.
        file: PathBuf,
    },
    /// Replace the embedded database by a copy, while no server runs. The replaced file is kept.
    Restore {
        /// The copy.
        file: PathBuf,
    },
    /// Mark the database as restored from a backup, so that new tokens exceed all issued tokens.
    ///
    /// Required after a snapshot of a disk or of a virtual machine was restored. A dump that was loaded into new tables
    /// is detected without it, as is another database server or timeline. An unnecessary run only makes watchers start
    /// over.
    MarkRestored,
    /// Create a token: print it, and the line for tokens_file.
    NewToken {
        /// The name of the token's owner: letters, digits, and -_./@:
        name: String,
        /// Add the line to this file, usually tokens_file, and print only the token
        #[arg(long, value_name = "FILE")]
        add_to: Option<PathBuf>,
    },
    /// Succeed if the server with these settings is running and ready.
    Healthcheck,
    /// Print the manual page: `tenured man > tenured.8`.
    Man,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tenured: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<()> {
    let command = Arguments::augment_args(with_settings(Command::new("tenured")));
    // Settings may stand before and after the task.
    let given = command.clone().mut_args(|argument| argument.global(true)).get_matches();
    let arguments = Arguments::from_arg_matches(&given).unwrap_or_else(|error| error.exit());
    let task = arguments.task.unwrap_or(Task::Serve);
    if matches!(task, Task::Man) {
        print!("{}", manual::page(&command)?);
        return Ok(());
    }
    let config = load(&given, &Surroundings::of_this_process())?;
    logging::start(config.settings.log_format, &config.log_level)?;
    match task {
        Task::Serve => runtime(&config)?.block_on(serve(config))?,
        Task::Migrate { check } => runtime(&config)?.block_on(migrate(&config, check))?,
        Task::Backup { file } => {
            runtime(&config)?.block_on(store::back_up(&config.store, &file))?;
            println!("backed up to {}", file.display());
        }
        Task::Restore { file } => match runtime(&config)?.block_on(store::restore(&config.store, &file))? {
            Some(replaced) => println!("restored; the replaced file is now {}", replaced.display()),
            None => println!("restored"),
        },
        Task::MarkRestored => {
            let namespaces = runtime(&config)?.block_on(store::mark_restored(&config.store))?;
            println!("done: new tokens exceed all issued tokens, in {namespaces} namespaces and in all new ones");
        }
        Task::Healthcheck => runtime(&config)?.block_on(healthcheck::check(config.settings.admin_listen))?,
        Task::NewToken { name, add_to } => new_token(&name, add_to.as_deref())?,
        Task::PrintConfig => print!("{config}"),
        Task::Man => {}
    }
    Ok(())
}

/// Starts the runtime, for tasks that need it.
fn runtime(config: &Config) -> anyhow::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(config.worker_threads).global_queue_interval(GLOBAL_QUEUE_INTERVAL).enable_all();
    builder.build().context("cannot start the runtime")
}

async fn serve(config: Config) -> anyhow::Result<()> {
    let mut signals = Signals::stop()?;
    let notices = Signals::notice()?;
    let notifier = SystemdNotifier::from_environment()?;
    let (readiness, shown) = watch::channel(Readiness::Starting);
    let admin_listen = config.settings.admin_listen;
    let metrics = Metrics::default();
    let admin = Admin::bind(admin_listen, shown, metrics.clone())
        .await
        .with_context(|| format!("cannot listen on {admin_listen} (admin_listen): is another server running?"))?;
    let admin_address = admin.address()?;
    let console = config.settings.console.then(|| Console::new(admin_address)).transpose()?;
    let stop_admin = CancellationToken::new();
    let mut admin = tokio::spawn(admin.serve(console.clone(), stop_admin.clone()));

    let store = redacted(&config.store.url);
    let limit = config.settings.drain_timeout.0 + MARGIN;
    info!(version = env!("CARGO_PKG_VERSION"), store, data_dir = %config.data_dir.display(), "starting");
    let traces = Export::start();
    let server = tokio::select! {
        server = Server::start(&config, metrics) => server?,
        signal = signals.next() => {
            info!(signal, "stopped during startup");
            return Ok(());
        }
    };
    if let Some(console) = console {
        console.serve(server.served.clone());
    }
    info!(grpc = %server.grpc_address, admin = %admin_address, store, "serving");
    notifier.ready().await;
    tokio::spawn(notifier.clone().run_watchdog(server.watchdog.clone()));

    let signal = tokio::select! {
        signal = signals.next() => signal,
        ended = report(&server, &readiness, &notifier, notices) => return ended,
        ended = &mut admin => bail!("the admin port stopped unexpectedly: {ended:?}"),
    };
    info!(signal, "draining");
    let draining = Readiness::Draining;
    readiness.send_replace(draining.clone());
    notifier.stopping(limit + ADMIN_TIMEOUT + MARGIN).await;
    notifier.status(&draining).await;
    tokio::select! {
        () = server.drain_and_stop() => {}
        () = tokio::time::sleep(limit) => warn!(?limit, "draining took too long"),
        signal = signals.next() => warn!(signal, "second signal: draining is aborted"),
    }
    traces.stop().await;
    stop_admin.cancel();
    if tokio::time::timeout(ADMIN_TIMEOUT, admin).await.is_err() {
        error!("admin requests were still in progress");
    }
    info!("stopped");
    Ok(())
}

/// Reports the readiness of a server and handles signals, until the server fails.
async fn report(
    server: &Server,
    readiness: &watch::Sender<Readiness>,
    notifier: &SystemdNotifier,
    mut notices: Signals,
) -> anyhow::Result<()> {
    let mut ready = server.readiness();
    loop {
        let now = ready.borrow_and_update().clone();
        readiness.send_replace(now.clone());
        notifier.status(&now).await;
        tokio::select! {
            signal = notices.next() => match signal {
                "SIGHUP" => server.reload(),
                _ => info!(signal, "ignored: SIGHUP reloads files, SIGTERM drains and stops"),
            },
            () = server.stopped() => bail!("the server stopped unexpectedly"),
            changed = ready.changed() => changed.context("the server stopped unexpectedly")?,
        }
    }
}

fn new_token(name: &str, add_to: Option<&Path>) -> anyhow::Result<()> {
    let (token, line) = auth::new_token(name).map_err(anyhow::Error::msg)?;
    match add_to {
        Some(file) => {
            add_line(file, &line).with_context(|| format!("cannot add a line to {} (--add-to)", file.display()))?;
            println!("{token}");
        }
        None => println!("The token, which is shown only once:\n\n  {token}\n\nIts line for tokens_file:\n\n  {line}"),
    }
    Ok(())
}

/// Appends a line to a file, which is created if it does not exist.
fn add_line(file: &Path, line: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(file)?;
    let mut before = Vec::new();
    file.read_to_end(&mut before)?;
    let end = if before.is_empty() || before.ends_with(b"\n") { "" } else { "\n" };
    file.write_all(format!("{end}{line}\n").as_bytes())
}

async fn migrate(config: &Config, check: bool) -> anyhow::Result<()> {
    let missing = store::pending_migrations(&config.store).await?;
    if missing.is_empty() {
        println!("up to date");
    } else if check {
        bail!("pending migrations: {}", missing.join(", "));
    } else {
        store::migrate(&config.store).await?;
        println!("done: {}", missing.join(", "));
    }
    Ok(())
}
