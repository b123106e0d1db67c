//! Memory that this process may still allocate.

use crate::MemoryInfo;
use std::{fs, path::Path};

/// The machine's memory as it is now. `free` is what this process may still take: the available
/// memory, or less if its control group or a limit of its own (`ulimit -v`, `ulimit -d`) says so.
/// An unknown limit counts as none.
pub fn memory() -> MemoryInfo {
    let table = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = kilobytes(&table, "MemTotal").unwrap_or(usize::MAX);
    let available = kilobytes(&table, "MemAvailable").unwrap_or(total);
    let free = [control_group(), own_limits()].into_iter().flatten().fold(available, usize::min);
    MemoryInfo { free, total }
}

/// A row `key: 123 kB` of a table of the kernel's, in bytes.
fn kilobytes(table: &str, key: &str) -> Option<usize> {
    let row = table.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    row.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?.checked_mul(1024)
}

/// Returns what the control group (version 2) leaves: the limits of containers. Cached files count
/// as free, as they do elsewhere.
fn control_group() -> Option<usize> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let folder = Path::new("/sys/fs/cgroup").join(group);
    let number = |name: &str| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<usize>().ok();
    let (most, current) = (number("memory.max")?, number("memory.current")?);
    let statistics = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let cached = statistics.lines().find_map(|line| line.strip_prefix("inactive_file ")?.parse::<usize>().ok()).unwrap_or(0);
    Some(most.saturating_sub(current.saturating_sub(cached)))
}

/// Returns what the process's own limits leave of its address space, in bytes.
#[cfg(target_os = "linux")]
pub(crate) fn own_limits() -> Option<usize> {
    use rustix::process::{Resource, getrlimit};
    let limits = [(Resource::As, "VmSize"), (Resource::Data, "VmData")];
    let limits = limits.map(|(resource, key)| Some((getrlimit(resource).current?, key)));
    if limits.iter().all(Option::is_none) {
        return None;
    }
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let left = |(most, key): (u64, &str)| Some((most as usize).saturating_sub(kilobytes(&status, key)?));
    limits.into_iter().flatten().filter_map(left).min()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn own_limits() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_has_some() {
        let MemoryInfo { free, total } = memory();
        assert!(free > 0 && free <= total, "{free} of {total}");
    }

    #[test]
    fn rows_of_the_kernels_tables() {
        let table = "MemTotal:       16 kB\nMemTotalX: 1 kB\nVmData:\t 3 kB\nHugePages_Total:  7\n";
        assert_eq!(
            ["MemTotal", "VmData", "VmSize", "HugePages_Total"].map(|key| kilobytes(table, key)),
            [Some(16 << 10), Some(3 << 10), None, None]
        );
    }
}
