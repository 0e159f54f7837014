//! ZooKeeper's wire format: frames of big-endian integers, and of length-prefixed strings and buffers.

use anyhow::{Context, bail};

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Creates a node.
    Create = 1,
    /// Deletes a node.
    Delete = 2,
    /// Reads a node.
    GetData = 4,
    /// Lists a node's children.
    GetChildren = 8,
    /// Closes the session.
    Close = -11,
}

/// The lifetime of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// Until it is deleted.
    Persistent = 0,
    /// Until its session ends.
    Ephemeral = 1,
    /// Until its session ends; the server appends a sequence number to its name.
    EphemeralSequential = 3,
}

/// The xid of watch notifications.
pub const WATCHED: i32 = -1;

/// The error for a node that does not exist.
pub const NO_NODE: i32 = -101;

/// All permissions on a node.
const ALL_RIGHTS: i32 = 0x1f;

/// Matches any version.
const ANY_VERSION: i32 = -1;

/// The password of a new session.
const PASSWORD: [u8; 16] = [0; 16];

/// A frame under construction.
#[derive(Debug)]
pub struct Frame(Vec<u8>);

impl Frame {
    /// Opens a session with this timeout, in milliseconds.
    pub fn connect(timeout: i32) -> Self {
        // Protocol version, last revision seen, timeout, session, password.
        Self::new().int(0).long(0).int(timeout).long(0).bytes(&PASSWORD)
    }

    /// Creates a node with all permissions for everyone.
    pub fn create(xid: i32, path: &str, data: &[u8], lifetime: Lifetime) -> Self {
        let begun = Self::request(xid, Operation::Create).bytes(path.as_bytes()).bytes(data);
        begun.int(1).int(ALL_RIGHTS).bytes(b"world").bytes(b"anyone").int(lifetime as i32)
    }

    /// Reads a node, and sets a watch on it.
    pub fn get_watched(xid: i32, path: &str) -> Self {
        Self::request(xid, Operation::GetData).bytes(path.as_bytes()).byte(1)
    }

    /// Lists a node's children.
    pub fn children(xid: i32, path: &str) -> Self {
        Self::request(xid, Operation::GetChildren).bytes(path.as_bytes()).byte(0)
    }

    /// Deletes a node.
    pub fn delete(xid: i32, path: &str) -> Self {
        Self::request(xid, Operation::Delete).bytes(path.as_bytes()).int(ANY_VERSION)
    }

    /// Closes the session.
    pub fn close(xid: i32) -> Self {
        Self::request(xid, Operation::Close)
    }

    fn request(xid: i32, operation: Operation) -> Self {
        Self::new().int(xid).int(operation as i32)
    }

    fn new() -> Self {
        // `finish` fills in the length.
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

    /// The complete frame.
    pub fn finish(self) -> Vec<u8> {
        let mut bytes = self.0;
        let length = (bytes.len() - 4) as u32;
        bytes[..4].copy_from_slice(&length.to_be_bytes());
        bytes
    }
}

/// The part of an answer after the [`Header`].
#[derive(Debug)]
pub struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    /// The body in a frame without its length.
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

/// The header of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The request's xid.
    pub xid: i32,
    /// The error code, 0 for success.
    pub error: i32,
}

impl Header {
    /// Its length, in bytes.
    const LENGTH: usize = 16;

    /// Parses the header of a frame without its length: xid, revision, error.
    pub fn read(frame: &[u8]) -> anyhow::Result<Self> {
        let int = |at: usize| -> anyhow::Result<i32> {
            let bytes = frame.get(at..at + 4).context("an answer of ZooKeeper is cut short")?;
            Ok(i32::from_be_bytes(bytes.try_into()?))
        };
        Ok(Self { xid: int(0)?, error: int(12)? })
    }

    /// Fails unless the error code is 0.
    pub fn check(self) -> anyhow::Result<()> {
        if self.error != 0 {
            bail!("ZooKeeper refuses with error {}", self.error);
        }
        Ok(())
    }
}
