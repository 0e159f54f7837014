//! The image of the programs: a layout of OCI, for registries, and an archive for `docker load`.

use std::fs;
use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};

use super::platform::NATIVE;
use super::programs::{NAMES, install};
use super::{Making, archive};
use crate::container::{Buildah, IMAGE, bases};
use crate::programs::program;

pub(super) fn make(making: &Making) -> anyhow::Result<()> {
    Buildah::within(|buildah, home| pack(making, buildah, home))
}

fn pack(making: &Making, buildah: &Buildah, home: &Path) -> anyhow::Result<()> {
    // In place of the Dockerfile's stage that builds the programs: these are the released ones.
    let built = home.join("built");
    for name in NAMES {
        install(&making.program(&NATIVE, name), &built.join("out/bin").join(name))?;
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
    let load = home.join("load.tar");
    buildah.run("push").args(["--quiet", IMAGE, &format!("docker-archive:{}:{tag}", load.display())]).run()?;
    repack(&load, home, &tag, &folder.join(format!("{name}-docker.tar")))?;
    let layout = home.join("layout");
    buildah.run("push").args(["--quiet", IMAGE, &format!("oci:{}:{tag}", layout.display())]).run()?;
    archive(&layout, ".", &folder.join(format!("{name}-oci.tar")), &[])
}

/// Repacks an archive for `docker load` without the names of the containers in which the image was built.
fn repack(load: &Path, home: &Path, tag: &str, into: &Path) -> anyhow::Result<()> {
    let [from, to] = ["load", "repacked"].map(|name| home.join(name));
    fs::create_dir_all(&from)?;
    fs::create_dir_all(&to)?;
    program("tar").args(["-xf"]).args([load]).args(["-C"]).args([&from]).run()?;
    let read = |name: &str| anyhow::Ok(serde_json::from_slice::<Value>(&fs::read(from.join(name))?)?);
    let mut manifest = read("manifest.json")?;
    let image = manifest.get_mut(0).context("the archive has no image")?;
    let mut config = read(image["Config"].as_str().context("the image has no configuration")?)?;
    config["container"] = "".into();
    for of in ["config", "container_config"] {
        config[of]["Hostname"] = "".into();
    }
    for layer in image["Layers"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        fs::rename(from.join(layer), to.join(layer))?;
    }
    image["Config"] = "config.json".into();
    image["RepoTags"] = json!([tag]);
    fs::write(to.join("config.json"), config.to_string())?;
    fs::write(to.join("manifest.json"), manifest.to_string())?;
    archive(&to, ".", into, &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archive_names_no_container_of_the_build() {
        let home = tempfile::tempdir().unwrap();
        let (at, files) = (|name: &str| home.path().join(name), home.path().join("files"));
        fs::create_dir_all(&files).unwrap();
        let config =
            json!({ "container": "1", "config": { "Hostname": "1" }, "container_config": { "Hostname": "1" } });
        fs::write(files.join("c"), config.to_string()).unwrap();
        fs::write(files.join("l"), "layer").unwrap();
        let manifest = json!([{ "Config": "c", "RepoTags": ["a", "b"], "Layers": ["l"] }]);
        fs::write(files.join("manifest.json"), manifest.to_string()).unwrap();
        archive(&files, ".", &at("load.tar"), &[]).unwrap();
        repack(&at("load.tar"), home.path(), "tenure:1", &at("into.tar")).unwrap();
        let read = |name: &str| program("tar").args(["-xOf"]).args([at("into.tar")]).args([name]).output().unwrap();
        let config = json!({ "container": "", "config": { "Hostname": "" }, "container_config": { "Hostname": "" } });
        assert_eq!(read("./config.json"), config.to_string());
        let manifest = json!([{ "Config": "config.json", "RepoTags": ["tenure:1"], "Layers": ["l"] }]);
        assert_eq!(read("./manifest.json"), manifest.to_string());
        assert_eq!(read("./l"), "layer");
    }
}
