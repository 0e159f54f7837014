//! The Debian packages of the programs.

use std::fs;
use std::path::Path;

use super::platform::{PLATFORMS, Platform};
use super::programs::{install, install_to, write};
use super::{Making, notices};
use crate::programs::{program, root};

/// Packs the programs with the unit, which is neither enabled nor started: what it is to use has to be set before.
pub(super) fn make(making: &Making) -> anyhow::Result<()> {
    PLATFORMS.iter().try_for_each(|platform| make_for(making, platform))
}

fn make_for(making: &Making, platform: &Platform) -> anyhow::Result<()> {
    let architecture = platform.architecture;
    // `~` sorts before everything: a pre-release comes before its release.
    let version = making.version.replacen('-', "~", 1);
    let folder = making.into.join("debian");
    install_to(making, platform, &folder.join("usr"))?;
    compress_pages(&folder.join("usr/share/man"))?;
    let deploy = root().join("deploy/systemd");
    let unit = fs::read_to_string(deploy.join("tenured.service"))?;
    write(&folder.join("usr/lib/systemd/system/tenured.service"), unit.replace("/usr/local/bin/", "/usr/bin/"))?;
    install(&deploy.join("tenured.env"), &folder.join("etc/tenure/tenured.env"))?;
    fs::create_dir_all(folder.join("etc/tenure/secrets"))?;
    program("chmod").args(["700"]).args([folder.join("etc/tenure/secrets")]).run()?;
    let licence = fs::read_to_string(root().join("LICENSE"))?;
    write(&folder.join("usr/share/doc/tenure/copyright"), licence + "\n" + &notices::third_party()?)?;
    let control = format!(
        "Package: tenure\nVersion: {version}\nArchitecture: {architecture}\nSection: net\nPriority: optional\n\
         Maintainer: The Tenure developers <tenure@tenure-lock.example>\nSuggests: postgresql\n\
         Homepage: https://github.com/tenure-lock/tenure\n\
         Description: lock and leader election service\n \
         The server, tenured, grants locks with fencing tokens to the programs that connect to it, and keeps them in\n \
         PostgreSQL, MySQL, MariaDB or an embedded file. The command line, tenure, runs commands under a lock.\n"
    );
    write(&folder.join("DEBIAN/control"), control)?;
    write(&folder.join("DEBIAN/conffiles"), "/etc/tenure/tenured.env\n")?;
    for (script, text) in [("postinst", POSTINST), ("prerm", PRERM)] {
        let path = folder.join("DEBIAN").join(script);
        write(&path, text)?;
        program("chmod").args(["755"]).args([path]).run()?;
    }
    let file = making.folder("programs")?.join(format!("tenure_{version}_{architecture}.deb"));
    let mut pack = program("dpkg-deb");
    pack.env("SOURCE_DATE_EPOCH", &making.epoch);
    pack.args(["--root-owner-group", "--build"]).args([&folder, &file]).run()?;
    Ok(fs::remove_dir_all(folder)?)
}

const POSTINST: &str = "#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  # An upgrade restarts the server if it runs.
  [ -z \"$2\" ] || systemctl try-restart tenured.service
fi
";

const PRERM: &str = "#!/bin/sh
set -e
if [ \"$1\" = remove ] && [ -d /run/systemd/system ]; then
  systemctl disable --now tenured.service
fi
";

fn compress_pages(folder: &Path) -> anyhow::Result<()> {
    for page in crate::programs::files(folder, &["1", "8"])? {
        program("gzip").args(["-9n"]).args([page]).run()?;
    }
    Ok(())
}
