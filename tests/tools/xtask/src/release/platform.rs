//! The platforms for which programs are released. Those of this machine's processors are built by its own compiler, the
//! others by one that has their standard library, and by Debian's cross compilers.

use std::env::consts::ARCH;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::ensure;

use crate::packages::unstable;
use crate::programs::{Program, find, root};

/// A platform.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Platform {
    /// Its name for rustc.
    pub(super) target: &'static str,
    /// Its name for Debian.
    pub(super) debian: &'static str,
}

/// The platform of the machine that releases.
pub(super) const NATIVE: Platform = Platform { target: "x86_64-unknown-linux-gnu", debian: "amd64" };

/// All of them.
pub(super) const PLATFORMS: [Platform; 2] = [NATIVE, Platform { target: "aarch64-unknown-linux-gnu", debian: "arm64" }];

/// Debian's packages for the other platform, and a program of each.
const CROSS: [(&str, &str); 3] = [
    ("gcc-aarch64-linux-gnu", "aarch64-linux-gnu-gcc"),
    ("g++-aarch64-linux-gnu", "aarch64-linux-gnu-g++"),
    ("qemu-user-static", "qemu-aarch64-static"),
];

impl Platform {
    /// Lets a build by cargo be for this platform.
    pub(super) fn set(&self, build: &mut Program) -> anyhow::Result<()> {
        ensure!(NATIVE.target.starts_with(ARCH), "releases are built on {}", NATIVE.target);
        build.args(["--target", self.target]);
        if *self == NATIVE {
            return Ok(());
        }
        for (package, tool) in CROSS {
            ensure!(find(tool).is_some(), "{tool} is not installed (Debian: apt-get install {package})");
        }
        build.env("RUSTC", &compiler()?.display().to_string());
        build.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc");
        build.env("CC_aarch64_unknown_linux_gnu", "aarch64-linux-gnu-gcc");
        build.env("CXX_aarch64_unknown_linux_gnu", "aarch64-linux-gnu-g++");
        // Kernels of arm64 have pages of 4, 16 or 64 KiB; an allocator made for larger ones works with smaller ones, too.
        build.env("JEMALLOC_SYS_WITH_LG_PAGE", "16");
        Ok(())
    }
}

/// The compiler for the other platform, as a command that runs it by its own loader.
fn compiler() -> anyhow::Result<PathBuf> {
    unstable::RUST.provide()?;
    let folder = root().join("target/tools").join(unstable::RUST.folder);
    let (installed, command) = (folder.join("usr").display().to_string(), folder.join("rustc"));
    let libraries = format!("{installed}/lib/{ARCH}-linux-gnu");
    let script = format!(
        "#!/bin/sh\nexec {libraries}/ld-linux-x86-64.so.2 --library-path {libraries} --argv0 {installed}/bin/rustc \
         {installed}/bin/rustc --sysroot {installed} \"$@\"\n"
    );
    fs::write(&command, script)?;
    fs::set_permissions(&command, fs::Permissions::from_mode(0o755))?;
    Ok(command)
}
