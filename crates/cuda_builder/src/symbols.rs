//! Names: demangles symbols for people, and for PTX.

use rustc_demangle::demangle;

/// The Rust path of a symbol, without its hash; other symbols as they are.
pub fn readable(symbol: &str) -> String {
    let path = format!("{:#}", demangle(symbol));
    path
}

/// The PTX name of a kernel: its path without the crate, joined by `_`. `cuda_std::launch::KernelInfo::symbol` follows
/// the same rule.
pub fn kernel_name(symbol: &str) -> String {
    let path = readable(symbol);
    match path.split_once("::") {
        Some((_crate, rest)) => rest.replace("::", "_"),
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_manglings() {
        assert_eq!(kernel_name("_ZN11gpu_kernels9list_rank4walk17h0123456789abcdefE"), "list_rank_walk");
        assert_eq!(kernel_name("_RNvNtCs1234_11gpu_kernels9list_rank4walk"), "list_rank_walk");
        assert_eq!(kernel_name("plain"), "plain");
    }
}
