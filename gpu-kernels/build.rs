//! Tells the build script of the library where this crate's source is, to build PTX from.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::metadata=root={}", std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default());
}
