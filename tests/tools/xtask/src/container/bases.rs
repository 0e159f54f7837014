//! Base images for building and running, made of Debian's packages: the same Debian and the same Rust as those that the
//! Dockerfile names.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::Buildah;
use crate::programs::{find, program};

const DEBIAN: &str = "bookworm";

/// The certificates that this machine trusts, and where those of an image are.
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Makes a file of the certificates that Debian trusts, without installing their package, which needs a shell.
const AUTHORITIES: &str = "
apt-get download --quiet ca-certificates
dpkg-deb -x ca-certificates_*.deb authorities
cat authorities/usr/share/ca-certificates/mozilla/*.crt > authorities.crt
";

/// Creates both images, and returns the build arguments that select them.
pub fn make(buildah: &Buildah, home: &Path) -> anyhow::Result<Vec<String>> {
    let rust = program("rustc").args(["--print", "sysroot"]).output().context("finding the Rust toolchain")?;
    let rust = Path::new(rust.trim());
    let compiler = ["--variant=minbase", "--include=gcc,libc6-dev,make"];
    let (bin, lib) = (rust.join("bin"), rust.join("lib"));
    let added = [(Path::new(CERTIFICATES), CERTIFICATES), (&bin, "/usr/local/bin"), (&lib, "/usr/local/lib")];
    // CARGO_HOME is the Dockerfile's location of the registry; the image itself is built on the other base and does not
    // contain it.
    let packages = unpacked(home, &compiler)?;
    let added = [&[(&*packages, "/")][..], &added].concat();
    let build = image(buildah, "tenure-build", None, &added, &["CARGO_HOME=/usr/local/cargo"])?;
    // Only extracted, since the packages' scripts need a shell.
    let packages = unpacked(home, &["--variant=extract", "--include=libc6,libgcc-s1"])?;
    let added = [(&*packages, "/"), (&*authorities(home)?, CERTIFICATES)];
    let base = image(buildah, "tenure-base", None, &added, &[])?;
    let arguments = ["--build-arg", &format!("BUILD_IMAGE={build}"), "--build-arg", &format!("BASE_IMAGE={base}")];
    Ok(arguments.map(str::to_owned).to_vec())
}

/// Creates the image on which static programs of an architecture run, and returns its name.
pub fn of_static_programs(buildah: &Buildah, home: &Path, architecture: &str) -> anyhow::Result<String> {
    image(buildah, "tenure-base", Some(architecture), &[(&authorities(home)?, CERTIFICATES)], &[])
}

/// A file of the certificates that Debian trusts.
fn authorities(home: &Path) -> anyhow::Result<PathBuf> {
    let folder = home.join("authorities");
    fs::create_dir_all(&folder)?;
    program("sh").folder(&folder).args(["-ec", AUTHORITIES]).run().context("Debian's certificates")?;
    Ok(folder.join("authorities.crt"))
}

/// An archive of packages and what they need.
fn unpacked(home: &Path, packages: &[&str]) -> anyhow::Result<PathBuf> {
    let Some(mmdebstrap) = find("mmdebstrap") else {
        bail!("mmdebstrap is not installed (Debian: apt-get install mmdebstrap)")
    };
    let archive = home.join("tmp/packages.tar");
    let mut bootstrap = program(mmdebstrap);
    // Files have no time after this, and so the same bytes whenever they are packed.
    bootstrap.env("SOURCE_DATE_EPOCH", "0");
    bootstrap.args(["--quiet"]).args(packages).args([DEBIAN]).args([&archive]).run()?;
    Ok(archive)
}

/// Creates an image of files, and archives that are unpacked, for an architecture. Default: this machine's.
fn image(
    buildah: &Buildah,
    name: &str,
    architecture: Option<&str>,
    added: &[(&Path, &str)],
    variables: &[&str],
) -> anyhow::Result<String> {
    let of = architecture.map_or(vec![], |architecture| vec!["--arch", architecture]);
    let container = buildah.query("from", &[&of[..], &["scratch"]].concat())?;
    for (from, to) in added {
        buildah.run("add").args(["--quiet", &container]).args([from]).args([to]).run()?;
    }
    let certificates = format!("SSL_CERT_FILE={CERTIFICATES}");
    let path = "PATH=/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin";
    for variable in [path, &certificates].iter().chain(variables) {
        buildah.run("config").args(["--env", variable, &container]).run()?;
    }
    let name = format!("localhost/{name}");
    buildah.run("commit").args(["--quiet", "--rm", "--timestamp", "0", &container, &name]).run()?;
    Ok(name)
}
