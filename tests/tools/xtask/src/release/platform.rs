//! The platforms for which programs are released: static programs, with musl as the C library, which run on every
//! distribution of Linux. A rustc that has the source of the standard library builds that as well, and zig is the C
//! compiler and the linker.

use std::env::consts::ARCH;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::ensure;

use crate::packages::unstable;
use crate::programs::{Program, program, root, venv};

/// A platform.
#[derive(Debug)]
pub(super) struct Platform {
    /// Its name for rustc.
    pub(super) target: &'static str,
    /// Its name for Debian, and for images.
    pub(super) architecture: &'static str,
}

/// The platform of the machine that releases.
pub(super) const NATIVE: Platform = Platform { target: "x86_64-unknown-linux-musl", architecture: "amd64" };

/// All of them.
pub(super) const PLATFORMS: [Platform; 2] =
    [NATIVE, Platform { target: "aarch64-unknown-linux-musl", architecture: "arm64" }];

/// The folder of tools in a tree.
const TOOLS: &str = "target/tools";

/// The variable of the compiler's sysroot.
const SYSROOT: &str = "TENURE_RELEASE_SYSROOT";

impl Platform {
    /// A release build by cargo of these packages of a tree.
    pub(super) fn build(&self, tree: &Path, packages: &[&str]) -> anyhow::Result<Program> {
        ensure!(NATIVE.target.starts_with(ARCH), "releases are built on {}", NATIVE.target);
        let home = root().join(TOOLS).join("zig");
        venv(&home, &root().join("tests/tools/xtask/zig/requirements.lock"))?;
        let mut build = program(home.join("bin/cargo-zigbuild"));
        build.env("CARGO_ZIGBUILD_PYTHON_PATH", &home.join("bin/python").display().to_string());
        build.env("CARGO_ZIGBUILD_CACHE_DIR", &home.join("cache").display().to_string());
        // Only a rustc that calls itself unstable builds the standard library.
        build.env("RUSTC", &compiler()?.display().to_string()).env("RUSTC_BOOTSTRAP", "1");
        build.env(SYSROOT, &sysroot(tree)?.display().to_string());
        // Kernels of arm64 have pages of 4, 16 or 64 KiB; an allocator made for larger ones works with smaller ones, too.
        if self.architecture == "arm64" {
            build.env("JEMALLOC_SYS_WITH_LG_PAGE", "16");
        }
        build.args(["zigbuild", "-Zbuild-std=std,panic_unwind", "--locked", "--release", "--bins"]);
        build.folder(tree).args(["--target", self.target]);
        for package in packages {
            build.args(["--package", package]);
        }
        Ok(build)
    }
}

/// The compiler, as a command that runs it by its own loader, with its sysroot in [`SYSROOT`].
fn compiler() -> anyhow::Result<PathBuf> {
    unstable::RUST.provide()?;
    let folder = root().join(TOOLS).join(unstable::RUST.folder);
    let (installed, command) = (folder.join("usr").display().to_string(), folder.join("rustc"));
    let libraries = format!("{installed}/lib/{ARCH}-linux-gnu");
    let script = format!(
        "#!/bin/sh\nexec {libraries}/ld-linux-x86-64.so.2 --library-path {libraries} --argv0 {installed}/bin/rustc \
         {installed}/bin/rustc --sysroot \"${SYSROOT}\" \"$@\"\n"
    );
    fs::write(&command, script)?;
    fs::set_permissions(&command, fs::Permissions::from_mode(0o755))?;
    Ok(command)
}

/// The sysroot, as a folder of a tree: paths in the programs, and the names of symbols, depend on where the source of the
/// standard library is, relative to the tree.
fn sysroot(tree: &Path) -> anyhow::Result<PathBuf> {
    let tools = tree.join(TOOLS);
    if !tools.exists() {
        fs::create_dir_all(tree.join("target"))?;
        symlink(root().join(TOOLS), &tools)?;
    }
    Ok(tools.join(unstable::RUST.folder).join("usr"))
}
