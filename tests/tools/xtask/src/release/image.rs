//! The image of the programs: a layout of OCI for registries, which has it for each platform, and archives for
//! `docker load`, which have it for one.

use std::fs;
use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};

use super::platform::{PLATFORMS, Platform};
use super::programs::{NAMES, install};
use super::{Making, archive};
use crate::container::{Buildah, IMAGE, bases};
use crate::programs::program;

/// The image that static programs need, with certificates, time zones, and a user.
const BASE: &str = "gcr.io/distroless/static-debian12:nonroot";

/// The images of all platforms, in buildah's storage.
const LIST: &str = "localhost/tenure-list";

pub(super) fn make(making: &Making) -> anyhow::Result<()> {
    Buildah::within(|buildah, home| {
        buildah.run("manifest").args(["create", LIST]).run()?;
        PLATFORMS.iter().try_for_each(|platform| make_for(making, platform, buildah, home))?;
        let (tag, layout) = (format!("tenure:{}", making.version), home.join("layout"));
        let push = ["push", "--quiet", "--all", LIST, &format!("oci:{}:{tag}", layout.display())];
        buildah.run("manifest").args(push).run()?;
        archive(&layout, ".", &making.folder("image")?.join(format!("tenure-{}-oci.tar", making.version)), &[])
    })
}

fn make_for(making: &Making, platform: &Platform, buildah: &Buildah, home: &Path) -> anyhow::Result<()> {
    let (version, architecture) = (&making.version, platform.architecture);
    let home = home.join(architecture);
    // In place of the Dockerfile's stage that builds the programs: these are the released ones.
    let built = home.join("built");
    for name in NAMES {
        install(&making.program(platform, name), &built.join("out/bin").join(name))?;
    }
    fs::create_dir_all(built.join("out/data"))?;
    let base = match making.from_packages {
        true => bases::of_static_programs(buildah, &home, architecture)?,
        false => BASE.to_owned(),
    };
    let mut build = buildah.build();
    build.args(["--platform", &format!("linux/{architecture}"), "--timestamp", &making.epoch]);
    build.args(["--build-context", &format!("build={}", built.display())]);
    let arguments = [("VERSION", version), ("REVISION", &making.commit), ("BASE_IMAGE", &base)];
    for (name, value) in arguments {
        build.args(["--build-arg", &format!("{name}={value}")]);
    }
    build.args([making.tree.join("deploy/image")]).run()?;
    buildah.run("manifest").args(["add", LIST, IMAGE]).run()?;

    let (load, tag) = (home.join("load.tar"), format!("tenure:{version}"));
    buildah.run("push").args(["--quiet", IMAGE, &format!("docker-archive:{}:{tag}", load.display())]).run()?;
    repack(&load, &home, &tag, &making.folder("image")?.join(format!("tenure-{version}-{architecture}-docker.tar")))
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
