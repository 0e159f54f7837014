//! Tests that the disk behaves like a real one: synced data survives a cut, and data only written need not.

use std::fs;
use std::io::Write;
use std::process::Command;

use rand::SeedableRng;
use rand::rngs::StdRng;
use tenure_power::{Barriers, Cut, Cutter, Disk, Drive, Image, Keeps, obstacle};

const SIZE: usize = 32 << 20;

/// Returns whether a file written with these `dd` arguments survives a cut.
fn survives(barriers: Barriers, how: &[&str]) -> Option<bool> {
    if let Some(obstacle) = obstacle() {
        // Not with eprintln, whose output is shown for failed tests only.
        let _ = writeln!(std::io::stderr(), "SKIPPED: no disk is plugged in, because {obstacle}");
        return None;
    }
    let disk = Disk::new(Image::new(SIZE));
    let drive = Drive::plug_in(&disk).expect("a drive");
    drive.format().expect("a file system");
    let before = disk.position();
    drive.mount(barriers).expect("a file system is mounted");
    let file = drive.files().join("file");
    let mut dd = Command::new("dd");
    dd.args(["if=/dev/zero", "bs=4096", "count=3", "status=none"]).arg(format!("of={}", file.display())).args(how);
    assert!(dd.status().expect("dd runs").success());
    let after = disk.position();
    drop(drive);

    let cut = Cut { position: after, keeps: Keeps::Nothing };
    let tape = disk.take_tape();
    // The empty file system survives in any case.
    let (image, _) = Cutter::new(&tape, after - before).cut(cut, &mut StdRng::seed_from_u64(0));
    let drive = Drive::plug_in(&Disk::new(image)).expect("a drive");
    drive.mount(Barriers::On).expect("a file system is mounted");
    let copies = tempfile::tempdir().expect("a folder");
    drive.copy_files(copies.path()).expect("what is left is copied");
    let length = fs::metadata(copies.path().join("file")).map(|metadata| metadata.len());
    drive.unmount().expect("nobody uses it");
    drive.check().expect("a sound file system");
    Some(length.is_ok_and(|length| length == 3 * 4096))
}

#[test]
fn what_was_synced_survives() {
    let Some(survives) = survives(Barriers::On, &["conv=fsync"]) else { return };
    assert!(survives);
}

#[test]
fn what_was_only_written_does_not() {
    let Some(survives) = survives(Barriers::On, &[]) else { return };
    assert!(!survives);
}

#[test]
fn without_barriers_nothing_need_survive() {
    let Some(survives) = survives(Barriers::Off, &["conv=fsync"]) else { return };
    assert!(!survives);
}
