//! The container image, built from scratch and run as intended.

pub mod bases;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::Args;
use serde_json::Value;

use crate::programs::{Program, find, program, root};

/// The folder of images, layers and build leftovers, which is removed at the end.
const HOME: &str = "target/container";

/// The name of the image in that storage.
pub const IMAGE: &str = "localhost/tenure";

/// The script that runs in it.
const EXERCISE: &str = include_str!("container/exercise.sh");

#[derive(Args)]
pub struct Container {
    /// Build in and on images that are made here, of Debian's packages (by mmdebstrap) and this machine's Rust, in
    /// place of those that the Dockerfile names: for a machine that reaches no registry of images.
    #[arg(long)]
    from_packages: bool,
    /// Run the image of this archive, as `docker load` takes it, in place of building one.
    #[arg(long, value_name = "FILE", conflicts_with = "from_packages")]
    archive: Option<PathBuf>,
}

/// Builds the image and runs it: as root, by buildah, which needs no daemon.
pub fn check(options: &Container) -> anyhow::Result<()> {
    Buildah::within(|buildah, home| {
        match &options.archive {
            Some(archive) => buildah.load(archive)?,
            None => {
                let mut build = buildah.build();
                if options.from_packages {
                    build.args(bases::make(buildah, home)?);
                }
                build.args(["."]).run()?;
            }
        }
        buildah.exercise()
    })
}

/// buildah, with images of its own.
pub struct Buildah {
    program: PathBuf,
    home: PathBuf,
}

impl Buildah {
    fn at(home: &Path) -> anyhow::Result<Self> {
        let Some(program) = find("buildah") else {
            bail!("buildah is not installed (Debian: apt-get install buildah)")
        };
        fs::create_dir_all(home.join("tmp"))?;
        fs::create_dir_all(home.join("data"))?;
        Ok(Self { program, home: home.to_path_buf() })
    }

    /// Does this with a buildah that has a folder of its own, which is removed afterwards.
    pub fn within(work: impl FnOnce(&Self, &Path) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let home = root().join(HOME);
        let buildah = Self::at(&home)?;
        let done = work(&buildah, &home);
        buildah.remove(&home)?;
        done
    }

    /// A buildah command, on a storage of its own.
    pub fn run(&self, command: &str) -> Program {
        let mut run = program(&self.program);
        run.env("TMPDIR", &self.home.join("tmp").display().to_string());
        run.args(["--root"]).args([self.home.join("storage")]).args(["--runroot"]).args([self.home.join("run")]);
        run.args([command]);
        run
    }

    /// A buildah command that prints a single value.
    fn query(&self, command: &str, arguments: &[&str]) -> anyhow::Result<String> {
        let output = self.run(command).args(arguments).output().with_context(|| format!("buildah {command}"))?;
        Ok(output.trim().to_owned())
    }

    /// A build of the image, to which a folder is still to be added.
    pub fn build(&self) -> Program {
        let mut build = self.run("build");
        // Without containers for the build's own processes, it works also within a container.
        build.args([
            "--isolation",
            "chroot",
            "--format",
            "docker",
            "--file",
            "deploy/image/Dockerfile",
            "--tag",
            IMAGE,
        ]);
        build
    }

    /// Takes the image from an archive.
    fn load(&self, archive: &Path) -> anyhow::Result<()> {
        let image = self.query("pull", &["--quiet", &format!("docker-archive:{}", archive.display())])?;
        self.run("tag").args([&image, IMAGE]).run()
    }

    fn exercise(&self) -> anyhow::Result<()> {
        let inspected = self.query("inspect", &["--type", "image", IMAGE])?;
        let inspected: Value = serde_json::from_str(&inspected).context("buildah inspect")?;
        let config = inspected.pointer("/Docker/config").context("the image has no configuration")?;
        let user = config["User"].as_str().unwrap_or_default();
        ensure!(user == "65532:65532", "the image's user is {user:?}");
        let own = "/usr/local/bin/tenured";
        ensure!(
            config["Entrypoint"] == serde_json::json!([own]),
            "the image's entry point is {}",
            config["Entrypoint"]
        );
        let healthcheck = &config["Healthcheck"]["Test"];
        ensure!(
            *healthcheck == serde_json::json!(["CMD", own, "healthcheck"]),
            "the image's health check is {healthcheck}"
        );

        let container = self.query("from", &["--pull-never", IMAGE])?;
        let folder = self.query("mount", &[&container])?;
        let data = self.home.join("data");
        program("chown").args([user]).args([&data]).run()?;
        let environment = config["Env"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let mut run = program("env");
        run.args(["--ignore-environment"]).args(environment.filter(|variable| !variable.starts_with("PATH=")));
        run.args([
            "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
            "unshare",
            "--mount",
            "--net",
            "--pid",
            "--fork",
            "--kill-child",
        ]);
        run.args(["sh", "-c", EXERCISE, "exercise", &folder]).args([&data]).args([user]).run()
    }

    fn remove(&self, home: &Path) -> anyhow::Result<()> {
        self.run("rm").args(["--all"]).run()?;
        self.run("rmi").args(["--all", "--force"]).run()?;
        fs::remove_dir_all(home).with_context(|| format!("removing {}", home.display()))
    }
}
