//! A throw-away MySQL.

use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use tokio::sync::OnceCell;

use crate::mysql_server::{Flavour, MySqlServer};

/// The folder of its programs in this tree.
const FOLDER: &str = "target/tools/mysql-9.7";

/// A MySQL with default settings (so commits are durable), on 127.0.0.1, whose `root` needs no password.
pub type MySql = MySqlServer<MySqlPrograms>;

/// MySQL's programs, as unpacked by `cargo xtask test --only packages`.
#[derive(Debug)]
pub struct MySqlPrograms;

impl MySqlPrograms {
    /// The command line of a program, such as `mysqldump`: the folder's own loader runs it, with the folder's
    /// libraries.
    ///
    /// # Errors
    /// If it is not unpacked.
    pub fn command_line(name: &str) -> anyhow::Result<Vec<PathBuf>> {
        let folder = folder();
        let libraries = folder.join(format!("usr/lib/{ARCH}-linux-gnu"));
        let files = fs::read_dir(&libraries).into_iter().flatten().flatten();
        let loader = files.map(|file| file.path()).find(|file| {
            file.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("ld-linux-"))
        });
        let loader = loader
            .with_context(|| format!("there is no MySQL in {FOLDER}: `cargo xtask test --only packages` gets it"))?;
        let program = ["usr/sbin", "usr/bin"].map(|folder_of| folder.join(folder_of).join(name));
        let program = program.into_iter().find(|program| program.is_file());
        let program = program.with_context(|| format!("there is no {name} in {FOLDER}"))?;
        Ok(vec![loader, "--library-path".into(), libraries, program])
    }
}

impl Flavour for MySqlPrograms {
    const NAME: &'static str = "MySQL";

    fn shared() -> &'static OnceCell<MySql> {
        static SHARED: OnceCell<MySql> = OnceCell::const_new();
        &SHARED
    }

    fn server(common: &[String]) -> anyhow::Result<Command> {
        let line = Self::command_line("mysqld")?;
        let mut server = Command::new(&line[0]);
        server.args(&line[1..]).args(common);
        for (option, place) in [
            ("lc-messages-dir", "share/mysql"),
            ("character-sets-dir", "share/mysql/charsets"),
            ("plugin-dir", "lib/mysql/plugin"),
        ] {
            server.arg(format!("--{option}={}", folder().join("usr").join(place).display()));
        }
        // The X protocol has a port of its own; the default of the other is a folder that only an installation makes.
        server.args(["--mysqlx=OFF", "--secure-file-priv=NULL"]);
        Ok(server)
    }

    fn initializer(common: &[String]) -> anyhow::Result<Command> {
        let mut server = Self::server(common)?;
        server.arg("--initialize-insecure");
        Ok(server)
    }
}

fn folder() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(3).unwrap_or(manifest).join(FOLDER)
}
