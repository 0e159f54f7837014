//! The server's memory usage, from /proc.

use std::fs;

/// The resident memory of a process, in MiB. 0: there is no such process.
pub(crate) fn resident(process: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()).and_then(|word| word.parse::<f64>().ok());
    kib.unwrap_or_default() / 1024.0
}

#[cfg(test)]
mod tests {
    #[test]
    fn resident_memory_of_this_process_is_read() {
        assert!(super::resident(std::process::id()) > 1.0);
        assert!(super::resident(u32::MAX) < 0.1);
    }
}
