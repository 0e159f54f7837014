//! HTTP/2 frames.

use anyhow::ensure;

/// The connection preface.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The length of a frame header, in bytes.
pub const HEADER: usize = 9;

/// The default maximum frame size, in bytes.
const LONGEST: usize = 16 << 10;

const MAX_WINDOW: u32 = 0x7fff_ffff;
/// The initial window of a connection.
const INITIAL_WINDOW: u32 = 65_535;
/// The setting of the initial stream window.
const INITIAL_WINDOW_SIZE: [u8; 2] = [0, 4];

const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;

/// The type of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A part of a stream.
    Data,
    /// Begins or ends a stream.
    Headers,
    /// Resets a stream.
    Reset,
    /// Parameters of the sender.
    Settings,
    /// A liveness check.
    Ping,
    /// Ends the connection.
    GoAway,
    /// Any other type.
    Other,
}

/// A frame header.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// The length of the payload, in bytes.
    pub length: usize,
    /// The frame's type.
    pub kind: Kind,
    /// The stream. 0: the connection.
    pub stream: u32,
    flags: u8,
}

impl Header {
    /// Parses a header. None if it is incomplete.
    pub fn read(bytes: &[u8]) -> anyhow::Result<Option<Self>> {
        let Some(&[high, middle, low, kind, flags, a, b, c, d]) = bytes.first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes([0, high, middle, low]) as usize;
        let kind = match kind {
            0 => Kind::Data,
            1 => Kind::Headers,
            3 => Kind::Reset,
            4 => Kind::Settings,
            6 => Kind::Ping,
            7 => Kind::GoAway,
            _ => Kind::Other,
        };
        ensure!(length <= LONGEST, "a frame of {length} bytes");
        ensure!(kind != Kind::Data || flags & PADDED == 0, "a padded frame");
        Ok(Some(Self { length, kind, stream: u32::from_be_bytes([a & 0x7f, b, c, d]), flags }))
    }

    /// Whether this is the last frame of the stream.
    pub fn ends_stream(self) -> bool {
        matches!(self.kind, Kind::Data | Kind::Headers) && self.flags & END_STREAM != 0
    }

    /// Whether this is an acknowledgement of our settings or ping.
    pub fn is_ack(self) -> bool {
        self.flags & ACK != 0
    }
}

/// The client's settings: streams begin with the maximum window.
pub fn settings() -> Vec<u8> {
    let mut bytes = Vec::new();
    begin(&mut bytes, 6, 4, 0, 0);
    bytes.extend(INITIAL_WINDOW_SIZE);
    bytes.extend(MAX_WINDOW.to_be_bytes());
    bytes
}

/// Raises the connection's window to the maximum.
pub fn max_window() -> Vec<u8> {
    let mut bytes = Vec::new();
    begin(&mut bytes, 4, 8, 0, 0);
    bytes.extend((MAX_WINDOW - INITIAL_WINDOW).to_be_bytes());
    bytes
}

/// Acknowledges the server's settings.
pub fn settings_ack() -> Vec<u8> {
    let mut bytes = Vec::new();
    begin(&mut bytes, 0, 4, ACK, 0);
    bytes
}

/// Acknowledges the server's ping.
pub fn ping_ack(ping: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    begin(&mut bytes, ping.len(), 6, ACK, 0);
    bytes.extend(ping);
    bytes
}

/// Begins a call.
pub fn headers(stream: u32, path: &str, authority: &str) -> Vec<u8> {
    let mut block = Vec::new();
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", authority),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ];
    for (name, value) in fields {
        // A literal without indexing and without Huffman coding: lengths below 127 take one byte.
        block.push(0);
        for text in [name, value] {
            block.push(text.len() as u8);
            block.extend(text.as_bytes());
        }
    }
    let mut bytes = Vec::new();
    begin(&mut bytes, block.len(), 1, END_HEADERS, stream);
    bytes.extend(block);
    bytes
}

/// Appends a gRPC message, split into frames if necessary.
pub fn message(bytes: &mut Vec<u8>, stream: u32, message: &[u8], is_last: bool) {
    let mut body = vec![0];
    body.extend((message.len() as u32).to_be_bytes());
    body.extend(message);
    let frames = body.chunks(LONGEST);
    let last = frames.len() - 1;
    for (index, part) in frames.enumerate() {
        let flags = if is_last && index == last { END_STREAM } else { 0 };
        begin(bytes, part.len(), 0, flags, stream);
        bytes.extend(part);
    }
}

fn begin(bytes: &mut Vec<u8>, length: usize, kind: u8, flags: u8, stream: u32) {
    bytes.extend(&(length as u32).to_be_bytes()[1..]);
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
}
