//! Base images for building and running, made of Debian's packages: the same Debian and the same Rust as those that the
//! Dockerfile names.

use std::fs;
use std::path::Path;

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
    let build = image(buildah, home, "tenure-build", &compiler, &added, &["CARGO_HOME=/usr/local/cargo"])?;
    let mut arguments = runtime(buildah, home)?;
    arguments.extend(["--build-arg".to_owned(), format!("BUILD_IMAGE={build}")]);
    Ok(arguments)
}

/// Creates the image to run on, and returns the build arguments that select it. It trusts what Debian trusts.
pub fn runtime(buildah: &Buildah, home: &Path) -> anyhow::Result<Vec<String>> {
    let tmp = home.join("tmp");
    program("sh").folder(&tmp).args(["-ec", AUTHORITIES]).run().context("Debian's certificates")?;
    let added = [(&*tmp.join("authorities.crt"), CERTIFICATES)];
    // Only extracted, since the packages' scripts need a shell.
    let packages = ["--variant=extract", "--include=libc6,libgcc-s1"];
    let base = image(buildah, home, "tenure-base", &packages, &added, &[])?;
    Ok(vec!["--build-arg".to_owned(), format!("BASE_IMAGE={base}")])
}

/// Creates an image of packages and additional files.
fn image(
    buildah: &Buildah,
    home: &Path,
    name: &str,
    packages: &[&str],
    added: &[(&Path, &str)],
    variables: &[&str],
) -> anyhow::Result<String> {
    let Some(mmdebstrap) = find("mmdebstrap") else {
        bail!("mmdebstrap is not installed (Debian: apt-get install mmdebstrap)")
    };
    let archive = home.join("tmp").join(format!("{name}.tar"));
    let mut bootstrap = program(mmdebstrap);
    // Files have no time after this, and so the same bytes whenever they are packed.
    bootstrap.env("SOURCE_DATE_EPOCH", "0");
    bootstrap.args(["--quiet"]).args(packages).args([DEBIAN]).args([&archive]).run()?;
    let container = buildah.query("from", &["scratch"])?;
    let own = [(archive.as_path(), "/")];
    for (from, to) in own.iter().chain(added) {
        buildah.run("add").args(["--quiet", &container]).args([from]).args([to]).run()?;
    }
    fs::remove_file(archive)?;
    let certificates = format!("SSL_CERT_FILE={CERTIFICATES}");
    let path = "PATH=/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin";
    for variable in [path, &certificates].iter().chain(variables) {
        buildah.run("config").args(["--env", variable, &container]).run()?;
    }
    let name = format!("localhost/{name}");
    buildah.run("commit").args(["--quiet", "--rm", "--timestamp", "0", &container, &name]).run()?;
    Ok(name)
}
