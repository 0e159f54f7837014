//! Generates the Rust code of the contract. The result is committed; the test command proves that it is fresh.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use prost::Message;

/// The proto files, relative to `proto/`.
const FILES: [&str; 5] = [
    "tenure/v1/error.proto",
    "tenure/v1/lock.proto",
    "tenure/v1/session.proto",
    "tenure/v1/stream.proto",
    "tenure/v1/watch.proto",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where the generated code is committed.
pub fn generated_folder() -> PathBuf {
    root().join("client-rs/proto/src/generated")
}

/// Writes the generated code and the descriptor set (for reflection) into `folder`.
pub fn write(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder)?;
    let descriptors = protox::Compiler::new([root().join("proto")])?
        .include_imports(true)
        .include_source_info(true)
        .open_files(FILES)?
        .file_descriptor_set();
    tonic_prost_build::configure()
        .out_dir(folder)
        .btree_map(".")
        .compile_fds(descriptors.clone())
        .context("generating Rust code")?;
    let mut without_comments = descriptors;
    for file in &mut without_comments.file {
        file.source_code_info = None;
    }
    fs::write(folder.join("descriptors.binpb"), without_comments.encode_to_vec())?;
    Ok(())
}
