//! The image of the programs: a layout of OCI, for registries, and an archive for `docker load`.

use std::fs;
use std::path::Path;

use super::programs::{NAMES, install};
use super::{Making, archive};
use crate::container::{Buildah, IMAGE, bases};

pub(super) fn make(making: &Making) -> anyhow::Result<()> {
    Buildah::within(|buildah, home| pack(making, buildah, home))
}

fn pack(making: &Making, buildah: &Buildah, home: &Path) -> anyhow::Result<()> {
    // In place of the Dockerfile's stage that builds the programs: these are the released ones.
    let built = home.join("built");
    for name in NAMES {
        install(&making.program(name), &built.join("out/bin").join(name))?;
    }
    fs::create_dir_all(built.join("out/data"))?;
    let mut build = buildah.build();
    build.args(["--timestamp", &making.epoch, "--build-context", &format!("build={}", built.display())]);
    build.args(["--build-arg", &format!("VERSION={}", making.version)]);
    build.args(["--build-arg", &format!("REVISION={}", making.commit)]);
    if making.from_packages {
        build.args(bases::runtime(buildah, home)?);
    }
    build.args([making.tree.join("deploy/image")]).run()?;

    let name = format!("tenure-{}", making.version);
    let (folder, tag) = (making.folder("image")?, format!("tenure:{}", making.version));
    let load = format!("docker-archive:{}:{tag}", folder.join(format!("{name}-docker.tar")).display());
    buildah.run("push").args(["--quiet", IMAGE, &load]).run()?;
    let layout = home.join("layout");
    buildah.run("push").args(["--quiet", IMAGE, &format!("oci:{}:{tag}", layout.display())]).run()?;
    archive(&layout, ".", &folder.join(format!("{name}-oci.tar")), &[])
}
