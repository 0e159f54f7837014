//! The packages of the clients, each as its registry takes it.

use std::fs;

use anyhow::Context;

use super::Making;
use super::programs::write;
use crate::programs::{cargo, files, find, program, root, venv};

/// The crates that programs use, in the order in which they are published.
const CRATES: [&str; 3] = ["tenure-proto", "tenure-client", "tenure-fence"];

/// The Go modules that programs use, and their folders in the tree.
const MODULES: [(&str, &str); 2] = [
    ("github.com/tenure-lock/tenure/clients/go", "clients/go"),
    ("github.com/tenure-lock/tenure/clients/go/leaderelection", "clients/go/leaderelection"),
];

pub(super) fn crates(making: &Making) -> anyhow::Result<()> {
    let built = making.into.join("crates-build");
    let mut pack = cargo(&["package", "--locked", "--no-verify", "--allow-dirty", "--manifest-path"]);
    pack.args([making.tree.join("Cargo.toml")]).args(["--target-dir"]).args([&built]);
    for name in CRATES {
        pack.args(["--package", name]);
    }
    pack.run()?;
    let into = making.folder("crates")?;
    for name in CRATES {
        let file = format!("{name}-{}.crate", making.version);
        fs::copy(built.join("package").join(&file), into.join(&file)).with_context(|| file.clone())?;
    }
    Ok(fs::remove_dir_all(built)?)
}

/// Lays out the modules as a module proxy serves them: GOPROXY=file://.../go.
pub(super) fn go(making: &Making) -> anyhow::Result<()> {
    let into = making.folder("go")?;
    for (module, folder) in MODULES {
        let (version, folder) = (format!("v{}", making.version), making.tree.join(folder));
        let at = into.join(module).join("@v");
        write(&at.join("list"), format!("{version}\n"))?;
        let info = serde_json::json!({ "Version": version, "Time": making.time });
        write(&at.join(format!("{version}.info")), info.to_string())?;
        fs::copy(folder.join("go.mod"), at.join(format!("{version}.mod")))?;
        // By the library of Go's own commands: what belongs to a module, and how it is packed, is theirs to say.
        let mut zip = program(find("go").context("go is not installed")?);
        zip.folder(&root().join("tests/tools/xtask/gozip")).args(["run", "."]);
        zip.args([module, &version]).args([&folder, &at.join(format!("{version}.zip"))]);
        zip.run()?;
    }
    Ok(())
}

pub(super) fn python(making: &Making) -> anyhow::Result<()> {
    let home = root().join("target/tools/python-packages");
    venv(&home, &root().join("tests/tools/xtask/python/requirements.lock"))?;
    let into = making.folder("python")?;
    let mut build = program(home.join("bin/python"));
    build.args(["-m", "build", "--no-isolation", "--outdir"]).args([&into, &making.tree.join("clients/python")]);
    build.env("SOURCE_DATE_EPOCH", &making.epoch).run()?;
    let mut check = program(home.join("bin/twine"));
    check.args(["check", "--strict"]);
    for file in fs::read_dir(&into)? {
        check.args([file?.path()]);
    }
    check.run()
}

/// Lays out the artifacts as a Maven repository, without signatures.
pub(super) fn java(making: &Making) -> anyhow::Result<()> {
    let mut deploy = program(find("mvn").context("mvn is not installed")?);
    deploy.folder(&making.tree.join("clients/java"));
    deploy.args(["-B", "-ntp", "-Prelease", "-DskipTests", "deploy"]);
    deploy.args([format!("-DaltDeploymentRepository=release::file://{}", making.folder("maven")?.display())]);
    deploy.args(["-pl", "client,shedlock,spring-boot-starter,spring-integration,."]).run()?;
    // Lists of versions have the time at which they were made, and registries make their own.
    for list in files(&making.into.join("maven"), &["xml", "md5", "sha1", "sha256", "sha512"])? {
        if list.to_string_lossy().contains("/maven-metadata.xml") {
            fs::remove_file(list)?;
        }
    }
    Ok(())
}

pub(super) fn typescript(making: &Making) -> anyhow::Result<()> {
    let folder = making.tree.join("clients/typescript");
    let npm = find("npm").context("npm is not installed")?;
    let own = root().join("clients/typescript/node_modules");
    match own.is_dir() {
        true => std::os::unix::fs::symlink(own, folder.join("node_modules"))?,
        false => program(&npm).folder(&folder).args(["install", "--no-save", "--no-audit", "--no-fund"]).run()?,
    }
    program(&npm).folder(&folder).args(["run", "--silent", "build"]).run()?;
    program(&npm).folder(&folder).args(["pack", "--pack-destination"]).args([making.folder("npm")?]).run()
}
