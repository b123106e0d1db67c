//! Answers the `-lcuda` of `cust_raw` with an empty archive, since this crate has the functions. Tells the crate whether
//! it has trampolines for the target.

use std::{env, path::PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    println!("cargo::rustc-check-cfg=cfg(trampolines)");
    let is = |name, values: &[&str]| env::var(name).is_ok_and(|value| values.contains(&&*value));
    if is("CARGO_CFG_TARGET_OS", &["linux"]) && is("CARGO_CFG_TARGET_ARCH", &["x86_64", "aarch64"]) {
        println!("cargo::rustc-cfg=trampolines");
    }
    println!("cargo::rustc-link-search=native={}", package.join("stub/lib64").display());
}
