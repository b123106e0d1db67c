//! Rebuilds: their triggers and their extent.

use crate::krate::{Krate, build, child, in_child, out_dir};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

const KERNEL: &str = "#[inline(never)] #[unsafe(link_section = \".cuda.kernel\")]
    pub unsafe fn kernel(out: *mut u32) { unsafe { *out = helpers::answer() } }";

fn modified(path: &Path) -> SystemTime {
    fs::metadata(path).unwrap().modified().unwrap()
}

/// The times of cargo's result and of ours after a build.
fn times(krate: &Krate) -> (SystemTime, SystemTime) {
    let output = krate.builder().build().unwrap_or_else(|error| panic!("{error}"));
    let ptx = &output.images[0].path;
    let name = ptx.file_name().unwrap().to_str().unwrap().split('.').next().unwrap();
    let archives = fs::read_dir(out_dir().join("device")).unwrap().flatten();
    let archive = archives.map(|folder| folder.path().join(format!("release/lib{name}.a"))).find(|path| path.exists());
    (modified(&archive.unwrap()), modified(ptx))
}

#[test]
fn only_what_changed_is_built_again() {
    let krate = Krate::bare("rebuilt", &format!("mod helpers;\n{KERNEL}"));
    krate.write("src/helpers.rs", "pub fn answer() -> u32 { 41 }\n");
    let (archive, ptx) = times(&krate);
    assert_eq!(times(&krate), (archive, ptx), "nothing changed");

    // A new file that compiles to the same.
    krate.write("src/helpers.rs", "pub fn answer() -> u32 { 40 + 1 }\n");
    let (newer, same) = times(&krate);
    assert!(newer > archive, "the source changed");
    assert_eq!(same, ptx, "but not the kernel");

    krate.write("src/helpers.rs", "pub fn answer() -> u32 { 42 }\n");
    assert!(times(&krate).1 > ptx, "the kernel changed");
}

/// The kernel crate's own sources, those of its path dependencies with their IR files, all manifests and the lock file.
#[test]
fn cargo_is_told_of_every_file() {
    let dependency = Krate::with_manifest("dependency", "", "#![no_std]\npub mod inner;\n");
    dependency.write("src/inner.rs", "pub fn one() -> u32 { include!(\"one.txt\") }\n");
    dependency.write("src/one.txt", "1");
    dependency.write("extra.ll", "define void @extra() { ret void }\n");
    let manifest = fs::read_to_string(dependency.path.join("Cargo.toml")).unwrap();
    let workspace = "\n[workspace]\nresolver = \"3\"\n";
    let manifest = manifest.replace(workspace, "") + "\n[package.metadata.cuda]\nir = [\"extra.ll\"]\n";
    dependency.write("Cargo.toml", &manifest);

    let krate = Krate::with_manifest(
        "watched",
        &format!(
            "dependency = {{ path = {:?} }}\n[dev-dependencies]\ncuda_std = {{ package = \"warpsmith-cuda-std\", path = {:?} }}\n",
            dependency.path,
            concat!(env!("CARGO_MANIFEST_DIR"), "/../cuda_std")
        ),
        &format!(
            "#![no_std]\nmod helpers;\n{KERNEL}\n\
             #[panic_handler] fn panic(_: &core::panic::PanicInfo<'_>) -> ! {{ loop {{}} }}"
        ),
    );
    krate.write("src/helpers.rs", "pub fn answer() -> u32 { dependency::inner::one() }\n");
    if child() {
        build(krate.builder().rerun_if_changed(true)).unwrap_or_else(|error| panic!("{error}"));
        return;
    }

    let said = in_child("rebuild::cargo_is_told_of_every_file", |_| {});
    let canonical = |path: PathBuf| path.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = said.lines().filter_map(|line| line.split_once("cargo::rerun-if-changed="));
    // A file that isn't there would have cargo run the build script every time.
    let told: BTreeSet<PathBuf> = lines.map(|(_, path)| canonical(path.into())).collect();
    let own = ["Cargo.toml", "Cargo.lock", "src/lib.rs", "src/helpers.rs"].map(|file| canonical(krate.path.join(file)));
    let theirs = ["Cargo.toml", "src/lib.rs", "src/inner.rs", "src/one.txt", "extra.ll"];
    let expected: BTreeSet<PathBuf> = own.into_iter().chain(theirs.map(|file| canonical(dependency.path.join(file)))).collect();
    assert_eq!(told, expected);
}

/// Cargo shows what a build script that fails has told it before, and runs it again in any case.
#[test]
fn an_error_comes_without_lines_for_cargo() {
    if child() {
        let source = "unsafe extern \"C\" { fn nowhere(); } KERNEL calls() { unsafe { nowhere() } }";
        let error = build(Krate::bare("nowhere", source).builder().rerun_if_changed(true)).unwrap_err();
        println!("{error}");
        return;
    }
    let said = in_child("rebuild::an_error_comes_without_lines_for_cargo", |_| {});
    assert!(said.contains("device code needs `nowhere`") && !said.contains("cargo::"), "{said}");
}
