//! Finds the boundaries of gRPC messages in a byte stream.

/// The length of the prefix of each message: the compression flag and the message length.
const PREFIX: usize = 5;

/// Parses message prefixes.
#[derive(Default)]
pub(crate) struct Frames {
    /// The received part of the prefix.
    prefix: [u8; PREFIX],
    /// The number of bytes received of an incomplete message, with its prefix.
    have: usize,
    /// The length of the message with its prefix, once that has been received.
    len: usize,
    longest: usize,
}

impl Frames {
    /// Returns the number of messages that `data` completes.
    pub(crate) fn count(&mut self, mut data: &[u8]) -> u64 {
        let mut messages = 0;
        while !data.is_empty() {
            if self.have < PREFIX {
                let (prefix, rest) = data.split_at(data.len().min(PREFIX - self.have));
                self.prefix[self.have..self.have + prefix.len()].copy_from_slice(prefix);
                self.have += prefix.len();
                data = rest;
                if self.have < PREFIX {
                    break;
                }
                let [_, len @ ..] = self.prefix;
                let len = usize::try_from(u32::from_be_bytes(len)).unwrap_or(usize::MAX);
                self.len = PREFIX.saturating_add(len);
                self.longest = self.longest.max(len);
            }
            let taken = data.len().min(self.len - self.have);
            self.have += taken;
            data = &data[taken..];
            if self.have == self.len {
                self.have = 0;
                messages += 1;
            }
        }
        messages
    }

    /// The number of bytes received of an incomplete message.
    pub(crate) fn incomplete(&self) -> usize {
        self.have
    }

    /// The length of the longest message that has begun.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_counted_in_pieces_of_any_size() {
        let mut wire = Vec::new();
        let lengths = [0_u8, 1, 7, 0, 200];
        for length in lengths {
            wire.extend([0, 0, 0, 0, length]);
            wire.extend(std::iter::repeat_n(1, length.into()));
        }
        for piece in 1..=wire.len() {
            let mut frames = Frames::default();
            let counted: u64 = wire.chunks(piece).map(|data| frames.count(data)).sum();
            assert_eq!(counted, lengths.len() as u64, "in pieces of {piece}");
            assert_eq!((frames.incomplete(), frames.longest()), (0, 200));
            assert_eq!(frames.count(&[0, 0, 0, 0]), 0);
            assert_eq!(frames.incomplete(), 4);
            assert_eq!(frames.count(&[9, 1, 2]), 0, "incomplete");
            assert_eq!((frames.incomplete(), frames.longest()), (7, 200));
        }
    }
}
