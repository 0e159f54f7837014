//! Cuts the power of a database's disk right after clients received answers, and checks that the acknowledged changes
//! are still there.
//!
//! The disk is in memory ([`Disk`]) and records writes and flushes in order. It is attached to this machine ([`Drive`])
//! as the only file of a file system in user space, with a loop device and ext4 on it, on which a real database serves
//! a real server. A disk may lose writes that were not flushed, in any order: so for each cut, the image contains
//! everything up to the last flush before the cut, and some sectors of later writes. That image is attached, mounted
//! and read, and a server must be able to work with it. See [`campaign`].

pub mod campaign;
mod contents;
mod database;
mod disk;
mod drive;
pub mod failing;
mod file;
mod image;
mod load;
mod machine;
mod write_log;

pub use database::Kind;
pub use disk::Disk;
pub use drive::{Barriers, Drive};
pub use image::Image;
pub use machine::obstacle;
pub use write_log::{Cut, Cutter, Surviving, WriteLog};
