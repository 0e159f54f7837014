//! A small in-memory file system that tests can fill. Mounting it requires root.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};

/// Mounts it, and waits for the end of its input, which is the end of the process that started it; then removes it.
const MOUNT: &str = r#"
mount -t tmpfs -o "size=$2" tenure "$1" || exit 1
echo mounted
cat > /dev/null
umount -l "$1"
rmdir "$1"
"#;

/// The file system.
#[derive(Debug)]
pub struct SmallDisk {
    folder: PathBuf,
    shell: Child,
}

impl SmallDisk {
    /// Mounts a file system of this size, in bytes.
    ///
    /// # Errors
    /// If it cannot be mounted.
    pub fn mount(bytes: u64) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("tenure-disk-").tempdir().context("making a folder")?.keep();
        let mut shell = Command::new("sh")
            .args(["-c", MOUNT, "mount"])
            .arg(&folder)
            .arg(bytes.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .context("starting sh")?;
        let mut line = String::new();
        if let Some(output) = shell.stdout.take() {
            BufReader::new(output).read_line(&mut line).context("waiting for a mount")?;
        }
        ensure!(line.trim() == "mounted", "cannot mount a tmpfs on {}: are you root?", folder.display());
        Ok(Self { folder, shell })
    }

    /// Its mount point.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn ballast(&self) -> PathBuf {
        self.folder.join("ballast")
    }

    /// Fills the remaining space.
    ///
    /// # Errors
    /// If it fails for any other reason than lack of space.
    pub fn fill(&self) -> anyhow::Result<()> {
        let mut file = File::options().create(true).append(true).open(self.ballast()).context("making ballast")?;
        loop {
            match file.write_all(&[0; 4096]) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::StorageFull => return Ok(()),
                Err(error) => return Err(error).context("filling a disk"),
            }
        }
    }

    /// Frees that space.
    ///
    /// # Errors
    /// If it had not been filled.
    pub fn free(&self) -> anyhow::Result<()> {
        fs::remove_file(self.ballast()).context("removing ballast")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}
