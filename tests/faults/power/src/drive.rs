//! A disk attached to this machine, with a file system on it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use fuser::BackgroundSession;

use crate::disk::Disk;
use crate::file::{NAME, OneFile};

/// The timeout of file system tools.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The interval at which a tool is polled for its exit.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Waits for the end of its input, which comes with the end of the parent process or of the drive; then unmounts
/// everything mounted in the folder, once unused, and removes the folder.
const REAPER: &str = r#"
is_mounted() { grep -q " $1 " /proc/self/mounts; }
cat > /dev/null
cd /
for mount in "$1/files" "$1/drive"; do
  left=150
  while is_mounted "$mount" && ! umount "$mount" && [ "$left" -gt 0 ]; do
    sleep 0.1
    left=$((left - 1))
  done
  is_mounted "$mount" && umount -l "$mount"
  rmdir "$mount"
done
rmdir "$1"
"#;

/// Whether the file system flushes the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Barriers {
    /// The default: it flushes the disk where necessary.
    On,
    /// It never flushes the disk, even on fsync.
    Off,
}

/// The drive. When it is dropped or this process dies, it is detached and all its resources are removed.
///
/// Other processes read, write, mount and unmount its files: if this process, which serves the disk, waited in the
/// kernel for itself, it could not be killed.
#[derive(Debug)]
pub struct Drive {
    folder: PathBuf,
    reaper: Child,
    session: Option<BackgroundSession>,
}

impl Drive {
    /// Attaches a disk.
    ///
    /// # Errors
    /// If the machine does not permit it.
    pub fn attach(disk: &Disk) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("tenure-power-").tempdir().context("making a folder")?.keep();
        // In its own process group, so that Ctrl-C in a terminal does not end it.
        let reaper = Command::new("sh")
            .args(["-c", REAPER, "reaper"])
            .arg(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("starting sh")?;
        let mut drive = Self { folder, reaper, session: None };
        fs::set_permissions(&drive.folder, fs::Permissions::from_mode(0o755)).context("opening a folder to others")?;
        for mount in [drive.disk_folder(), drive.files()] {
            fs::create_dir(&mount).with_context(|| mount.display().to_string())?;
        }
        let mounted = fuser::spawn_mount(OneFile(disk.clone()), drive.disk_folder(), &fuser::Config::default());
        drive.session = Some(mounted.context("mounting a file system in user space (FUSE)")?);
        Ok(drive)
    }

    /// The mount point.
    #[must_use]
    pub fn files(&self) -> PathBuf {
        self.folder.join("files")
    }

    /// Creates an empty file system on it.
    ///
    /// # Errors
    /// If that fails.
    pub fn format(&self) -> anyhow::Result<()> {
        let options = "nodiscard,lazy_itable_init=0,lazy_journal_init=0";
        self.tool("mkfs.ext4", "e2fsprogs", &["-q", "-F", "-m", "0", "-E", options]).map(drop)
    }

    /// Mounts it, which recovers a file system that was not unmounted.
    ///
    /// # Errors
    /// If that fails.
    pub fn mount(&self, barriers: Barriers) -> anyhow::Result<()> {
        let options = match barriers {
            Barriers::On => "loop,barrier=1,data=ordered",
            Barriers::Off => "loop,barrier=0,data=ordered",
        };
        let mut mount = Command::new(tenure_harness::find("mount", "mount")?);
        mount.args(["-t", "ext4", "-o", options]).arg(self.disk_file()).arg(self.files());
        run(&mut mount).map(drop)
    }

    /// Unmounts it, as soon as its files are no longer in use.
    ///
    /// # Errors
    /// If that takes too long.
    pub fn unmount(&self) -> anyhow::Result<()> {
        let mut unmount = Command::new(tenure_harness::find("umount", "mount")?);
        unmount.arg(self.files());
        let began = Instant::now();
        loop {
            match run(&mut unmount) {
                Err(_) if began.elapsed() < TIMEOUT => std::thread::sleep(POLL_INTERVAL),
                ended => return ended.map(drop),
            }
        }
    }

    /// Copies its files to a folder; it must be mounted.
    ///
    /// # Errors
    /// If that fails.
    pub fn copy_files(&self, to: &Path) -> anyhow::Result<()> {
        run(Command::new("cp").arg("-R").arg(self.files().join(".")).arg(to)).map(drop)
    }

    /// Repairs the file system automatically; it must not be mounted.
    ///
    /// # Errors
    /// If manual repair is needed.
    pub fn repair(&self) -> anyhow::Result<()> {
        let mut check = Command::new(tenure_harness::find("e2fsck", "e2fsprogs")?);
        let output = finish(check.arg("-p").arg(self.disk_file()))?;
        // 1 means that errors were found and repaired.
        if !matches!(output.status.code(), Some(0 | 1)) {
            bail!("e2fsck -p: {}", output_text(&output));
        }
        Ok(())
    }

    /// Checks the file system; it must not be mounted.
    ///
    /// # Errors
    /// If it has errors.
    pub fn check(&self) -> anyhow::Result<()> {
        self.tool("e2fsck", "e2fsprogs", &["-f", "-n"]).map(drop)
    }

    fn tool(&self, name: &str, package: &str, arguments: &[&str]) -> anyhow::Result<Output> {
        run(Command::new(tenure_harness::find(name, package)?).args(arguments).arg(self.disk_file()))
    }

    fn disk_folder(&self) -> PathBuf {
        self.folder.join("drive")
    }

    fn disk_file(&self) -> PathBuf {
        self.disk_folder().join(NAME)
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        drop(self.reaper.stdin.take());
        let _ = self.reaper.wait();
        let Some(session) = self.session.take() else { return };
        let began = Instant::now();
        while !session.guard.is_finished() {
            if began.elapsed() > TIMEOUT {
                eprintln!("the drive in {} is still in use", self.folder.display());
                return std::mem::forget(session);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        let _ = session.join();
    }
}

/// Runs a program to its end, and fails if it does.
fn run(command: &mut Command) -> anyhow::Result<Output> {
    let output = finish(command)?;
    if !output.status.success() {
        bail!("{} ended with {}: {}", name(command), output.status, output_text(&output));
    }
    Ok(output)
}

fn finish(command: &mut Command) -> anyhow::Result<Output> {
    let name = name(command);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("starting {name}"))?;
    let began = Instant::now();
    while child.try_wait()?.is_none() {
        if began.elapsed() > TIMEOUT {
            let _ = child.kill();
            bail!("{name} did not end within {TIMEOUT:?}");
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    child.wait_with_output().with_context(|| format!("reading the output of {name}"))
}

fn name(command: &Command) -> String {
    Path::new(command.get_program()).file_name().unwrap_or_default().display().to_string()
}

fn output_text(output: &Output) -> String {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&text).trim().to_owned()
}
