//! Names that `cuda_std` and the builder agree on.

use std::ffi::CStr;

/// Section of `#[kernel]` functions, followed by `.max_threads=256`, `.min_blocks=2`,
/// `.max_registers=64`, `.block=16,16,1` and `.cluster=4,1,1` if given.
pub const KERNEL_SECTION: &str = ".cuda.kernel";
/// Section of the numbers that identify kernels' parameter types: `SIGNATURE` in a module of the kernel's name.
pub const SIGNATURE_SECTION: &str = ".cuda.signature";
/// `cuda_std`'s function that gives a shared array of its own to each call, by its size and its alignment in bytes.
pub const SHARED_ARRAY: &str = "__cuda_std_shared_array";
/// Section of `cuda_std`'s constant memory.
pub const CONSTANT_SECTION: &str = ".cuda.constant";
/// `cuda_std`'s name of dynamic shared memory.
pub const DYNAMIC_SHARED: &str = "__cuda_std_dynamic_shared";
/// `cuda_std`'s function that prints where a panic happened: it takes a `&core::panic::Location`.
pub const REPORT_PANIC: &CStr = c"__cuda_std_panic_at";
/// Functions of `core` and `alloc` that panic, and those of `cuda_std` that print the message of each: they take the same.
pub const REPORT_MESSAGE: &[(&str, &CStr)] = &[
    ("core::panicking::panic_fmt", c"__cuda_std_panic_fmt"),
    ("core::panicking::panic", c"__cuda_std_panic_str"),
    ("core::option::expect_failed", c"__cuda_std_panic_str"),
    ("core::panicking::panic_bounds_check", c"__cuda_std_panic_bounds"),
    ("alloc::alloc::handle_alloc_error", c"__cuda_std_panic_alloc"),
];
/// The functions of a global allocator, as the crate `alloc` calls them.
pub const ALLOCATOR: &[&str] =
    &["__rustc::__rust_alloc", "__rustc::__rust_dealloc", "__rustc::__rust_realloc", "__rustc::__rust_alloc_zeroed"];
/// Prefix of the names of `cuda_std`'s functions in IR.
pub const FUNCTION_PREFIX: &str = "__cuda_std_";

/// The symbol in place of that of a function of `#[global_allocator]`: `__rg_alloc` is `__rust_alloc` to the crate `alloc`.
/// The length of a name stands before it, and an underscore between the two.
pub fn allocator_name(symbol: &str) -> Option<String> {
    let (before, name) = symbol.split_once("___rg_")?;
    let (path, length) = before.split_at(before.trim_end_matches(|c: char| c.is_ascii_digit()).len());
    let length = length.parse::<usize>().ok().filter(|_| path.ends_with("7___rustc"))?;
    Some(format!("{path}{}___rust_{name}", length + "__rust_".len() - "__rg_".len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::readable;

    #[test]
    fn allocators() {
        for (name, expected) in
            ["10___rg_alloc", "12___rg_dealloc", "12___rg_realloc", "17___rg_alloc_zeroed"].iter().zip(ALLOCATOR)
        {
            let renamed = allocator_name(&format!("_RNvCsdBezzDwma51_7___rustc{name}")).unwrap();
            assert_eq!(readable(&renamed), *expected);
        }
        assert_eq!(allocator_name("_RNvCs1234_5other10___rg_alloc"), None);
    }
}
