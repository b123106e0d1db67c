//! Kernel crates that tests write, and builds of them.

use cuda_builder::{BuildOutput, BuilderError, CudaBuilder};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

/// The folder of all builds. They share its `device`, so that `cuda_std` is compiled once.
pub fn out_dir() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cuda_builder")
}

/// The folder of a test's images, so that builds of other tests leave them alone. A test's thread has its name.
pub fn images() -> PathBuf {
    out_dir().join("images").join(thread::current().name().unwrap_or_default().replace("::", "."))
}

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A kernel crate in a folder of its own.
pub struct Krate {
    pub path: PathBuf,
}

impl Krate {
    /// A crate that depends on `cuda_std`. It doesn't say `no_std`: the builder does.
    pub fn new(name: &str, source: &str) -> Krate {
        let manifest =
            format!("cuda_std = {{ package = \"warpsmith-cuda-std\", path = {:?} }}\n", repository().join("crates/cuda_std"));
        Krate::with_manifest(name, &manifest, &format!("use cuda_std::prelude::*;\n{source}"))
    }

    /// A crate without dependencies, which compiles at once. `KERNEL` stands for what is before a kernel's name.
    pub fn bare(name: &str, source: &str) -> Krate {
        let source = source.replace("KERNEL", "#[inline(never)] #[unsafe(link_section = \".cuda.kernel\")] pub unsafe fn");
        let panic = "#[panic_handler]\nfn panic(_: &core::panic::PanicInfo<'_>) -> ! { loop {} }\n";
        Krate::with_manifest(
            name,
            "",
            &format!("#![no_std]\n#![feature(core_intrinsics)]\n#![allow(internal_features)]\n{source}\n{panic}"),
        )
    }

    /// A crate from the manifest's part after `[dependencies]`, and its lib.rs.
    pub fn with_manifest(name: &str, manifest: &str, source: &str) -> Krate {
        let krate = Krate { path: out_dir().join("crates").join(name) };
        let manifest = format!(
            "[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\nresolver = \"3\"\n\n\
             [dependencies]\n{manifest}"
        );
        krate.write("Cargo.toml", &manifest);
        krate.write("src/lib.rs", source);
        // The repository's versions; cargo drops what the crate doesn't use.
        if !krate.path.join("Cargo.lock").exists() {
            fs::copy(repository().join("Cargo.lock"), krate.path.join("Cargo.lock")).unwrap();
        }
        krate
    }

    /// Writes a file of the crate where it isn't as it should be, so that cargo sees no change in one that is.
    pub fn write(&self, file: &str, text: &str) {
        let path = self.path.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if fs::read(&path).is_ok_and(|old| old == text.as_bytes()) {
            return;
        }
        fs::write(&path, text).unwrap();
    }

    /// A builder into the test's own folder.
    pub fn builder(&self) -> CudaBuilder {
        CudaBuilder::new(&self.path).out_dir(images()).target_dir(out_dir().join("device")).rerun_if_changed(false)
    }

    /// The error of a build that has to fail.
    #[track_caller]
    pub fn error(&self) -> BuilderError {
        build(self.builder()).expect_err("this must fail")
    }
}

pub fn build(builder: CudaBuilder) -> Result<BuildOutput, BuilderError> {
    builder.build()
}

/// Builds, and gives the one image's text.
#[track_caller]
pub fn ptx(builder: CudaBuilder) -> String {
    let output = builder.build().unwrap_or_else(|error| panic!("{error}"));
    fs::read_to_string(&output.images[0].path).unwrap()
}

/// Runs the test of that name again in a process of its own, where `child()` is true, and gives what it printed.
pub fn in_child(test: &str, configure: impl FnOnce(&mut Command)) -> String {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env("CUDA_BUILDER_TEST_CHILD", "1");
    configure(&mut command);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Returns true in the process that `in_child` started.
pub fn child() -> bool {
    env::var_os("CUDA_BUILDER_TEST_CHILD").is_some()
}
