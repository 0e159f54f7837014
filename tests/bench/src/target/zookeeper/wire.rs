//! ZooKeeper's wire format: frames of big-endian numbers, and of texts and bytes with their lengths before them.

use anyhow::{Context, bail};

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Makes a node.
    Create = 1,
    /// Removes a node.
    Delete = 2,
    /// Ends the session.
    Close = -11,
}

/// A node that ends with its session.
const EPHEMERAL: i32 = 1;

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

    /// Makes an ephemeral node that anybody may use.
    pub fn create(xid: i32, path: &str, data: &[u8]) -> Self {
        let begun = Self::request(xid, Operation::Create).bytes(path.as_bytes()).bytes(data);
        begun.int(1).int(ALL_RIGHTS).bytes(b"world").bytes(b"anyone").int(EPHEMERAL)
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

/// The beginning of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// That of the request.
    pub xid: i32,
    /// 0 if all went well.
    pub error: i32,
}

impl Header {
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
