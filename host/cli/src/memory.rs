//! Memory that the system refuses.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    io::{Write as _, stderr},
};

use warpsmith::io::files::try_remove_temporaries;

use super::interrupt::exit;

/// Number of bytes of a large array. Its caller gets the refusal, and has an error for it.
const LARGE: usize = 1 << 20;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// The system's allocator, which ends the command with an error if there is not even memory for something small.
///
/// Otherwise the process would be aborted, by a signal and with a dump of its memory.
struct Allocator;

impl Allocator {
    /// Returns memory that was to have this size, if there is any.
    fn checked(memory: *mut u8, size: usize) -> *mut u8 {
        if memory.is_null() && size < LARGE {
            exhausted()
        }
        memory
    }
}

// SAFETY: all memory is the system's allocator's, with the layouts and sizes that the caller gives.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: this function's contract is the same.
        Self::checked(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: this function's contract is the same.
        Self::checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: this function's contract is the same, and the memory is of the system's allocator.
        Self::checked(unsafe { System.realloc(memory, layout, size) }, size)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: this function's contract is the same, and the memory is of the system's allocator.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Ends the process without allocating.
#[cold]
fn exhausted() -> ! {
    let _ = stderr().write_all(b"error: the system has no more memory for this process\n");
    try_remove_temporaries();
    exit(2)
}
