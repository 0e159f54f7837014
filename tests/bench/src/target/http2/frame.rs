//! The frames of HTTP/2.

use anyhow::ensure;

/// What a connection begins with.
pub const OPENING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Before each frame, in bytes.
pub const HEADER: usize = 9;

/// The longest frame that may be sent by default, in bytes.
const LONGEST: usize = 16 << 10;

const WIDEST: u32 = 0x7fff_ffff;
/// What the window of a connection begins as.
const NARROW: u32 = 65_535;
/// The setting with which windows of streams begin.
const INITIAL_WINDOW_SIZE: [u8; 2] = [0, 4];

const END_STREAM: u8 = 1;
const ANSWER: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A part of a stream.
    Data,
    /// Begins or ends a stream.
    Headers,
    /// Breaks a stream off.
    Reset,
    /// What the other side can take.
    Settings,
    /// Asks whether one is there.
    Ping,
    /// Ends the connection.
    GoAway,
    /// Nothing of interest.
    Other,
}

/// What stands before a frame.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// Of what comes after it, in bytes.
    pub length: usize,
    /// What it is.
    pub kind: Kind,
    /// Of which stream. 0: of the connection.
    pub stream: u32,
    flags: u8,
}

impl Header {
    /// Reads one. None if it is not all there.
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

    /// Whether nothing more comes on the stream.
    pub fn ends_stream(self) -> bool {
        matches!(self.kind, Kind::Data | Kind::Headers) && self.flags & END_STREAM != 0
    }

    /// Whether these settings, or this ping, answer our own.
    pub fn is_answer(self) -> bool {
        self.flags & ANSWER != 0
    }
}

/// The client's settings: streams begin with the widest window.
pub fn settings() -> Vec<u8> {
    let mut bytes = Vec::new();
    begin(&mut bytes, 6, 4, 0, 0);
    bytes.extend(INITIAL_WINDOW_SIZE);
    bytes.extend(WIDEST.to_be_bytes());
    bytes
}

/// Widens the connection's window all the way.
pub fn widest_window() -> Vec<u8> {
    let mut bytes = Vec::new();
    begin(&mut bytes, 4, 8, 0, 0);
    bytes.extend((WIDEST - NARROW).to_be_bytes());
    bytes
}

/// Answers the server's settings.
pub fn settings_taken() -> Vec<u8> {
    let mut bytes = Vec::new();
    begin(&mut bytes, 0, 4, ANSWER, 0);
    bytes
}

/// Answers the server's ping.
pub fn pong(ping: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    begin(&mut bytes, ping.len(), 6, ANSWER, 0);
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
        // Literal, kept in no table, not compressed: lengths below 127 take one byte.
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

/// Adds a gRPC message, in as many frames as it takes.
pub fn message(bytes: &mut Vec<u8>, stream: u32, message: &[u8], is_last: bool) {
    let mut body = vec![0];
    body.extend((message.len() as u32).to_be_bytes());
    body.extend(message);
    let frames = body.chunks(LONGEST);
    let last = frames.len() - 1;
    for (place, part) in frames.enumerate() {
        let flags = if is_last && place == last { END_STREAM } else { 0 };
        begin(bytes, part.len(), 0, flags, stream);
        bytes.extend(part);
    }
}

fn begin(bytes: &mut Vec<u8>, length: usize, kind: u8, flags: u8, stream: u32) {
    bytes.extend(&(length as u32).to_be_bytes()[1..]);
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
}
