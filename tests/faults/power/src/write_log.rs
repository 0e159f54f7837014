//! The record of a disk's writes and flushes, and the images that a power cut may leave.

use std::fmt;
use std::ops::Range;

use rand::RngExt;
use rand::rngs::StdRng;

use crate::image::Image;

/// A command that the disk received.
#[derive(Debug)]
pub(crate) enum Entry {
    /// A write, which goes to the disk's cache, and becomes durable sooner or later.
    Write { offset: usize, bytes: Box<[u8]> },
    /// A flush: all writes so far become durable.
    Flush,
    /// A write that a failed flush discarded.
    Discarded,
}

/// All commands that a disk received, from some content on.
#[derive(Debug)]
pub struct WriteLog {
    base: Image,
    pub(crate) entries: Vec<Entry>,
}

impl WriteLog {
    pub(crate) fn new(base: Image) -> Self {
        Self { base, entries: Vec::new() }
    }

    /// The number of writes.
    #[must_use]
    pub fn writes(&self) -> usize {
        self.entries.iter().filter(|entry| matches!(entry, Entry::Write { .. })).count()
    }

    /// The number of flushes.
    #[must_use]
    pub fn flushes(&self) -> usize {
        self.entries.iter().filter(|entry| matches!(entry, Entry::Flush)).count()
    }
}

/// The unflushed writes that survive a power cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Surviving {
    /// None.
    Nothing,
    /// All.
    Everything,
    /// The first ones.
    First,
    /// A random subset of the writes, each with this probability.
    Writes(f64),
    /// A random subset of their sectors of this size in bytes, each with this probability.
    Sectors(usize, f64),
}

impl fmt::Display for Surviving {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => write!(formatter, "none of them"),
            Self::Everything => write!(formatter, "all of them"),
            Self::First => write!(formatter, "the first of them"),
            Self::Writes(share) => write!(formatter, "about {share} of them"),
            Self::Sectors(size, share) => write!(formatter, "about {share} of their sectors of {size} bytes"),
        }
    }
}

impl Surviving {
    /// Chooses one of these.
    pub fn any(random: &mut StdRng) -> Self {
        let share = [0.1, 0.5, 0.9][random.random_range(0..3)];
        match random.random_range(0..10) {
            0 | 1 => Self::Nothing,
            2 => Self::Everything,
            3 => Self::First,
            4 | 5 => Self::Writes(share),
            6 | 7 => Self::Sectors(4096, share),
            _ => Self::Sectors(512, share),
        }
    }
}

/// A power cut, as the disk sees it.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// The position of the cut in the write log.
    pub position: usize,
    /// The unflushed writes that survive.
    pub surviving: Surviving,
}

/// Creates the images that power cuts leave, from the start of the write log to its end.
#[derive(Debug)]
pub struct Cutter<'a> {
    write_log: &'a WriteLog,
    /// The maximum number of writes in the disk's cache.
    cache: usize,
    /// The durable content ...
    durable: Image,
    /// ... after this many entries.
    until: usize,
}

impl<'a> Cutter<'a> {
    /// `cache`: the maximum number of writes in the disk's cache. Earlier ones become durable without a flush.
    #[must_use]
    pub fn new(write_log: &'a WriteLog, cache: usize) -> Self {
        Self { write_log, cache, durable: write_log.base.clone(), until: 0 }
    }

    /// Returns the image after a cut, which must not come before an earlier one, and the number of unflushed writes.
    ///
    /// # Panics
    /// If the cut is beyond the end of the write log.
    pub fn cut(&mut self, cut: Cut, random: &mut StdRng) -> (Image, usize) {
        let entries = &self.write_log.entries[..cut.position];
        let flushed = entries.iter().rposition(|entry| matches!(entry, Entry::Flush)).map_or(0, |flush| flush + 1);
        let surely = flushed.max(cut.position.saturating_sub(self.cache)).max(self.until);
        for entry in &entries[self.until..surely] {
            if let Entry::Write { offset, bytes } = entry {
                self.durable.write(*offset, bytes);
            }
        }
        self.until = surely;
        let mut image = self.durable.clone();
        let volatile = &entries[surely..];
        let first = random.random_range(0..=volatile.len());
        for (number, entry) in volatile.iter().enumerate() {
            if let Entry::Write { offset, bytes } = entry {
                for part in parts(cut.surviving, *offset, bytes.len(), number < first, random) {
                    image.write(offset + part.start, &bytes[part]);
                }
            }
        }
        (image, volatile.len())
    }
}

