//! Messages that panics print before they trap. If messages are requested, `cuda_builder` redirects
//! the panic functions of `core` to these, with their arguments; others go to `src/ir/panic.ll`,
//! with the place alone. The parameters here are therefore those of `core`. Each function is
//! inlined.

use crate::print::{SIZE, vprintf};
use crate::thread::{block_idx, thread_idx};
use core::{alloc::Layout, fmt, mem::transmute, panic::Location};

/// The arguments of the format below, as C would pass them.
#[repr(C)]
struct Report {
    file: *const u8,
    numbers: [u32; 8],
    text: *const u8,
    index: u64,
    len: u64,
}

/// Prints a panic. `text` ends with a zero, and may have formats for the two numbers.
#[cold]
#[inline(never)]
fn report(location: &Location<'_>, text: *const u8, bounds: Option<(u64, u64)>) {
    static MESSAGE: &[u8] = b"kernel panicked at %s:%u:%u, block (%u,%u,%u) thread (%u,%u,%u): %s\n\0";
    static BOUNDS: &[u8] = b"kernel panicked at %s:%u:%u, block (%u,%u,%u) thread (%u,%u,%u): %s %llu of %llu\n\0";
    let (block, thread) = (block_idx(), thread_idx());
    let (index, len) = bounds.unwrap_or_default();
    let report = Report {
        // A zero follows the name of the file.
        file: location.file().as_ptr(),
        numbers: [location.line(), location.column(), block.x, block.y, block.z, thread.x, thread.y, thread.z],
        text,
        index,
        len,
    };
    let format = if bounds.is_some() { BOUNDS } else { MESSAGE };
    // SAFETY: the arguments are those of the format, each at a multiple of its size, as C passes them; all texts end
    // with a zero.
    unsafe { vprintf(format.as_ptr(), (&raw const report).cast()) };
}

/// A text that is known when the kernel is compiled.
#[unsafe(no_mangle)]
extern "C" fn __cuda_std_panic_str(text: *const u8, len: usize, location: &Location<'_>) {
    known(text, len, location);
}

/// One that is longer than the buffer is cut.
#[cold]
#[inline(never)]
fn known(text: *const u8, len: usize, location: &Location<'_>) {
    let mut bytes = [0; SIZE];
    for (i, byte) in bytes.iter_mut().enumerate().take(len.min(SIZE - 1)) {
        // SAFETY: `core` calls its function with a `&str` in these two words, so that the text has `len` bytes.
        *byte = unsafe { *text.add(i) };
    }
    report(location, bytes.as_ptr(), None);
}

/// An index outside a slice.
#[unsafe(no_mangle)]
extern "C" fn __cuda_std_panic_bounds(index: usize, len: usize, location: &Location<'_>) {
    report(location, c"index out of bounds: element".as_ptr().cast(), Some((index as u64, len as u64)));
}

/// An allocation that the device's heap has no room for. `alloc` doesn't say where in the source.
#[unsafe(no_mangle)]
fn __cuda_std_panic_alloc(layout: Layout) {
    #[repr(C)]
    struct Report {
        numbers: [u32; 6],
        bytes: u64,
    }
    static MESSAGE: &[u8] = b"kernel panicked, block (%u,%u,%u) thread (%u,%u,%u): the device's heap has no %llu bytes left\n\0";
    let (block, thread) = (block_idx(), thread_idx());
    let report = Report { numbers: [block.x, block.y, block.z, thread.x, thread.y, thread.z], bytes: layout.size() as u64 };
    // SAFETY: the arguments are those of the format, each at a multiple of its size, as C passes them.
    unsafe { vprintf(MESSAGE.as_ptr(), (&raw const report).cast()) };
}

/// The two words of a `fmt::Arguments`: a text that is known is taken as such, which is told once this is inlined.
#[unsafe(no_mangle)]
extern "C" fn __cuda_std_panic_fmt(template: *const u8, arguments: *const u8, location: &Location<'_>) {
    // SAFETY: `core` calls its function with a value of this type in these two words.
    let text: fmt::Arguments<'_> = unsafe { transmute((template, arguments)) };
    match text.as_str() {
        Some(text) => known(text.as_ptr(), text.len(), location),
        None => formatted(text, location),
    }
}

/// Any other: as a line that is printed.
#[cold]
#[inline(never)]
fn formatted(text: fmt::Arguments<'_>, location: &Location<'_>) {
    let (block, thread) = (block_idx(), thread_idx());
    crate::println!(
        "kernel panicked at {}:{}:{}, block ({},{},{}) thread ({},{},{}): {text}",
        location.file(),
        location.line(),
        location.column(),
        block.x,
        block.y,
        block.z,
        thread.x,
        thread.y,
        thread.z,
    );
}
