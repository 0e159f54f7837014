//! Cuts the power of a database's disk right after clients were answered, and looks whether what they were told is still there.
//!
//! The disk is in memory ([`Disk`]) and remembers what it was told in order: writes and flushes. It is plugged into this machine
//! ([`Drive`]) as the one file of a file system in user space, on which a loop device and ext4 are mounted, and on that a real
//! database works for a real server. A disk may lose what it was told to write, and not told to flush, in the order it likes: so
//! for each cut, everything up to the last flush before it is left, and of what was written after that some of the
//! sectors. That image is plugged in, mounted and read, and a server must be able to work with it. See [`campaign`].

pub mod campaign;
mod database;
mod disk;
mod drive;
pub mod failing;
mod file;
mod found;
mod image;
mod load;
mod machine;
mod tape;

pub use database::Kind;
pub use disk::Disk;
pub use drive::{Barriers, Drive};
pub use image::Image;
pub use machine::obstacle;
pub use tape::{Cut, Cutter, Keeps, Tape};
