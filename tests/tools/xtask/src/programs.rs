//! Running other programs, and finding them.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};

use crate::excerpt::Excerpt;

/// The top folder of the tree.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(3).unwrap_or(manifest).to_path_buf()
}

/// A program to run at the top of the tree.
pub struct Program(Command);

/// cargo, at the top of the tree.
pub fn cargo(arguments: &[&str]) -> Program {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut program = program(cargo);
    program.args(arguments);
    program
}

/// cargo, for a debug build in which clippy compiles the workspace and fails on a warning. `cargo clippy` runs clippy in
/// the same way, but generates no code, so that the crates would be compiled twice. The generated code lacks some
/// optimizations of rustc, and does not replace that of a plain `cargo build`. More tests run at once than there are
/// cores, since most wait for processes or time.
pub fn linted(arguments: &[&str]) -> Program {
    let mut program = cargo(arguments);
    program.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver").env("CLIPPY_ARGS", "-Dwarnings__CLIPPY_HACKERY__");
    program.env("RUST_TEST_THREADS", "6");
    program
}

/// Any program.
pub fn program(program: impl AsRef<OsStr>) -> Program {
    let mut command = Command::new(program);
    command.current_dir(root());
    Program(command)
}

impl Program {
    /// Adds arguments.
    pub fn args<A: AsRef<OsStr>>(&mut self, arguments: impl IntoIterator<Item = A>) -> &mut Self {
        self.0.args(arguments);
        self
    }

    /// Sets an environment variable.
    pub fn env(&mut self, name: &str, value: &str) -> &mut Self {
        self.0.env(name, value);
        self
    }

    /// Sets its working directory.
    pub fn folder(&mut self, folder: &Path) -> &mut Self {
        self.0.current_dir(folder);
        self
    }

    /// Runs it to its end, which must be successful, and returns its output.
    pub fn output(&mut self) -> anyhow::Result<String> {
        let name = self.name();
        let command = self.0.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("starting {name}"))?;
        let excerpt = Arc::<Mutex<Excerpt>>::default();
        let (done, ended) = mpsc::channel();
        if let Some(errors) = child.stderr.take() {
            forward(errors, std::io::stderr(), excerpt.clone(), done);
        }
        let output = child.wait_with_output().with_context(|| format!("waiting for {name}"))?;
        wait_for(&ended);
        if !output.status.success() {
            bail!("{name} ended with {}\n{}", output.status, text_of(&excerpt));
        }
        String::from_utf8(output.stdout).with_context(|| format!("the output of {name} is not UTF-8"))
    }

    /// Runs it to its end, which must be successful. The error has the lines of its output that explain its failure.
    pub fn run(&mut self) -> anyhow::Result<()> {
        let name = self.name();
        let first: Vec<String> = self.0.get_args().take(2).map(|argument| argument.display().to_string()).collect();
        let command = self.0.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("starting {name}"))?;
        let excerpt = Arc::<Mutex<Excerpt>>::default();
        let (done, ended) = mpsc::channel();
        if let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) {
            forward(output, std::io::stdout(), excerpt.clone(), done.clone());
            forward(errors, std::io::stderr(), excerpt.clone(), done);
        }
        let status = child.wait().with_context(|| format!("waiting for {name}"))?;
        wait_for(&ended);
        if !status.success() {
            bail!("{name} {} ended with {status}\n{}", first.join(" "), text_of(&excerpt));
        }
        Ok(())
    }

    /// Starts it, with its output in a file.
    pub fn start(&mut self, output: File) -> anyhow::Result<Child> {
        let name = self.name();
        let command = self.0.stdout(output.try_clone()?).stderr(output);
        command.spawn().with_context(|| format!("starting {name}"))
    }

    fn name(&self) -> String {
        Path::new(self.0.get_program()).file_name().unwrap_or_default().display().to_string()
    }
}

/// Waits until the output of a program that has ended is forwarded, but at most briefly: a daemon that it has started
/// may keep the pipes open.
fn wait_for(ended: &mpsc::Receiver<()>) {
    while let Ok(()) = ended.recv_timeout(Duration::from_secs(2)) {}
}

fn text_of(excerpt: &Mutex<Excerpt>) -> String {
    excerpt.lock().unwrap_or_else(PoisonError::into_inner).text()
}

/// Forwards output, line by line.
fn forward(
    from: impl Read + Send + 'static,
    mut to: impl Write + Send + 'static,
    excerpt: Arc<Mutex<Excerpt>>,
    done: mpsc::Sender<()>,
) {
    thread::spawn(move || {
        let mut lines = BufReader::new(from);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
            // An error means that this program's own output has no reader, which is not a failure.
            let _ = to.write_all(&line);
            let text = String::from_utf8_lossy(&line);
            excerpt.lock().unwrap_or_else(PoisonError::into_inner).take(text.trim_end());
            line.clear();
        }
        let _ = done.send(());
    });
}

/// The files in a folder and below with one of these extensions, in order; none if there is no such folder.
pub fn files(folder: &Path, extensions: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if folder.is_dir() {
        for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                found.extend(files(&path, extensions)?);
            } else if path.extension().is_some_and(|extension| extensions.iter().any(|wanted| extension == *wanted)) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Finds a program in PATH and in the folders where programs are installed outside of PATH.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/local/go/bin"].map(PathBuf::from));
    for version in fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten() {
        folders.push(version.path().join("bin"));
    }
    folders.into_iter().map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// Returns a program that extends cargo, and installs it into the target folder if it is missing.
pub fn cargo_tool(name: &str, version: &str) -> anyhow::Result<PathBuf> {
    let tools = root().join("target/tools");
    let own = tools.join("bin").join(name);
    if let Some(found) = find(name).or_else(|| own.is_file().then(|| own.clone())) {
        return Ok(found);
    }
    cargo(&["install", "--locked", "--debug", "--version", version, name, "--root"]).args([&tools]).run()?;
    Ok(own)
}

/// Makes a virtual environment of Python in a folder, with the packages of a lock file, unless it is there.
pub fn venv(home: &Path, lock: &Path) -> anyhow::Result<()> {
    let wanted = fs::read(lock)?;
    // Written last, so that its presence proves a complete installation.
    let installed = home.join("installed.lock");
    if fs::read(&installed).is_ok_and(|known| known == wanted) {
        return Ok(());
    }
    let python = find("python3").context("python3 is not installed")?;
    program(python).args(["-m", "venv", "--clear"]).args([home]).run()?;
    program(home.join("bin/pip")).args(["install", "--quiet", "--no-deps", "--requirement"]).args([lock]).run()?;
    Ok(fs::write(installed, wanted)?)
}
