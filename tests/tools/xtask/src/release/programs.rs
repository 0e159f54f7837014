//! The server and the command line, with their manual pages and completions, as an archive for each platform.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::platform::{NATIVE, PLATFORMS, Platform};
use super::{Making, notices, pack};
use crate::programs::{program, root};

/// The folder of the build, in the tree that is built.
pub(super) const BUILT: &str = "target/reproducible";

/// The programs.
pub(super) const NAMES: [&str; 2] = ["tenured", "tenure"];

/// Builds the programs for each platform, and packs them.
pub(super) fn make(making: &Making) -> anyhow::Result<()> {
    PLATFORMS.iter().try_for_each(|platform| make_for(making, platform))
}

fn make_for(making: &Making, platform: &Platform) -> anyhow::Result<()> {
    let mut build = platform.build(&making.source, &["tenure-server", "tenure-cli"])?;
    // No path of the machine that builds is in the programs.
    let places = [(making.source.clone(), "/tenure"), (cargo_home()?, "/cargo")];
    let remapped =
        |option: &str| places.each_ref().map(|(from, to)| format!("{option}={}={to}", from.display())).join(" ");
    // What begins and ends a program is zig's.
    let flags = format!("-C link-self-contained=no {}", remapped("--remap-path-prefix"));
    build.env("RUSTFLAGS", &flags).env("CFLAGS", &remapped("-ffile-prefix-map"));
    // Beside a developer's builds, which have other flags.
    build.env("CARGO_TARGET_DIR", &making.source.join(BUILT).display().to_string()).env("CARGO_INCREMENTAL", "0");
    build.run()?;
    let name = format!("tenure-{}-{}", making.version, platform.target);
    let folder = making.into.join(&name);
    install_to(making, platform, &folder)?;
    let licences = folder.join("share/doc/tenure");
    install(&root().join("LICENSE"), &licences.join("LICENSE"))?;
    write(&licences.join("THIRD-PARTY.txt"), notices::third_party()?)?;
    pack(&folder, &making.folder("programs")?.join(format!("{name}.tar.gz")))?;
    Ok(fs::remove_dir_all(folder)?)
}

/// Installs the programs below a folder such as `/usr`, with their manual pages and completions.
pub(super) fn install_to(making: &Making, platform: &Platform, folder: &Path) -> anyhow::Result<()> {
    for program in NAMES {
        install(&making.program(platform, program), &folder.join("bin").join(program))?;
    }
    let (run, share) = (|name: &str| program(making.program(&NATIVE, name)), folder.join("share"));
    let commands = share.join("man/man1");
    fs::create_dir_all(&commands)?;
    run("tenure").args(["man", "--dir"]).args([commands]).run()?;
    let documents: [(&str, &[&str], &str); 4] = [
        ("tenured", &["man"], "man/man8/tenured.8"),
        ("tenure", &["completions", "bash"], "bash-completion/completions/tenure"),
        ("tenure", &["completions", "zsh"], "zsh/site-functions/_tenure"),
        ("tenure", &["completions", "fish"], "fish/vendor_completions.d/tenure.fish"),
    ];
    for (name, arguments, path) in documents {
        write(&share.join(path), run(name).args(arguments).output()?)?;
    }
    Ok(())
}

/// Writes a file whose folders need not exist.
pub(super) fn write(path: &Path, text: impl AsRef<[u8]>) -> anyhow::Result<()> {
    fs::create_dir_all(path.parent().context("no parent")?)?;
    fs::write(path, text).with_context(|| path.display().to_string())
}

/// Copies a file to a path whose folders need not exist.
pub(super) fn install(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to.parent().context("no parent")?)?;
    fs::copy(from, to).map(drop).with_context(|| format!("{} to {}", from.display(), to.display()))
}

fn cargo_home() -> anyhow::Result<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo"))).context("no HOME")
}
