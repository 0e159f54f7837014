//! The requirements of power cuts on the machine.

use std::path::Path;

/// Returns why the power of a disk cannot be cut on this machine; `None` if it can.
#[must_use]
pub fn obstacle() -> Option<&'static str> {
    if !rustix::process::geteuid().is_root() {
        Some("only root may mount file systems")
    } else if !Path::new("/dev/fuse").exists() {
        Some("this machine has no /dev/fuse")
    } else if !Path::new("/dev/loop-control").exists() {
        Some("this machine has no /dev/loop-control, so no loop devices")
    } else {
        None
    }
}
