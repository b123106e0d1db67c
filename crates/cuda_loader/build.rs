//! Answers the `-lcuda` of `cust_raw` with an empty archive, since this crate has the functions.

use std::{env, path::PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    println!("cargo::rustc-link-search=native={}", package.join("stub/lib64").display());
}
