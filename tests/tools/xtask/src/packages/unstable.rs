//! Programs that Debian has in its unstable suite only: their packages, with all that they depend on, are unpacked into
//! a folder and not installed, so that nothing on the machine is replaced. They then run by the folder's own loader and
//! libraries.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail, ensure};

use crate::programs::{files, find, program, root};

/// The keys of Debian's archive, by which apt checks what it downloads.
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Packages that are unpacked together.
pub struct Unpacked {
    /// The folder in `target/tools`.
    pub folder: &'static str,
    /// The packages, each with the versions that it may have.
    packages: &'static [&'static str],
}

/// MySQL: the server, the programs that dump and restore its databases, and its proxy.
pub const MYSQL: Unpacked = Unpacked {
    folder: "mysql-9.7",
    packages: &["mysql-server-core=9.7.*", "mysql-client-core=9.7.*", "mysql-router=9.7.*"],
};

/// MariaDB in a later version than the machine's own: the same.
pub const MARIADB: Unpacked =
    Unpacked { folder: "mariadb-11.8", packages: &["mariadb-server-core=1:11.8.*", "mariadb-client=1:11.8.*"] };

/// The systems that the bench compares with, in the versions of today.
pub const PEERS: Unpacked = Unpacked {
    folder: "peers",
    packages: &["etcd-server=3.5.*", "libzookeeper-java=3.9.*", "redis-server=5:8.*", "valkey-server=9.*"],
};

/// A compiler, with the source of its standard library.
pub const RUST: Unpacked = Unpacked { folder: "rustc-1.97", packages: &["rustc=1.97.*", "rust-src=1.97.*"] };

impl Unpacked {
    /// Unpacks them, unless they are there.
    pub fn provide(&self) -> anyhow::Result<()> {
        let tools = root().join("target/tools");
        let folder = tools.join(self.folder);
        if folder.is_dir() {
            return Ok(());
        }
        let packages = self.packages.join(", ");
        println!("unpacking {packages} into {}", folder.display());
        let work = tools.join(format!("{}.partial", self.folder));
        if work.exists() {
            fs::remove_dir_all(&work).with_context(|| format!("removing {}", work.display()))?;
        }
        self.unpack(&work).with_context(|| format!("Debian's unstable suite does not provide {packages}"))?;
        // Last, so that its presence proves that everything is unpacked.
        fs::rename(work.join("root"), &folder)?;
        Ok(fs::remove_dir_all(&work)?)
    }

    fn unpack(&self, work: &Path) -> anyhow::Result<()> {
        for tool in ["apt-get", "dpkg"] {
            ensure!(find(tool).is_some(), "{tool} is not installed");
        }
        ensure!(Path::new(KEYS).is_file(), "{KEYS} is not there (Debian: apt-get install debian-archive-keyring)");
        for folder in ["lists/partial", "cache/archives/partial", "root"] {
            fs::create_dir_all(work.join(folder))?;
        }
        let archive = archive()?;
        let configuration = work.join("apt.conf").display().to_string();
        fs::write(&configuration, configuration_in(work))?;
        fs::write(work.join("status"), "")?;
        fs::write(work.join("sources.list"), format!("deb [target=Packages signed-by={KEYS}] {archive} sid main\n"))?;
        let apt = |arguments: &[&str]| program("apt-get").args(["--config-file", &configuration]).args(arguments).run();
        apt(&["update", "--error-on=any"])?;
        let install = ["install", "--assume-yes", "--no-install-recommends", "--download-only"];
        apt(&[&install, self.packages].concat())?;
        for package in files(&work.join("cache/archives"), &["deb"])? {
            program("dpkg").args(["--extract"]).args([package, work.join("root")]).run()?;
        }
        Ok(())
    }
}

/// Settings by which apt has lists, a cache and a status of its own, in which nothing is installed. The machine's
/// preferences and hooks are about its own packages; the user of apt's sandbox may have no access to this folder.
fn configuration_in(work: &Path) -> String {
    let work = work.display();
    format!(
        r#"Dir::State::lists "{work}/lists";
Dir::State::status "{work}/status";
Dir::Cache "{work}/cache";
Dir::Etc::sourcelist "{work}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Acquire::Languages "none";
APT::Sandbox::User "root";
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
"#
    )
}

/// The archive that this machine has Debian's packages from: a mirror, possibly.
fn archive() -> anyhow::Result<String> {
    let of_debian = ["Created-By: Packages", "Origin: Debian", "Label: Debian", "Component: main"];
    let found = program("apt-get").args(["indextargets", "--format", "$(REPO_URI)"]).args(of_debian).output()?;
    let Some(archive) = found.lines().next() else { bail!("apt knows no archive of Debian: run apt-get update") };
    Ok(archive.to_owned())
}
