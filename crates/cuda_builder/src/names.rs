//! The names by which `cuda_std` tells the builder what is what.

use std::ffi::CStr;

/// Where `#[kernel]` puts functions, followed by `.max_threads=256`, `.min_blocks=2` and `.block=16,16,1` where given.
pub const KERNEL_SECTION: &str = ".cuda.kernel";
/// `cuda_std`'s function that gives a shared array of its own to each call, by its size and its alignment in bytes.
pub const SHARED_ARRAY: &str = "__cuda_std_shared_array";
/// Where `cuda_std` puts constant memory.
pub const CONSTANT_SECTION: &str = ".cuda.constant";
/// `cuda_std`'s name of dynamic shared memory.
pub const DYNAMIC_SHARED: &str = "__cuda_std_dynamic_shared";
/// `cuda_std`'s function that prints where a panic happened: it takes a `&core::panic::Location`.
pub const REPORT_PANIC: &CStr = c"__cuda_std_panic_at";
/// Functions of `core` that panic, and those of `cuda_std` that print the message of each: they take the same.
pub const REPORT_MESSAGE: &[(&str, &CStr)] = &[
    ("core::panicking::panic_fmt", c"__cuda_std_panic_fmt"),
    ("core::panicking::panic", c"__cuda_std_panic_str"),
    ("core::option::expect_failed", c"__cuda_std_panic_str"),
    ("core::panicking::panic_bounds_check", c"__cuda_std_panic_bounds"),
];
/// What the names of `cuda_std`'s functions in IR begin with.
pub const FUNCTION_PREFIX: &str = "__cuda_std_";
