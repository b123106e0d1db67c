//! How much memory the process takes.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    ptr::null_mut,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// The system's allocator, which counts, and gives no more than [`MOST`].
pub struct Counting;

/// The most bytes that are given at once: beyond it a reader is told that there is no memory.
const MOST: usize = 2 << 30;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

impl Counting {
    /// Whether so many more bytes may be had; they count then.
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

// SAFETY: all is left to the system's allocator, but for what is refused.
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

/// Starts to look for the most; gives what there is now.
pub fn start() -> usize {
    let now = NOW.load(Relaxed);
    PEAK.store(now, Relaxed);
    now
}

/// The most since [`start`].
pub fn peak() -> usize {
    PEAK.load(Relaxed)
}
