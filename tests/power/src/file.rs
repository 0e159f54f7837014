//! A disk as the one file of a file system, on which the kernel can put a loop device.

use std::ffi::OsStr;
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner, OpenFlags,
    ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, WriteFlags,
};

use crate::disk::Disk;

/// The file's name.
pub(crate) const NAME: &str = "disk";

const FILE: INodeNo = INodeNo(2);

/// The kernel need not ask twice for what never changes.
const FOR_EVER: Duration = Duration::from_secs(1 << 30);

/// The file system.
pub(crate) struct OneFile(pub(crate) Disk);

impl OneFile {
    fn attributes(&self, of: INodeNo) -> FileAttr {
        let (kind, perm, size) = match of {
            INodeNo::ROOT => (FileType::Directory, 0o700, 0),
            _ => (FileType::RegularFile, 0o600, self.0.size() as u64),
        };
        FileAttr {
            ino: of,
            size,
            blocks: size.div_ceil(512),
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            flags: 0,
            blksize: 4096,
        }
    }
}

impl Filesystem for OneFile {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if parent == INodeNo::ROOT && name == NAME {
            reply.entry(&FOR_EVER, &self.attributes(FILE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, of: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOR_EVER, &self.attributes(of));
    }

    /// Past the kernel's cache, so that a write is here before it is said to be done.
    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        reply.data(&self.0.read(offset as usize, size as usize));
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        self.0.write(offset as usize, data);
        reply.written(data.len() as u32);
    }

    /// What a flush of the loop device comes as.
    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        if self.0.flush() {
            reply.ok();
        } else {
            reply.error(Errno::EIO);
        }
    }

    /// The end of a use of the file, not of a write.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }
}
