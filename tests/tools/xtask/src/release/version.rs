//! The version of everything that is released: that of the workspace. Each language's manifest repeats it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use semver::Version;

use crate::programs::{files, root};

/// Where the version is repeated: a file, and the text around it there.
const PLACES: [(&str, &str, &str); 16] = [
    ("Cargo.toml", "[workspace.package]\nversion = \"", "\""),
    ("Cargo.toml", "path = \"client-rs/proto\", version = \"", "\""),
    ("README.md", "`io.tenure:tenure-client:", "`"),
    ("clients/guides/ko/README.md", "`io.tenure:tenure-client:", "`"),
    ("clients/go/leaderelection/go.mod", "github.com/tenure-lock/tenure/clients/go v", "\n"),
    ("clients/java/README.md", "<version>", "</version>"),
    ("clients/java/README.md", "io.tenure:tenure-client:", "\""),
    ("clients/java/pom.xml", "<artifactId>tenure-parent</artifactId>\n  <version>", "</version>"),
    ("clients/python/pyproject.toml", "\nversion = \"", "\""),
    ("clients/typescript/package.json", "\n  \"version\": \"", "\""),
    ("clients/typescript/package-lock.json", "{\n  \"name\": \"tenure-client\",\n  \"version\": \"", "\""),
    ("clients/typescript/package-lock.json", "      \"name\": \"tenure-client\",\n      \"version\": \"", "\""),
    ("deploy/helm/tenure/Chart.yaml", "\nversion: ", "\n"),
    ("deploy/helm/tenure/Chart.yaml", "\nappVersion: ", "\n"),
    ("deploy/image/Dockerfile", "ARG VERSION=", "\n"),
    ("tests/static/chart/golden/everything.yaml", "image: registry.example/tenure:", "\n"),
];

/// The text around the version in the manifests of Maven's modules.
const PARENT: (&str, &str) = ("<artifactId>tenure-parent</artifactId>\n    <version>", "</version>");

/// The text around the version in the chart as it is rendered.
const RENDERED: [(&str, &str); 2] = [("app.kubernetes.io/version: \"", "\""), ("helm.sh/chart: tenure-", "\n")];

/// The version of this tree.
///
/// # Errors
/// If it is not repeated everywhere.
pub fn of_tree() -> anyhow::Result<String> {
    let mut places = places()?.into_iter();
    let first = places.next().context("no places")?;
    let version = first.version()?;
    for place in places {
        let found = place.version()?;
        let (file, text) = (place.file.display(), place.before.trim());
        ensure!(
            found == version,
            "{file} has version {found} after {text:?}, Cargo.toml {version}: `cargo xtask version {version}`"
        );
    }
    Ok(version)
}

/// Makes this the version of the tree.
pub fn set(version: &str) -> anyhow::Result<()> {
    let version =
        Version::parse(version).with_context(|| format!("{version}: a version is like 1.2.3 or 1.2.3-rc.1"))?;
    ensure!(version.build.is_empty(), "{version}: registries ignore what follows +");
    for place in places()? {
        let path = root().join(&place.file);
        let text = fs::read_to_string(&path)?;
        let old = place.version()?;
        let (before, after) = (place.before, place.after);
        fs::write(&path, text.replace(&format!("{before}{old}{after}"), &format!("{before}{version}{after}")))?;
    }
    Ok(())
}

struct Place {
    file: PathBuf,
    before: &'static str,
    after: &'static str,
}

impl Place {
    /// The version there: the first, where there are several.
    fn version(&self) -> anyhow::Result<String> {
        let file = self.file.display();
        let text = fs::read_to_string(root().join(&self.file)).with_context(|| file.to_string())?;
        let found = text.split_once(self.before).and_then(|(_, rest)| rest.split_once(self.after));
        match found {
            Some((version, _)) if Version::parse(version).is_ok() => Ok(version.to_owned()),
            _ => bail!("{file} has no version between {:?} and {:?}", self.before, self.after),
        }
    }
}

fn places() -> anyhow::Result<Vec<Place>> {
    let place = |file: &str, before, after| Place { file: PathBuf::from(file), before, after };
    let mut all: Vec<Place> = PLACES.into_iter().map(|(file, before, after)| place(file, before, after)).collect();
    let chart = "tests/static/chart/golden/everything.yaml";
    all.extend(RENDERED.map(|(before, after)| place(chart, before, after)));
    let java = root().join("clients/java");
    for module in files(&java, &["xml"])? {
        let text = fs::read_to_string(&module)?;
        if module.ends_with("pom.xml") && text.contains(PARENT.0) {
            let file = module.strip_prefix(root()).unwrap_or(&module);
            all.push(Place { file: Path::to_path_buf(file), before: PARENT.0, after: PARENT.1 });
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_manifest_has_the_version_of_the_workspace() {
        assert_eq!(of_tree().unwrap(), env!("CARGO_PKG_VERSION"));
    }
}
