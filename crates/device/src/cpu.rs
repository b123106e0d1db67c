//! The CPU backend: memory, and what the machine says about itself.

use super::error::DeviceError;
use super::info::{Backend, DeviceInfo, MemoryInfo};
use super::launch::{Dim3, Limits};
use crate::memory::memory;
use simt::Executor;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::VecDeque;
use std::fs;
use std::num::NonZero;
use std::ptr::NonNull;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Alignment of buffers, in bytes: what `cuMemAlloc` gives.
pub(super) const ALIGN: usize = 256;

/// A request of this many bytes is checked against the machine's memory. The system would let it pass and end the
/// process later.
const LARGE: usize = 1 << 30;

/// The CPU as a device.
#[derive(Debug)]
pub(super) struct Cpu {
    pub(super) executor: Executor,
    info: OnceLock<DeviceInfo>,
}

impl Cpu {
    pub(super) fn new(executor: Executor) -> Self {
        Cpu { executor, info: OnceLock::new() }
    }

    pub(super) fn info(&self) -> &DeviceInfo {
        self.info.get_or_init(|| DeviceInfo {
            name: processor("model name").unwrap_or_else(|| "CPU".to_owned()),
            backend: Backend::Cpu,
            compute_capability: None,
            multiprocessors: u32::try_from(self.executor.workers()).unwrap_or(u32::MAX),
            total_memory: memory().total,
            l2_bytes: last_level_cache().unwrap_or(0),
            max_shared_per_block: simt::MAX_SHARED,
            max_threads_per_block: simt::MAX_BLOCK_THREADS,
            max_threads_per_multiprocessor: simt::MAX_BLOCK_THREADS,
            warp_size: simt::WARP_SIZE,
            clock_khz: processor("cpu MHz").and_then(|mhz| mhz.parse().ok()).map_or(0, |mhz: f64| (mhz * 1000.0) as u32),
            driver_version: None,
        })
    }
}

/// Launch limits of GPUs, which the executor adopts.
pub(super) const LIMITS: Limits = Limits {
    threads_per_block: simt::MAX_BLOCK_THREADS,
    block: Dim3 { x: 1024, y: 1024, z: 64 },
    grid: Dim3 { x: i32::MAX as u32, y: 65535, z: 65535 },
    shared: simt::MAX_SHARED,
    capability: None,
};

/// The machine's memory in all, which doesn't change, so that the file needs to be read once only.
fn total() -> usize {
    static TOTAL: OnceLock<usize> = OnceLock::new();
    *TOTAL.get_or_init(|| memory().total)
}

/// The first processor's value for `key` in /proc/cpuinfo.
fn processor(key: &str) -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

/// The size of the first core's last-level cache, in bytes.
fn last_level_cache() -> Option<usize> {
    let read =
        |index: u32, file: &str| fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{file}")).ok();
    let level = |index| read(index, "level").and_then(|level| level.trim().parse::<u32>().ok());
    let (_, last) = (0..8).filter_map(|index| Some((level(index)?, index))).max()?;
    let size = read(last, "size")?;
    let size = size.trim();
    match size.strip_suffix('K') {
        Some(kib) => kib.parse::<usize>().ok()?.checked_mul(1024),
        None => size.strip_suffix('M')?.parse::<usize>().ok()?.checked_mul(1 << 20),
    }
}

/// Zeroed memory of this process, aligned to [`ALIGN`], that costs nothing until it is touched.
#[derive(Debug)]
pub(super) struct Allocation {
    base: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns its memory, which any thread may access and free.
unsafe impl Send for Allocation {}
// SAFETY: a shared reference gives the address alone.
unsafe impl Sync for Allocation {}

impl Allocation {
    /// `bytes` of zeroes; `bytes` is not 0.
    pub(super) fn new(bytes: usize) -> Result<Self, DeviceError> {
        let out_of_memory = || {
            let MemoryInfo { free, total } = memory();
            DeviceError::OutOfMemory { requested: bytes, free, total, device: "the CPU".to_owned() }
        };
        if bytes >= LARGE && bytes > total() {
            return Err(out_of_memory());
        }
        // With an alignment that `calloc` can't give, the allocator would write the zeroes itself, and so touch every
        // page. So the aligned address is looked for within a larger allocation.
        let layout =
            bytes.checked_add(ALIGN).and_then(|bytes| Layout::from_size_align(bytes, 16).ok()).ok_or_else(out_of_memory)?;
        // SAFETY: the layout's size is not 0.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(out_of_memory)?;
        Ok(Allocation { base, layout })
    }

    pub(super) fn address(&self) -> NonNull<u8> {
        let offset = self.base.addr().get().wrapping_neg() % ALIGN;
        // SAFETY: the offset is below ALIGN, and the allocation is ALIGN bytes larger than
        // requested.
        unsafe { self.base.add(offset) }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        simt::memory::freed(self.address().addr().get());
        let (mut base, mut layout) = (self.base, self.layout);
        if cfg!(simt_check) {
            // It is freed later, so that nothing else lies there soon.
            let mut freed = FREED.lock().unwrap_or_else(PoisonError::into_inner);
            freed.push_back((base.expose_provenance(), layout));
            if freed.len() <= KEPT {
                return;
            }
            let Some((address, old)) = freed.pop_front() else { return };
            (base, layout) = (NonNull::with_exposed_provenance(address), old);
        }
        // SAFETY: it was allocated with this layout and is freed here alone.
        unsafe { dealloc(base.as_ptr(), layout) };
    }
}

/// The allocations that checked runs have dropped last.
static FREED: Mutex<VecDeque<(NonZero<usize>, Layout)>> = Mutex::new(VecDeque::new());

/// Number of them that aren't freed yet.
const KEPT: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_are_aligned_and_zero() {
        for bytes in [1, 255, 256, 4097, 1 << 20] {
            let allocation = Allocation::new(bytes).unwrap();
            assert_eq!(allocation.address().addr().get() % ALIGN, 0);
            // SAFETY: as many bytes are there, initialised, and nobody writes them.
            let all = unsafe { std::slice::from_raw_parts(allocation.address().as_ptr(), bytes) };
            assert!(all.iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn too_much_is_an_error() {
        Allocation::new(1 << 30).unwrap();
        for bytes in [total().max(1 << 30) + 1, 1 << 50, usize::MAX - 255, usize::MAX] {
            let error = Allocation::new(bytes).unwrap_err();
            assert!(matches!(error, DeviceError::OutOfMemory { requested, .. } if requested == bytes), "{error}");
        }
    }

    #[test]
    fn the_machine_knows_its_memory() {
        let MemoryInfo { free, total } = memory();
        assert!(0 < free && free <= total && total < usize::MAX, "{free} {total}");
    }
}
