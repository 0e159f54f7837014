//! Hand-written HTTP/2 frames (RFC 9113, section 4), including frames that no library would send.

/// The client connection preface.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The length of a frame header.
pub const HEAD: usize = 9;

/// Frame types.
#[allow(missing_docs)]
pub mod kind {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const PRIORITY: u8 = 2;
    pub const RST_STREAM: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PUSH_PROMISE: u8 = 5;
    pub const PING: u8 = 6;
    pub const GOAWAY: u8 = 7;
    pub const WINDOW_UPDATE: u8 = 8;
    pub const CONTINUATION: u8 = 9;
}

/// Frame flags.
#[allow(missing_docs)]
pub mod flag {
    pub const NONE: u8 = 0;
    pub const ACK: u8 = 1;
    pub const END_STREAM: u8 = 1;
    pub const END_HEADERS: u8 = 4;
    pub const PADDED: u8 = 8;
    pub const PRIORITY: u8 = 32;
}

/// Settings of a connection.
#[allow(missing_docs)]
pub mod setting {
    pub const ENABLE_PUSH: u16 = 2;
    pub const INITIAL_WINDOW_SIZE: u16 = 4;
    pub const MAX_FRAME_SIZE: u16 = 5;
}

/// Error codes.
#[allow(missing_docs)]
pub mod code {
    pub const NO_ERROR: u32 = 0;
    pub const PROTOCOL_ERROR: u32 = 1;
    pub const FLOW_CONTROL_ERROR: u32 = 3;
    pub const FRAME_SIZE_ERROR: u32 = 6;
    pub const CANCEL: u32 = 8;
    pub const ENHANCE_YOUR_CALM: u32 = 11;
}

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its type.
    pub kind: u8,
    /// Its flags.
    pub flags: u8,
    /// Its stream id; 0: the connection.
    pub stream: u32,
    /// Its payload.
    pub payload: Vec<u8>,
}

impl Frame {
    /// Parses the frame at the beginning of `bytes`, and returns it with its length. `None`: incomplete.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<(Self, usize)> {
        let [a, b, c, kind, flags, s0, s1, s2, s3, ..] = *bytes else { return None };
        let end = HEAD + u32::from_be_bytes([0, a, b, c]) as usize;
        let payload = bytes.get(HEAD..end)?.to_vec();
        let stream = u32::from_be_bytes([s0 & 0x7f, s1, s2, s3]);
        Some((Self { kind, flags, stream, payload }, end))
    }

    /// The number at this position of the payload: the code of a reset, the second one that of a GOAWAY.
    #[must_use]
    pub fn number(&self, at: usize) -> u32 {
        let bytes = self.payload.get(at * 4..at * 4 + 4).and_then(|bytes| bytes.try_into().ok());
        u32::from_be_bytes(bytes.unwrap_or_default())
    }
}

/// Encodes a frame.
#[must_use]
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// SETTINGS.
#[must_use]
pub fn settings(settings: &[(u16, u32)]) -> Vec<u8> {
    let payload = settings.iter().flat_map(|(name, value)| [&name.to_be_bytes()[..], &value.to_be_bytes()].concat());
    frame(kind::SETTINGS, flag::NONE, 0, &payload.collect::<Vec<u8>>())
}

/// HEADERS with a complete block.
#[must_use]
pub fn headers(stream: u32, end_stream: bool, block: &[u8]) -> Vec<u8> {
    let end = if end_stream { flag::END_STREAM } else { flag::NONE };
    frame(kind::HEADERS, flag::END_HEADERS | end, stream, block)
}

/// DATA.
#[must_use]
pub fn data(stream: u32, end_stream: bool, payload: &[u8]) -> Vec<u8> {
    frame(kind::DATA, if end_stream { flag::END_STREAM } else { flag::NONE }, stream, payload)
}

/// WINDOW_UPDATE.
#[must_use]
pub fn window_update(stream: u32, by: u32) -> Vec<u8> {
    frame(kind::WINDOW_UPDATE, flag::NONE, stream, &by.to_be_bytes())
}

/// RST_STREAM.
#[must_use]
pub fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(kind::RST_STREAM, flag::NONE, stream, &code.to_be_bytes())
}

/// PING.
#[must_use]
pub fn ping(text: [u8; 8]) -> Vec<u8> {
    frame(kind::PING, flag::NONE, 0, &text)
}

/// PRIORITY: makes `stream` depend on `on`.
#[must_use]
pub fn priority(stream: u32, on: u32) -> Vec<u8> {
    frame(kind::PRIORITY, flag::NONE, stream, &[&on.to_be_bytes()[..], &[16]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_round_trip() {
        let bytes = [reset(3, code::CANCEL), ping(*b"are here")].concat();
        let (first, length) = Frame::parse(&bytes).expect("a whole frame");
        assert_eq!((first.kind, first.stream, first.number(0)), (kind::RST_STREAM, 3, code::CANCEL));
        let (second, _) = Frame::parse(&bytes[length..]).expect("a whole frame");
        assert_eq!((second.kind, &second.payload[..]), (kind::PING, &b"are here"[..]));
        assert_eq!(Frame::parse(&bytes[..length - 1]), None);
    }
}
