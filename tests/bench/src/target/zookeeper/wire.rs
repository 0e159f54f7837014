//! ZooKeeper's wire format: frames of big-endian numbers, and of texts and bytes with their lengths before them.

use anyhow::{Context, bail};

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Makes a node.
    Create = 1,
    /// Removes a node.
    Delete = 2,
    /// Reads a node.
    GetData = 4,
    /// Lists the nodes under a node.
    GetChildren = 8,
    /// Ends the session.
    Close = -11,
}

/// What becomes of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// It stays.
    Persistent = 0,
    /// It ends with its session.
    Ephemeral = 1,
    /// It ends with its session, and the server adds a number to its name.
    EphemeralSequential = 3,
}

/// The frame tells of a change that was watched.
pub const WATCHED: i32 = -1;

/// The node is not there.
pub const NO_NODE: i32 = -101;

/// All that a node may be used for.
const ALL_RIGHTS: i32 = 0x1f;

/// Whatever its version.
const ANY_VERSION: i32 = -1;

/// A password of a session that there is not yet.
const PASSWORD: [u8; 16] = [0; 16];

/// A frame that is being written.
#[derive(Debug)]
pub struct Frame(Vec<u8>);

impl Frame {
    /// Opens a session that ends this long, in milliseconds, after it was last heard of.
    pub fn connect(timeout: i32) -> Self {
        // Protocol version, last revision seen, timeout, session, password.
        Self::new().int(0).long(0).int(timeout).long(0).bytes(&PASSWORD)
    }

    /// Makes a node that anybody may use.
    pub fn create(xid: i32, path: &str, data: &[u8], lifetime: Lifetime) -> Self {
        let begun = Self::request(xid, Operation::Create).bytes(path.as_bytes()).bytes(data);
        begun.int(1).int(ALL_RIGHTS).bytes(b"world").bytes(b"anyone").int(lifetime as i32)
    }

    /// Reads a node, and has the next change of it told.
    pub fn get_watched(xid: i32, path: &str) -> Self {
        Self::request(xid, Operation::GetData).bytes(path.as_bytes()).byte(1)
    }

    /// Lists the nodes under a node.
    pub fn children(xid: i32, path: &str) -> Self {
        Self::request(xid, Operation::GetChildren).bytes(path.as_bytes()).byte(0)
    }

    /// Removes a node.
    pub fn delete(xid: i32, path: &str) -> Self {
        Self::request(xid, Operation::Delete).bytes(path.as_bytes()).int(ANY_VERSION)
    }

    /// Ends the session.
    pub fn close(xid: i32) -> Self {
        Self::request(xid, Operation::Close)
    }

    fn request(xid: i32, operation: Operation) -> Self {
        Self::new().int(xid).int(operation as i32)
    }

    fn new() -> Self {
        // The length is written in the end.
        Self(vec![0; 4])
    }

    fn byte(mut self, byte: u8) -> Self {
        self.0.push(byte);
        self
    }

    fn int(mut self, number: i32) -> Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    fn long(mut self, number: i64) -> Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    fn bytes(self, bytes: &[u8]) -> Self {
        let mut frame = self.int(bytes.len() as i32);
        frame.0.extend(bytes);
        frame
    }

    /// What goes over the wire.
    pub fn finish(self) -> Vec<u8> {
        let mut bytes = self.0;
        let length = (bytes.len() - 4) as u32;
        bytes[..4].copy_from_slice(&length.to_be_bytes());
        bytes
    }
}

/// What comes after the [`Header`] of an answer.
#[derive(Debug)]
pub struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    /// Of a frame after its length.
    pub fn of(frame: &'a [u8]) -> Self {
        Self(frame.get(Header::LENGTH..).unwrap_or_default())
    }

    /// Reads a number.
    pub fn int(&mut self) -> anyhow::Result<i32> {
        let (number, rest) = self.0.split_first_chunk().context("an answer of ZooKeeper is cut short")?;
        self.0 = rest;
        Ok(i32::from_be_bytes(*number))
    }

    /// Reads a text.
    pub fn text(&mut self) -> anyhow::Result<&'a str> {
        let length = self.int()? as usize;
        let (text, rest) = self.0.split_at_checked(length).context("an answer of ZooKeeper is cut short")?;
        self.0 = rest;
        Ok(std::str::from_utf8(text)?)
    }
}

/// The beginning of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// That of the request.
    pub xid: i32,
    /// 0 if all went well.
    pub error: i32,
}

impl Header {
    /// Its length, in bytes.
    const LENGTH: usize = 16;

    /// Reads it from the frame after the length: xid, revision, error.
    pub fn read(frame: &[u8]) -> anyhow::Result<Self> {
        let int = |at: usize| -> anyhow::Result<i32> {
            let bytes = frame.get(at..at + 4).context("an answer of ZooKeeper is cut short")?;
            Ok(i32::from_be_bytes(bytes.try_into()?))
        };
        Ok(Self { xid: int(0)?, error: int(12)? })
    }

    /// Whether all went well.
    pub fn check(self) -> anyhow::Result<()> {
        if self.error != 0 {
            bail!("ZooKeeper refuses with error {}", self.error);
        }
        Ok(())
    }
}
