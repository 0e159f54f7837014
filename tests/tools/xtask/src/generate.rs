//! Generates the Rust code of the contract. The result is committed; `check` asserts that it is up to date.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use prost::Message;
use prost_types::FileDescriptorSet;

use crate::programs::root;

/// The folder of the committed generated code.
pub fn generated_folder() -> PathBuf {
    root().join("client-rs/proto/src/generated")
}

/// The contract with clients, which reflection exposes, and the messages between servers.
const PACKAGES: [&str; 2] = ["tenure/v1", "tenure/internal/v1"];

/// The proto files of a package, relative to `proto/`, sorted.
fn proto_files(package: &str) -> anyhow::Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root().join("proto").join(package)).context("reading proto/")? {
        let name = entry?.file_name().display().to_string();
        if name.ends_with(".proto") {
            files.push(format!("{package}/{name}"));
        }
    }
    files.sort();
    Ok(files)
}

/// Writes the generated code and the descriptor set (for reflection) into `folder`.
pub fn write(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder)?;
    for package in PACKAGES {
        let descriptors = protox::Compiler::new([root().join("proto")])?
            .include_imports(true)
            .include_source_info(true)
            .open_files(proto_files(package)?)?
            .file_descriptor_set();
        tonic_prost_build::configure()
            .out_dir(folder)
            .btree_map(".")
            // The constructors named `connect` would collide with ClientService.Connect.
            .build_transport(false)
            // Boxed because it is large, and the states of a stream are adjacent in memory.
            .boxed(".tenure.v1.WaitingState.holder")
            .boxed(".tenure.v1.BusyState.holder")
            .boxed(".tenure.v1.State.kind.rejected")
            // Encoded once for all recipients.
            .bytes(".tenure.internal.v1.Batch.events")
            .codec_path("crate::codec::Codec")
            .compile_fds(descriptors.clone())
            .context("generating Rust code")?;
        if package == PACKAGES[0] {
            write_descriptors(folder, descriptors)?;
        }
    }
    Ok(())
}

fn write_descriptors(folder: &Path, descriptors: FileDescriptorSet) -> anyhow::Result<()> {
    let mut without_comments = descriptors;
    for file in &mut without_comments.file {
        file.source_code_info = None;
    }
    fs::write(folder.join("descriptors.binpb"), without_comments.encode_to_vec())?;
    Ok(())
}

/// Compares the committed code with newly generated code.
pub fn check() -> anyhow::Result<()> {
    let fresh = tempfile::tempdir()?;
    write(fresh.path())?;
    let (fresh, committed) = (files(fresh.path())?, files(&generated_folder())?);
    let names = fresh.keys().chain(committed.keys()).collect::<std::collections::BTreeSet<_>>();
    let stale: Vec<&str> =
        names.into_iter().filter(|name| fresh.get(*name) != committed.get(*name)).map(String::as_str).collect();
    if !stale.is_empty() {
        bail!("outdated: {}. Run `cargo xtask generate` and commit", stale.join(", "));
    }
    println!("up to date: {}", fresh.keys().cloned().collect::<Vec<_>>().join(", "));
    Ok(())
}

fn files(folder: &Path) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        files.insert(entry.file_name().display().to_string(), fs::read(entry.path())?);
    }
    Ok(files)
}
