//! The contents of a disk.

use std::sync::Arc;

/// The granularity at which copies of an image share bytes until one of them is written to.
const BLOCK: usize = 4096;

/// The contents of a disk. Copies are cheap. Bytes never written are zero.
#[derive(Clone, Debug)]
pub struct Image {
    blocks: Vec<Option<Arc<[u8; BLOCK]>>>,
}

impl Image {
    /// A new disk of this size, rounded up to a whole block.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self { blocks: vec![None; size.div_ceil(BLOCK)] }
    }

    /// The size in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.blocks.len() * BLOCK
    }

    /// Reads `length` bytes from an offset on, or fewer at the end of the disk.
    #[must_use]
    pub fn read(&self, mut offset: usize, length: usize) -> Vec<u8> {
        let end = offset.saturating_add(length).min(self.size());
        let mut bytes = Vec::with_capacity(end.saturating_sub(offset));
        while offset < end {
            let (block, from, part) = piece(offset, end);
            match &self.blocks[block] {
                Some(block) => bytes.extend_from_slice(&block[from..from + part]),
                None => bytes.resize(bytes.len() + part, 0),
            }
            offset += part;
        }
        bytes
    }

    /// Writes at an offset. Bytes beyond the end of the disk are dropped.
    pub fn write(&mut self, mut offset: usize, mut bytes: &[u8]) {
        let end = offset.saturating_add(bytes.len()).min(self.size());
        while offset < end {
            let (block, from, part) = piece(offset, end);
            let (now, later) = bytes.split_at(part);
            let block = self.blocks[block].get_or_insert_with(|| Arc::new([0; BLOCK]));
            Arc::make_mut(block)[from..from + part].copy_from_slice(now);
            (offset, bytes) = (offset + part, later);
        }
    }
}

/// The block of an offset, the offset within the block, and the number of bytes up to the end or the next block.
fn piece(offset: usize, end: usize) -> (usize, usize, usize) {
    let from = offset % BLOCK;
    (offset / BLOCK, from, (BLOCK - from).min(end - offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_across_blocks_is_read_back_and_other_bytes_are_zero() {
        let mut image = Image::new(3 * BLOCK);
        let bytes: Vec<u8> = (0..BLOCK + 20).map(|byte| (byte % 251) as u8 + 1).collect();
        image.write(BLOCK - 10, &bytes);
        assert_eq!(image.read(BLOCK - 10, bytes.len()), bytes);
        assert_eq!(image.read(BLOCK - 11, 2), [0, 1]);
        assert_eq!(image.read(2 * BLOCK + 9, 3), [bytes[bytes.len() - 1], 0, 0]);
    }

    #[test]
    fn bytes_beyond_the_end_are_dropped() {
        let mut image = Image::new(BLOCK);
        image.write(BLOCK - 1, &[1, 2]);
        assert_eq!(image.read(BLOCK - 1, 9), [1]);
        assert_eq!(image.read(BLOCK, 1), [0; 0]);
        assert_eq!(image.read(2 * BLOCK, 1), [0; 0]);
    }

    #[test]
    fn copy_is_unaffected_by_later_writes() {
        let mut image = Image::new(BLOCK);
        image.write(0, &[1]);
        let copy = image.clone();
        image.write(0, &[2]);
        assert_eq!((copy.read(0, 1), image.read(0, 1)), (vec![1], vec![2]));
    }
}
