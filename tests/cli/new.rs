//! `warpsmith new`. That what it writes builds and passes is tested by `ci/outside`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::folder::Folder;

/// All files below `folder`, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { open.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

#[test]
fn a_project_named_after_its_folder() {
    let folder = Folder::of("new");
    let said = folder.good("deep/my-kernels");
    assert!(said.contains("cd deep/my-kernels"), "{said}");
    let project = folder.path("deep/my-kernels");
    for file in files(&project) {
        let text = fs::read_to_string(&file).unwrap();
        assert!(!text.contains('@'), "{}: {text}", file.display());
    }
    let read = |file: &str| fs::read_to_string(project.join(file)).unwrap();
    let manifest = read("Cargo.toml");
    assert!(
        manifest.contains("name = \"my-kernels\"")
            && manifest.contains("my-kernels-kernels = { version = \"0.1.0\", path = \"kernels\" }"),
        "{manifest}"
    );
    let device = format!("path = {:?}", fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/device")).unwrap());
    assert!(manifest.contains(&device), "no {device} in {manifest}");
    assert!(read("src/lib.rs").contains("kernel_module!(my_kernels_kernels)"));
    assert!(read("build.rs").contains("image_per_kernel(true)"));
    assert_eq!(read("rust-toolchain.toml"), include_str!("../../rust-toolchain.toml"));
    // Nothing is left beside it.
    assert_eq!(fs::read_dir(folder.path("deep")).unwrap().count(), 1);
}

/// Whatever the name, before or after those of the project's crates.
#[test]
fn a_project_is_formatted() {
    let folder = Folder::of("new");
    for name in ["a", "zeta_9"] {
        folder.good(name);
        let sources = files(&folder.path(name)).into_iter().filter(|file| file.extension().is_some_and(|end| end == "rs"));
        // Not by the settings of this repository.
        let mut rustfmt = Command::new("rustfmt");
        let output = rustfmt.args(["--check", "--edition", "2024", "--config-path", "/dev/null"]).args(sources).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn crates_from_a_repository() {
    let folder = Folder::of("new");
    folder.good("a --git https://example.com/x.git --rev v1");
    let manifest = fs::read_to_string(folder.path("a/kernels/Cargo.toml")).unwrap();
    let line = r#"cuda_std = { package = "warpsmith-cuda-std", git = "https://example.com/x.git", rev = "v1" }"#;
    assert!(manifest.contains(line), "{manifest}");
}
