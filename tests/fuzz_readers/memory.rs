//! Measures the memory of the process.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    ptr::null_mut,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// The system's allocator, with a count of the bytes and a limit, [`MOST`].
pub struct Counting;

/// Limit of allocated bytes. Beyond it, allocations fail.
const MOST: usize = 2 << 30;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

impl Counting {
    /// Counts this many more bytes. Returns false, and doesn't count them, beyond the limit.
    fn take(bytes: usize) -> bool {
        let now = NOW.fetch_add(bytes, Relaxed).saturating_add(bytes);
        if now > MOST {
            NOW.fetch_sub(bytes, Relaxed);
            return false;
        }
        PEAK.fetch_max(now, Relaxed);
        true
    }
}

// SAFETY: every call is forwarded to the system's allocator, or refused.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !Counting::take(layout.size()) {
            return null_mut();
        }
        // SAFETY: the layout is the one that this was called with, and so not empty.
        let memory = unsafe { System.alloc(layout) };
        if memory.is_null() {
            NOW.fetch_sub(layout.size(), Relaxed);
        }
        memory
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !Counting::take(layout.size()) {
            return null_mut();
        }
        // SAFETY: the layout is the one that this was called with, and so not empty.
        let memory = unsafe { System.alloc_zeroed(layout) };
        if memory.is_null() {
            NOW.fetch_sub(layout.size(), Relaxed);
        }
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: what is given back came from `alloc`, `alloc_zeroed` or `realloc` with this layout, all of them the
        // system's.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !Counting::take(size) {
            return null_mut();
        }
        // SAFETY: the memory came from the system's allocator with this layout, and the size isn't 0, as it was when
        // this was called.
        let moved = unsafe { System.realloc(memory, layout, size) };
        NOW.fetch_sub(if moved.is_null() { size } else { layout.size() }, Relaxed);
        moved
    }
}

/// Resets the peak. Returns the number of bytes in use.
pub fn start() -> usize {
    let now = NOW.load(Relaxed);
    PEAK.store(now, Relaxed);
    now
}

/// Returns the peak since [`start`], in bytes.
pub fn peak() -> usize {
    PEAK.load(Relaxed)
}