/// The parts of a write that survive.
fn parts(surviving: Surviving, offset: usize, length: usize, is_first: bool, random: &mut StdRng) -> Vec<Range<usize>> {
    let whole = |survives: bool| survives.then_some(0..length).into_iter().collect();
    match surviving {
        Surviving::Nothing => whole(false),
        Surviving::Everything => whole(true),
        Surviving::First => whole(is_first),
        Surviving::Writes(share) => whole(random.random_bool(share)),
        Surviving::Sectors(size, share) => {
            let (first, last) = (offset / size, (offset + length).div_ceil(size));
            let sectors = (first..last).filter(|_| random.random_bool(share));
            sectors
                .map(|sector| (sector * size).max(offset) - offset..((sector + 1) * size).min(offset + length) - offset)
                .collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::disk::Disk;

    const SECTOR: usize = 512;

    /// One write of eight sectors, flushed; then a second and a third at the same offset.
    fn write_log() -> WriteLog {
        let disk = Disk::new(Image::new(8 * SECTOR));
        disk.write(0, &[1; 8 * SECTOR]);
        disk.flush();
        disk.write(0, &[2; 8 * SECTOR]);
        disk.write(0, &[3; 4 * SECTOR]);
        disk.take_write_log()
    }

    fn remaining(surviving: Surviving, position: usize, seed: u64) -> Vec<u8> {
        let write_log = write_log();
        let (image, _) =
            Cutter::new(&write_log, usize::MAX).cut(Cut { position, surviving }, &mut StdRng::seed_from_u64(seed));
        image.read(0, 8 * SECTOR)
    }

    #[test]
    fn flushed_writes_survive_every_cut() {
        assert_eq!(remaining(Surviving::Nothing, 4, 0), [1; 8 * SECTOR]);
        for seed in 0..100 {
            let surviving = Surviving::any(&mut StdRng::seed_from_u64(seed));
            assert!(!remaining(surviving, 2, seed).contains(&0), "{surviving}");
            assert!(!remaining(surviving, 4, seed).contains(&0), "{surviving}");
        }
        assert_eq!(remaining(Surviving::Nothing, 1, 0), [0; 8 * SECTOR]);
    }

    #[test]
    fn later_writes_overwrite_earlier_ones() {
        assert_eq!(remaining(Surviving::Everything, 4, 0), [[3; 4 * SECTOR], [2; 4 * SECTOR]].concat());
        assert_eq!(remaining(Surviving::Everything, 3, 0), [2; 8 * SECTOR]);
    }

    #[test]
    fn sectors_are_whole_and_writes_are_torn() {
        let mut torn = 0;
        for seed in 0..100 {
            let bytes = remaining(Surviving::Sectors(SECTOR, 0.5), 4, seed);
            let sectors: Vec<&[u8]> = bytes.chunks(SECTOR).collect();
            assert!(sectors.iter().all(|sector| sector.iter().all(|byte| *byte == sector[0])));
            torn += usize::from(sectors[4..].iter().any(|sector| sector[0] != sectors[4][0]));
        }
        assert!(torn > 50, "{torn} of 100 writes of four sectors were torn");
    }

    #[test]
    fn parts_of_an_unaligned_write_are_contiguous() {
        let mut random = StdRng::seed_from_u64(0);
        let parts = parts(Surviving::Sectors(SECTOR, 1.0), 100, 2 * SECTOR, false, &mut random);
        assert_eq!(parts, [0..412, 412..924, 924..1024]);
    }

    #[test]
    fn full_cache_makes_the_oldest_write_durable() {
        let write_log = write_log();
        let mut cutter = Cutter::new(&write_log, 1);
        let cut = Cut { position: 4, surviving: Surviving::Nothing };
        let (image, lost) = cutter.cut(cut, &mut StdRng::seed_from_u64(0));
        assert_eq!((image.read(0, 8 * SECTOR), lost), (vec![2; 8 * SECTOR], 1));
    }

    #[test]
    fn cuts_in_sequence_are_independent() {
        let write_log = write_log();
        let mut cutter = Cutter::new(&write_log, usize::MAX);
        for position in 0..=4 {
            let cut = Cut { position, surviving: Surviving::Nothing };
            let (image, _) = cutter.cut(cut, &mut StdRng::seed_from_u64(0));
            assert_eq!(image.read(0, 8 * SECTOR), remaining(Surviving::Nothing, position, 0), "at {position}");
        }
    }
}
