//! Lets the linker find `-lcuda`, and says what to do where `cust_raw`'s build script would only say that it found no
//! CUDA.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

const MISSING: &str = "cust_raw's build script looks for a folder that holds a folder `lib64`, and finds none. No CUDA is \
    needed, an empty one will do. Make .cargo/cuda/lib64 with an empty file .gitkeep in it, and add to .cargo/config.toml: \
    [env] CUDA_LIBRARY_PATH = { value = \".cargo/cuda\", relative = true }. For one command, such as `cargo install`, set the \
    environment variable: CUDA_LIBRARY_PATH=/usr, if there is a folder /usr/lib64.";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CUDA_LIBRARY_PATH");
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    // An empty libcuda.a, since this crate has the functions.
    println!("cargo::rustc-link-search=native={}", package.join("stub/lib64").display());
    // cust_raw's script has more to compile than this one, and so comes later.
    if env::var_os("DOCS_RS").is_none() && !candidates().iter().any(|folder| serves(folder)) {
        println!("cargo::error={MISSING}");
    }
}

/// Returns the folders where cust_raw's build script looks.
fn candidates() -> Vec<PathBuf> {
    let variable = env::var("CUDA_LIBRARY_PATH").unwrap_or_default();
    let named = variable.split(':').filter(|_| !variable.is_empty()).map(PathBuf::from);
    let versions = fs::read_dir("/usr/local").into_iter().flatten().flatten();
    let versions = versions.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"cuda-")).map(|entry| entry.path());
    named.chain(["/opt/cuda".into(), "/usr/local/cuda".into()]).chain(versions).collect()
}

/// Returns true if cust_raw's build script accepts the folder.
fn serves(folder: &Path) -> bool {
    folder.join("lib64").is_dir() || folder.join("targets/x86_64-linux/include/cuda.h").is_file()
}
