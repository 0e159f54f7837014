//! Base images for building and running, made of Debian's packages: the same Debian and the same Rust as those that the
//! Dockerfile names.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

use super::Buildah;
use crate::programs::{find, program};

const DEBIAN: &str = "bookworm";

/// The certificates that this machine trusts.
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Creates both images, and returns the build arguments that select them.
pub fn make(buildah: &Buildah, home: &Path) -> anyhow::Result<[String; 4]> {
    let rust = program("rustc").args(["--print", "sysroot"]).output().context("finding the Rust toolchain")?;
    let rust = Path::new(rust.trim());
    // The runtime image is only extracted, since the packages' scripts need a shell.
    let base = image(buildah, home, "tenure-base", &["--variant=extract", "--include=libc6,libgcc-s1"], &[])?;
    let compiler = ["--variant=minbase", "--include=gcc,libc6-dev,make"];
    let added = [(rust.join("bin"), "/usr/local/bin"), (rust.join("lib"), "/usr/local/lib")];
    let added: Vec<(&Path, &str)> = added.iter().map(|(from, to)| (from.as_path(), *to)).collect();
    let build = image(buildah, home, "tenure-build", &compiler, &added)?;
    let argument = "--build-arg".to_owned();
    Ok([argument.clone(), format!("BUILD_IMAGE={build}"), argument, format!("BASE_IMAGE={base}")])
}

/// Creates an image of packages, certificates, and additional files.
fn image(
    buildah: &Buildah,
    home: &Path,
    name: &str,
    packages: &[&str],
    added: &[(&Path, &str)],
) -> anyhow::Result<String> {
    let Some(mmdebstrap) = find("mmdebstrap") else {
        bail!("mmdebstrap is not installed (Debian: apt-get install mmdebstrap)")
    };
    let archive = home.join("tmp").join(format!("{name}.tar"));
    program(mmdebstrap).args(["--quiet"]).args(packages).args([DEBIAN]).args([&archive]).run()?;
    let container = buildah.query("from", &["scratch"])?;
    let own = [(archive.as_path(), "/"), (Path::new(CERTIFICATES), CERTIFICATES)];
    for (from, to) in own.iter().chain(added) {
        buildah.run("add").args(["--quiet", &container]).args([from]).args([to]).run()?;
    }
    fs::remove_file(archive)?;
    // CARGO_HOME is the Dockerfile's location of the registry; the image itself is built on the other base and does not
    // contain it.
    let certificates = format!("SSL_CERT_FILE={CERTIFICATES}");
    let path = "PATH=/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin";
    let build_only = (!added.is_empty()).then_some("CARGO_HOME=/usr/local/cargo");
    for variable in [path, &certificates].into_iter().chain(build_only) {
        buildah.run("config").args(["--env", variable, &container]).run()?;
    }
    let name = format!("localhost/{name}");
    buildah.run("commit").args(["--quiet", "--rm", &container, &name]).run()?;
    Ok(name)
}
