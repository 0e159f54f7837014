//! Tests that the disk behaves like a real one: synced data survives a cut, and data only written need not.

use std::fs;
use std::io::Write;
use std::process::Command;

use rand::SeedableRng;
use rand::rngs::StdRng;
use tenure_power::{Barriers, Cut, Cutter, Disk, Drive, Image, Surviving, obstacle};

const SIZE: usize = 32 << 20;

/// Returns whether a file written with these `dd` arguments survives a cut.
fn survives(barriers: Barriers, how: &[&str]) -> Option<bool> {
    if let Some(obstacle) = obstacle() {
        // Not with eprintln, whose output is shown for failed tests only.
        let _ = writeln!(std::io::stderr(), "SKIPPED: no disk is attached, because {obstacle}");
        return None;
    }
    let disk = Disk::new(Image::new(SIZE));
    let drive = Drive::attach(&disk).expect("a drive");
    drive.format().expect("a file system");
    let before = disk.position();
    drive.mount(barriers).expect("a file system is mounted");
    let file = drive.files().join("file");
    let mut dd = Command::new("dd");
    dd.args(["if=/dev/zero", "bs=4096", "count=3", "status=none"]).arg(format!("of={}", file.display())).args(how);
    assert!(dd.status().expect("dd runs").success());
    let after = disk.position();
    drop(drive);

    let cut = Cut { position: after, surviving: Surviving::Nothing };
    let write_log = disk.take_write_log();
    // The empty file system survives in any case.
    let (image, _) = Cutter::new(&write_log, after - before).cut(cut, &mut StdRng::seed_from_u64(0));
    let drive = Drive::attach(&Disk::new(image)).expect("a drive");
    drive.mount(Barriers::On).expect("a file system is mounted");
    let copies = tempfile::tempdir().expect("a folder");
    drive.copy_files(copies.path()).expect("the remaining files are copied");
    let length = fs::metadata(copies.path().join("file")).map(|metadata| metadata.len());
    drive.unmount().expect("the drive is not in use");
    drive.check().expect("a sound file system");
    Some(length.is_ok_and(|length| length == 3 * 4096))
}

#[test]
fn synced_data_survives() {
    let Some(survives) = survives(Barriers::On, &["conv=fsync"]) else { return };
    assert!(survives);
}

#[test]
fn data_that_was_only_written_is_lost() {
    let Some(survives) = survives(Barriers::On, &[]) else { return };
    assert!(!survives);
}

#[test]
fn synced_data_without_barriers_is_lost() {
    let Some(survives) = survives(Barriers::Off, &["conv=fsync"]) else { return };
    assert!(!survives);
}
