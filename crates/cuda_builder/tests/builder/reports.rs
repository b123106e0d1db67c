//! What rustc reports of a project: each mistake once, with its line.

use crate::krate::{Krate, child, in_child, out_dir};
use cuda_builder::CudaBuilder;
use std::{fs, process::Command};

/// The lines of a compiler's output that begin an error.
fn errors(output: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(output);
    let begins = |line: &&str| line.starts_with("error") || line.contains(": error");
    text.lines().filter(begins).map(str::to_owned).collect()
}

/// A launch has as many errors as wrong arguments.
#[test]
fn one_wrong_argument_is_one_error() {
    let (wrong, right) = (
        "let _ = launch!((library) library::Stream, one<<<1, 32>>>(1u32, 2));
         let _ = launch!((library) library::Stream, one<<<1, 32>>>(1.0, \"2\"));
         let _ = launch!((library) library::Stream, two::<f64><<<1, 32>>>([1.0, 2.0], Point { x: 0.0, y: 0.0 }));
         let _ = launch!((library) library::Stream, two::<f64><<<1, 32>>>(1.0, [0.0, 0.0]));",
        "let _ = launch!((library) library::Stream, one<<<1, 32>>>(1.0, 2));
         let _ = launch!((library) library::Stream, two::<f64><<<1, 32>>>(1.0, Point { x: 0.0, y: 0.0 }));",
    );
    // A library that launches nothing.
    let source = |launches: &str| {
        format!(
            "use cuda_std::prelude::*;
             use cuda_std_macros::launch;
             pub mod library {{
                 pub use cuda_std::launch::{{Bound, LaunchConfig}};
                 pub struct Stream;
                 impl Stream {{ pub fn launch(&self, _: Bound<'_>) -> Result<(), ()> {{ Ok(()) }} }}
             }}
             #[derive(Clone, Copy, KernelParam)] pub struct Point {{ pub x: f64, pub y: f64 }}
             #[kernel] pub fn one(_: f32, _: u32) {{}}
             #[kernel(for T in [f32, f64])] pub fn two<T>(_: T, _: Point) {{}}
             pub fn launches() {{
         {launches}
             }}"
        )
    };
    let crates = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let manifest = format!(
        "cuda_std = {{ package = \"warpsmith-cuda-std\", path = \"{crates}/cuda_std\" }}
         cuda_std_macros = {{ package = \"warpsmith-cuda-std-macros\", path = \"{crates}/cuda_std_macros\" }}\n"
    );
    let check = |launches: &str| {
        let krate = Krate::with_manifest("wrong_arguments", &manifest, &source(launches));
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["check", "--quiet", "--message-format=short", "--target-dir"]).arg(out_dir().join("host"));
        let output = cargo.current_dir(&krate.path).output().unwrap();
        (output.status.success(), errors(&output.stderr), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (success, _, text) = check(right);
    assert!(success, "{text}");
    let (_, errors, text) = check(wrong);
    let kinds = [
        "`u32` can't be passed for the kernel parameter `f32`",
        "`&'static str` can't be",
        "`[{float}; 2]` can't be",
        "`[{float}; 2]` can't be",
    ];
    // The last says how many there are.
    assert_eq!(errors.len(), kinds.len() + 1, "{text}");
    for (i, (error, kind)) in errors.iter().zip(kinds).enumerate() {
        assert!(error.starts_with(&format!("src/lib.rs:{}:", 13 + i)) && error.contains(kind), "{error}");
    }
}

/// A build script leaves rustc's errors to `kernel_module!`: where the host's build fails as well, they are not
/// reported twice.
#[test]
fn errors_of_kernels_come_once() {
    let krate = Krate::bare("reported", "KERNEL kernel(out: *mut u32) {\nunsafe { *out = missing } }");
    let folder = out_dir().join("reported");
    if child() {
        let output = CudaBuilder::new(&krate.path).target_dir(out_dir().join("device")).rerun_if_changed(true).build().unwrap();
        assert!(output.images.is_empty() && output.kernels.is_empty());
        return;
    }
    let said = in_child("reports::errors_of_kernels_come_once", |command| {
        command.env("OUT_DIR", &folder);
    });
    // Cargo runs the script again.
    let file = said.lines().find_map(|line| line.strip_prefix("cargo::rerun-if-changed=")).unwrap();
    assert!(!fs::exists(file).unwrap(), "{said}");

    let source = folder.join("host.rs");
    fs::write(&source, "const _: () = include!(\"reported.kernels.rs\");").unwrap();
    let mut rustc = Command::new(env!("CARGO").replace("cargo", "rustc"));
    rustc.args(["--edition=2024", "--crate-type=lib", "--emit=metadata", "--out-dir"]).arg(&folder).arg(&source);
    let output = rustc.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        errors(&output.stderr),
        [
            "error: the kernel crate `reported` doesn't compile for the device; rustc's messages are:",
            "error: aborting due to 1 previous error"
        ],
        "{text}"
    );
    assert_eq!(text.matches("cannot find value `missing` in this scope").count(), 1, "{text}");
    assert!(text.contains("--> src/lib.rs:5:17") && text.contains("unsafe { *out = missing }"), "{text}");
}
