//! Reports of rustc about a project: each mistake once, with its line.

use crate::krate::{Krate, child, in_child, out_dir};
use cuda_builder::CudaBuilder;
use std::{fs, process::Command};

/// The lines of a compiler's output that begin an error.
fn errors(output: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(output);
    let begins = |line: &&str| line.starts_with("error") || line.contains(": error");
    text.lines().filter(begins).map(str::to_owned).collect()
}

/// The errors of a crate for the host with these lines behind the imports, and all that cargo said.
fn check(name: &str, source: &str) -> (Vec<String>, String) {
    let crates = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let manifest = format!(
        "cuda_std = {{ package = \"warpsmith-cuda-std\", path = \"{crates}/cuda_std\" }}
         cuda_std_macros = {{ package = \"warpsmith-cuda-std-macros\", path = \"{crates}/cuda_std_macros\" }}\n"
    );
    let krate = Krate::with_manifest(name, &manifest, &format!("use cuda_std::prelude::*;\n{source}"));
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["check", "--quiet", "--message-format=short", "--target-dir"]).arg(out_dir().join("host"));
    let output = cargo.current_dir(&krate.path).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(errors(&output.stderr).is_empty(), output.status.success(), "{text}");
    (errors(&output.stderr), text)
}

/// There are as many errors as `parts`: each has the part, and the line after the one before it, from `first` on.
#[track_caller]
fn assert_errors((errors, text): (Vec<String>, String), first: usize, parts: &[&str]) {
    // The last says how many there are.
    assert_eq!(errors.len(), parts.len() + 1, "{text}");
    for (i, (error, part)) in errors.iter().zip(parts).enumerate() {
        assert!(error.starts_with(&format!("src/lib.rs:{}:", first + i)) && error.contains(part), "{error}");
    }
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
            "use cuda_std_macros::launch;
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
    let (errors, text) = check("right_arguments", &source(right));
    assert!(errors.is_empty(), "{text}");
    let parts = [
        "`u32` can't be passed for the kernel parameter `f32`",
        "`&str` can't be passed",
        "`[{float}; 2]` can't be passed",
        "`[{float}; 2]` can't be passed",
    ];
    assert_errors(check("wrong_arguments", &source(wrong)), 12, &parts);
    // Launches as others write them.
    let forms = "let _ = launch!((library) one<<<1, 32, 0, library::Stream>>>(1.0, 2));
         let _ = launch!((library) library::Stream, one(1.0, 2));
         let _ = launch!((library) library::Stream, one<<<1>>>(1.0, 2));";
    assert_errors(check("other_forms", &source(forms)), 12, &["a launch is `launch!(stream, kernel<<<grid, block>>>(..))`"; 3]);
}

/// Types that can't be in a device's memory, with a reason each.
#[test]
fn device_copy() {
    let source = "#[derive(Clone, Copy, DeviceCopy)] pub struct Plain { x: f32, y: bool }
        #[derive(Clone, Copy, DeviceCopy)] pub enum Choice { A, B }
        #[derive(Clone, Copy, DeviceCopy)] #[repr(C)] pub struct Static(u8, &'static u8);
        #[derive(Clone, Copy, DeviceCopy)] #[repr(C)] pub struct Lifetime<'a>(&'a u8);
        #[derive(Clone, Copy, DeviceCopy)] #[repr(u8)] pub enum Text { A([[&'static str; 2]; 3]) }
        #[derive(Clone, Copy, DeviceCopy)] #[repr(C)] pub union Both { x: f32, y: u32 }
        #[derive(Clone, Copy, DeviceCopy)] #[repr(align(8))] pub struct Aligned(u8);
        #[derive(Clone, Copy)] #[repr(C)] pub struct Not(bool);
        #[derive(Clone, Copy, DeviceCopy)] #[repr(C, align(8))] pub struct Right([[Option<core::num::NonZero<u8>>; 2]; 3]);";
    let (errors, text) = check("device_copy", source);
    // Errors of the macro come first.
    let says = |line: usize, part: &str| {
        let line = format!("src/lib.rs:{line}:");
        let of_line: Vec<_> = errors.iter().filter(|error| error.starts_with(&line)).collect();
        assert!(of_line.len() == 1 && of_line[0].contains(part), "{line} {part}: {text}");
    };
    says(2, "`#[repr(C)]` or `#[repr(transparent)]`");
    says(3, "`#[repr(u8)]`, of another integer, or `#[repr(C)]`");
    says(4, "`&'static u8` can't be in a device's memory");
    says(5, "a device has another");
    says(6, "`&'static str` can't be in a device's memory");
    says(7, "a union");
    says(8, "`#[repr(C)]` or `#[repr(transparent)]`");
    assert_eq!(errors.len(), 8, "{text}");
    let generic = "#[derive(Clone, Copy, DeviceCopy)] #[repr(C)] pub struct Pair<T>(T, bool);
        #[derive(Clone, Copy)] pub struct Other(bool);
        fn takes<T: DeviceCopy>(_: T) {}
        pub fn calls() {
            takes(Pair(1.0f32, true)); takes(Pair(Pair(1u8, false), true));
            takes(Pair(Other(true), true)) }";
    assert_errors(check("device_copy_generic", generic), 7, &["`Pair<Other>` can't be in a device's memory"]);
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
