//! What a release was made of, and what it is: bills of materials, checksums, provenance.

use std::fs;

use anyhow::Context;
use serde_json::json;

use super::Making;
use crate::programs::{cargo_tool, program};

/// The program that lists what the programs are made of.
const CYCLONEDX: (&str, &str) = ("cargo-cyclonedx", "0.5.9");

/// The bills of materials, and the folders of their packages.
const BILLS: [(&str, &str); 2] = [("tenured", "server"), ("tenure", "client-rs/cli")];

pub(super) fn make(making: &Making) -> anyhow::Result<()> {
    let folder = making.folder("evidence")?;
    let (name, version) = CYCLONEDX;
    let mut list = program(cargo_tool(name, version)?);
    list.folder(&making.tree).args(["cyclonedx", "--format", "json", "--override-filename", "bill"]);
    // The time of the commit, and no number by chance.
    list.env("SOURCE_DATE_EPOCH", &making.epoch).run()?;
    for (name, package) in BILLS {
        let bill = fs::read_to_string(making.tree.join(package).join("bill.json"))?;
        let bill = bill.replace(&making.tree.display().to_string(), "/tenure");
        fs::write(folder.join(format!("{name}.cdx.json")), bill)?;
    }
    let files = "find . -type f -not -path './tree/*' -not -name SHA256SUMS -not -name provenance.json | sort | xargs sha256sum";
    let sums = program("sh").folder(&making.into).args(["-c", files]).output()?;
    fs::write(making.into.join("SHA256SUMS"), &sums)?;
    let subjects = sums.lines().map(|line| {
        let (digest, name) = line.split_once("  ./").with_context(|| line.to_owned())?;
        Ok(json!({ "name": name, "digest": { "sha256": digest } }))
    });
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects.collect::<anyhow::Result<Vec<_>>>()?,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "https://github.com/tenure-lock/tenure/blob/main/deploy/releases.md",
                "externalParameters": { "version": making.version },
                "resolvedDependencies": [
                    { "uri": "git+https://github.com/tenure-lock/tenure", "digest": { "gitCommit": making.commit } },
                ],
            },
            "runDetails": { "builder": { "id": "https://github.com/tenure-lock/tenure/blob/main/deploy/releases.md" } },
        },
    });
    Ok(fs::write(folder.join("provenance.json"), serde_json::to_string_pretty(&statement)?)?)
}
