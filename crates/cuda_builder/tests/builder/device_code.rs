//! Output of the builder for valid kernels.

use crate::krate::{Krate, build, child, images, in_child, out_dir, ptx};
use cuda_builder::{CudaBuilder, DebugInfo, NvptxArch};
use std::fs;

/// A crate with a kernel for each property, so that all are compiled once.
fn features() -> CudaBuilder {
    let krate = Krate::new(
        "features",
        r#"
        pub mod a { pub mod b {
            use cuda_std::prelude::*;
            #[kernel] pub unsafe fn k(out: *mut u32) { unsafe { *out = 1 } }
        } }

        mod private {
            use cuda_std::prelude::*;
            #[kernel] unsafe fn hidden(out: *mut u32) { unsafe { *out = 1 } }
            #[kernel(for T in [f32, u32])] unsafe fn of_types<T: Copy>(value: T, out: *mut T) { unsafe { *out = value } }
            #[kernel] unsafe fn r#loop(out: *mut u32) { core::hint::spin_loop(); unsafe { *out = 1 } }
        }

        #[kernel(max_threads = 256)] pub unsafe fn bounded(out: *mut u32) { unsafe { *out = 1 } }
        #[kernel(max_threads = 128, min_blocks = 4)] pub unsafe fn occupied(out: *mut u32) { unsafe { *out = 1 } }

        #[kernel] pub unsafe fn slice(input: &[u32], out: *mut u32) {
            let i = thread::index_1d() as usize;
            unsafe { *out.add(i) = input[i] }
        }
        #[kernel] pub unsafe fn pointer(input: *const u32, out: *mut u32) {
            let i = thread::index_1d() as usize;
            unsafe { *out.add(i) = *input.add(i) }
        }

        #[kernel] pub unsafe fn shared(out: *mut u32) {
            let (i, array) = (thread::thread_idx_x() as usize, shared_array![u32; 64]);
            unsafe {
                array.write(i, 7);
                thread::sync_threads();
                *out.add(i) = array.read(i ^ 1);
            }
        }
        #[kernel] pub unsafe fn dynamic(out: *mut u32) {
            let (i, array) = (thread::thread_idx_x() as usize, dynamic_shared::<u32>());
            unsafe {
                *array.add(i) = 7;
                thread::sync_threads();
                *out.add(i) = *array.add(i ^ 1);
            }
        }

        constant! { pub static TABLE: [u32; 16]; }
        #[kernel] pub unsafe fn constant(out: *mut u32) {
            let i = thread::thread_idx_x() as usize % 16;
            unsafe { *out.add(i) = TABLE.get(i) }
        }

        #[kernel] pub fn fused(a: f32, b: f32, mut out: DisjointSlice<f32>) {
            for (_, out) in out.grid_stride_mut() { *out = a * b + *out }
        }

        /// The branch's result is tested right after the barrier: duplicating the barrier would
        /// save the second branch.
        macro_rules! barrier {
            ($out:ident, $wait:ident) => {
                let i = thread::thread_idx_x() as usize;
                let mut first = false;
                unsafe {
                    if *$out.add(i) > 3 {
                        *$out.add(i) = 1;
                        first = true;
                    } else {
                        *$out.add(i) = 2;
                    }
                    $wait();
                    if first {
                        *$out.add(i ^ 1) = *$out.add(i ^ 2) / 7;
                    } else {
                        *$out.add(i ^ 3) *= *$out.add(i + 2);
                    }
                }
            };
        }
        #[inline(always)] fn wait() { thread::sync_threads() }
        #[inline(never)] fn wait_elsewhere() { thread::sync_threads() }
        #[kernel] pub unsafe fn barrier(out: *mut u32) { barrier!(out, wait); }
        #[kernel] pub unsafe fn barrier_elsewhere(out: *mut u32) { barrier!(out, wait_elsewhere); }

        #[kernel] pub fn panics(values: &[u32], divisor: u32, mut out: DisjointSlice<u32>) {
            for (i, out) in out.grid_stride_mut() {
                let value: Option<&u32> = values.get(i + 1);
                assert!(divisor != 7, "the divisor is {divisor}, and {value:?} too");
                let checked: Result<u8, _> = u8::try_from(values[i] / divisor);
                *out = checked.unwrap() as u32 + *value.expect("one more") + values[i..][2];
            }
        }

        /// A function of `core` that is compiled already, not generic and not inlined.
        #[kernel] pub fn precompiled(text: &[u8], mut out: DisjointSlice<u32>) {
            for (i, out) in out.grid_stride_mut() { *out = core::str::from_utf8(&text[i..]).is_ok() as u32 }
        }

        /// Slices are compared by `memcmp`.
        #[kernel] pub unsafe fn equal(a: &[u8], b: &[u8], out: *mut bool) { unsafe { *out = a == b } }

        /// Nobody calls it, so it may need what a GPU doesn't have.
        pub fn unreached() -> u32 {
            unsafe extern "C" { fn not_there() -> u32; }
            unsafe { not_there() }
        }
        core::arch::global_asm!(".globl nothing", "nothing: ret");
        "#,
    );
    krate.builder()
}

/// The text of a kernel, from its name to the end of its body.
#[track_caller]
pub fn kernel<'a>(ptx: &'a str, name: &str) -> &'a str {
    let start = ptx.find(&format!(".entry {name}(")).unwrap_or_else(|| panic!("no kernel {name} in\n{ptx}"));
    let end = ptx[start..].find("\n}").unwrap_or_else(|| panic!("{name} has no end"));
    &ptx[start..start + end]
}

#[track_caller]
pub fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
}

#[track_caller]
pub fn assert_lacks(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(!text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn kernels_need_not_be_pub() {
    let ptx = ptx(features());
    for name in ["private_hidden", "private_loop", "private_of_types_f32", "private_of_types_u32"] {
        assert_has(kernel(&ptx, name), &["st.global"]);
    }
}

#[test]
fn kernels_have_the_names_of_their_paths() {
    let output = build(features()).unwrap();
    assert_eq!(
        output.kernels,
        [
            "a_b_k",
            "barrier",
            "barrier_elsewhere",
            "bounded",
            "constant",
            "dynamic",
            "equal",
            "fused",
            "occupied",
            "panics",
            "pointer",
            "precompiled",
            "private_hidden",
            "private_loop",
            "private_of_types_f32",
            "private_of_types_u32",
            "shared",
            "slice"
        ]
    );
    let ptx = ptx(features());
    for name in &output.kernels {
        kernel(&ptx, name);
    }
    assert_eq!(ptx.matches(".entry").count(), output.kernels.len());
}

#[test]
fn launch_bounds() {
    let ptx = ptx(features());
    assert_has(kernel(&ptx, "bounded"), &[".maxntid 256"]);
    assert_lacks(kernel(&ptx, "bounded"), &[".minnctapersm"]);
    assert_has(kernel(&ptx, "occupied"), &[".maxntid 128", ".minnctapersm 4"]);
    assert_lacks(kernel(&ptx, "a_b_k"), &[".maxntid", ".minnctapersm"]);
}

/// Slices promise that nobody writes meanwhile; pointers don't.
#[test]
fn slices_load_through_the_read_only_path() {
    let ptx = ptx(features());
    assert_has(kernel(&ptx, "slice"), &["ld.global.nc.b32", "st.global.b32"]);
    assert_has(kernel(&ptx, "pointer"), &["ld.global.b32", "st.global.b32"]);
    assert_lacks(kernel(&ptx, "pointer"), &[".nc"]);
    assert_eq!(kernel(&ptx, "slice").matches(".param .u64").count(), 3, "pointer, length, pointer");
}

#[test]
fn memory_spaces() {
    let ptx = ptx(features());
    for name in ["shared", "dynamic"] {
        let text = kernel(&ptx, name);
        assert_has(text, &["st.shared.b32", "ld.shared.b32"]);
        assert_lacks(text, &["ld.b32", "st.b32"]);
    }
    let text = kernel(&ptx, "constant");
    assert_has(text, &["ld.const.b32"]);
    assert_lacks(text, &["ld.b32", "ld.global"]);
    assert_has(&ptx, &[".b8 TABLE[64]", ".extern .shared .align 16 .b8 "]);
    assert!(ptx.lines().any(|line| line.trim().starts_with(".shared .align 16 .b8 ") && line.ends_with("[256];")), "{ptx}");
    assert!(ptx.lines().any(|line| line.contains("TABLE[64]") && line.contains(".visible .const")), "the host finds it by name");
}

#[test]
fn contraction() {
    let text = ptx(features());
    assert_has(kernel(&text, "fused"), &["fma.rn.f32"]);
    let text = ptx(features().fma_contraction(false));
    assert_has(kernel(&text, "fused"), &["mul.rn.f32", "add.rn.f32"]);
    assert_lacks(kernel(&text, "fused"), &["fma"]);
}

/// A barrier in two branches is another program: the threads of a block would wait at different ones.
#[test]
fn barriers_are_not_duplicated() {
    let ptx = ptx(features());
    for name in ["barrier", "shared", "dynamic"] {
        let text = kernel(&ptx, name);
        assert_eq!(text.matches("barrier.sync").count(), 1, "{text}");
    }
    let text = kernel(&ptx, "barrier_elsewhere");
    assert_eq!(text.matches("call.uni").count(), 1, "{text}");
}

#[test]
fn panics() {
    let bare = ptx(features());
    assert_has(kernel(&bare, "panics"), &["trap;"]);
    // Nothing is called: the functions of `core` that panic are a trap each, in place.
    assert_lacks(kernel(&bare, "panics"), &["call"]);
    assert_lacks(&bare, &["vprintf", "fmt"]);
    let telling = ptx(features().panic_messages(true));
    // Places alone, messages that are known, bounds of indices, and a message that takes `core`'s formatting.
    assert_has(&telling, &["vprintf", "trap;", "__cuda_std_panic_format", "5panic5known", "5panic6report", "5panic9formatted"]);
    assert_has(kernel(&telling, "panics"), &["5panic9formatted", "5panic5known"]);
    let source = "#[kernel] pub fn known(n: u32, a: &[u32]) { assert!(n < 9, \"nine\"); assert!(a[n as usize] == 0); }";
    let known = ptx(Krate::new("known_messages", source).builder().panic_messages(true));
    assert_has(&known, &["5panic5known", "5panic6report"]);
    assert_lacks(&known, &["callprototype", "Formatter"]);
}

#[test]
fn functions_of_core_are_linked() {
    let ptx = ptx(features());
    // The table of UTF-8's first bytes.
    assert_has(&ptx, &["[256] = {1, 1, 1, "]);
    assert_lacks(&ptx, &[".extern .func"]);
}

#[test]
fn what_no_kernel_reaches_is_gone() {
    assert_lacks(&ptx(features()), &["unreached", "not_there", ".globl nothing"]);
}

#[test]
fn line_tables() {
    let with = ptx(features());
    assert_has(&with, &[".file\t", "/features/src/lib.rs\"", ".loc\t"]);
    let target = with.lines().find(|line| line.starts_with(".target")).unwrap();
    assert_eq!(target.trim(), ".target sm_75", "`, debug` would turn ptxas's optimiser off");

    let krate = Krate::bare("without_lines", "KERNEL kernel(out: *mut u32) { unsafe { *out = 1 } }");
    assert_lacks(&ptx(krate.builder().debug(DebugInfo::None)), &[".file", ".loc", ".section"]);
    assert_has(&ptx(krate.builder()), &[".loc"]);
}

#[test]
fn an_image_for_each_architecture() {
    let copies = out_dir().join("copies");
    fs::create_dir_all(&copies).unwrap();
    let both = features().arch(NvptxArch::Compute90).arch(NvptxArch::Compute75).arch(NvptxArch::Compute90);
    let output = build(both.copy_to(copies.join("kernels.ptx"))).unwrap();
    assert_eq!(output.images.iter().map(|image| image.arch.number()).collect::<Vec<_>>(), [75, 90]);
    for image in &output.images {
        let name = image.arch.target_cpu();
        assert_eq!(image.path, images().join(format!("features.{name}.ptx")));
        let copy = fs::read_to_string(copies.join(format!("kernels.{name}.ptx"))).unwrap();
        assert_has(&copy, &[&format!(".target {name}\n"), ".entry a_b_k("]);
    }

    let output = build(features().arch(NvptxArch::Compute120).copy_to(copies.join("one.ptx"))).unwrap();
    assert_eq!(output.images.len(), 1);
    assert_has(&fs::read_to_string(copies.join("one.ptx")).unwrap(), &[".target sm_120"]);
    let default = build(features()).unwrap();
    assert_eq!(default.images.iter().map(|image| image.arch).collect::<Vec<_>>(), [NvptxArch::Compute75]);
}

#[test]
fn an_image_for_each_kernel() {
    let whole = build(features().arch(NvptxArch::Compute75)).unwrap();
    let text = fs::read_to_string(&whole.images[0].path).unwrap();
    let parts = build(features().arch(NvptxArch::Compute75).image_per_kernel(true)).unwrap();
    assert_eq!((&whole.images[0].kernels, &parts.kernels), (&whole.kernels, &whole.kernels));
    assert!(parts.images.len() > 1 && parts.images.iter().flat_map(|image| &image.kernels).eq(&whole.kernels));
    for image in &parts.images {
        let name = &image.kernels[0];
        assert_eq!(image.path, images().join(format!("features.{name}.sm_75.ptx")));
        // It uses everything that it declares, and its code is that of the whole.
        let part = fs::read_to_string(&image.path).unwrap();
        assert_eq!(part.matches(".entry ").count(), 1, "{name}");
        assert_eq!(code(&part, name).len(), code(&text, name).len(), "{name}");
    }
}

/// The lines of a kernel's code, but for numbers of labels, declarations of registers and files.
fn code<'a>(ptx: &'a str, kernel: &str) -> Vec<&'a str> {
    let (_, body) = ptx.split_once(&format!(".entry {kernel}(")).unwrap();
    let lines = body[..body.find("\n}").unwrap()].lines().map(|line| line.split("//").next().unwrap().trim());
    lines.filter(|line| !line.starts_with(['.', '$']) && !line.contains("$L")).collect()
}

#[test]
fn an_image_for_each_architecture_where_the_code_differs() {
    let krate = Krate::new(
        "archs",
        "#[kernel] pub unsafe fn same(out: *mut f32, x: f32) { unsafe { *out = x.mul_add(x, 1.0) } }
         #[inline(never)] fn newer() -> bool { cuda_std::arch() >= 800 }
         #[kernel] pub unsafe fn asks(out: *mut bool) { unsafe { *out = newer() } }
         #[kernel] pub unsafe fn sums(out: *mut u32, x: u32) { unsafe { *out = warp::reduce_add(u32::MAX, x) } }
         #[kernel(cluster = 2)] pub unsafe fn clustered(out: *mut u32) { unsafe { *out = 1 } }",
    );
    let archs = [NvptxArch::Compute75, NvptxArch::Compute80];
    let whole = archs.map(|arch| fs::read_to_string(&build(krate.builder().arch(arch)).unwrap().images[0].path).unwrap());
    let both = build(archs.into_iter().rev().fold(krate.builder().image_per_kernel(true), CudaBuilder::arch)).unwrap();
    let of = |arch| both.images.iter().filter(move |image| image.arch == arch).flat_map(|image| &image.kernels);
    assert!(of(archs[0]).eq(&both.kernels));
    assert!(of(archs[1]).eq(["asks", "clustered", "sums"]), "{:?}", both.images);
    assert!(code(&whole[0], "same") == code(&whole[1], "same"));
    assert!(code(&whole[0], "sums") != code(&whole[1], "sums"));
}

#[test]
fn llvm_ir() {
    let output = build(features().emit_llvm_ir(true)).unwrap();
    let ir = fs::read_to_string(output.images[0].path.with_extension("ll")).unwrap();
    assert_has(&ir, &["target triple = \"nvptx64-nvidia-cuda\"", "define ptx_kernel void @a_b_k("]);
    // If the core library's source is installed, the toolchain's path is in texts and tables.
    let code: String = ir.lines().filter(|line| !line.starts_with(['@', '!'])).collect();
    assert_lacks(&code, &["x86", "\"target-features\"", "probe-stack", " personality "]);
}

/// The crate's own release profile says how its host build is optimised, which isn't the device's business.
#[test]
fn profiles_have_no_say() {
    let source = "KERNEL kernel(out: *mut u32, a: u32) { unsafe { *out = a * 3 } }";
    let krate = Krate::bare("profiles", source);
    let plain = ptx(krate.builder());
    let manifest = fs::read_to_string(krate.path.join("Cargo.toml")).unwrap();
    let mut texts = vec![plain];
    for profile in
        ["lto = \"fat\"", "lto = \"thin\"\ncodegen-units = 4", "debug = 2\nopt-level = \"z\"\npanic = \"unwind\"\nstrip = true"]
    {
        krate.write("Cargo.toml", &format!("{manifest}\n[profile.release]\n{profile}\n"));
        texts.push(ptx(krate.builder()));
    }
    krate.write("Cargo.toml", &manifest);
    for text in &texts[1..] {
        assert_eq!(text, &texts[0]);
    }
}

/// A library may have another name than its package, and be of several crate types.
#[test]
fn libraries_with_names_of_their_own() {
    let krate = Krate::bare("package-name", "KERNEL kernel(out: *mut u32) { unsafe { *out = 1 } }");
    let manifest = fs::read_to_string(krate.path.join("Cargo.toml")).unwrap();
    krate.write("Cargo.toml", &format!("{}\n\n[lib]\nname = \"library_name\"\ncrate-type = [\"rlib\"]\n", manifest.trim_end()));
    let output = build(krate.builder()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(output.images[0].path, images().join("library_name.sm_75.ptx"));
}

/// Settings of the host's build, by the outer cargo or by hand, don't reach the device's.
#[test]
fn the_environment_has_no_say() {
    let krate = Krate::bare("environment", "KERNEL kernel(out: *mut u32) { unsafe { *out = 1 } }");
    if child() {
        print!("{}", ptx(krate.builder()));
        return;
    }
    let said = in_child("device_code::the_environment_has_no_say", |command| {
        for (name, value) in [
            ("RUSTFLAGS", "-Cno-such-flag"),
            ("CARGO_ENCODED_RUSTFLAGS", "-Cno-such-flag"),
            ("CARGO_BUILD_RUSTFLAGS", "-Cno-such-flag"),
            ("RUSTC_WRAPPER", "/nowhere/wrapper"),
            ("RUSTC_WORKSPACE_WRAPPER", "/nowhere/wrapper"),
            ("CARGO_BUILD_RUSTC_WRAPPER", "/nowhere/wrapper"),
            ("CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER", "/nowhere/wrapper"),
            ("CARGO_BUILD_TARGET", "no-such-target"),
            ("CARGO_TARGET_DIR", "/nowhere/target"),
            ("CARGO_PROFILE_RELEASE_LTO", "fat"),
            ("CARGO_PROFILE_RELEASE_DEBUG", "2"),
            ("CARGO_INCREMENTAL", "1"),
        ] {
            command.env(name, value);
        }
    });
    assert!(said.contains(&ptx(krate.builder())), "{said}");
}

/// docs.rs has a nightly toolchain, whose LLVM the builder doesn't speak to.
#[test]
fn documentation_needs_no_ptx() {
    if child() {
        let output = build(features().out_dir(out_dir().join("documentation"))).unwrap();
        assert!(output.images.is_empty() && output.kernels.is_empty());
        let module = fs::read_to_string(output.module).unwrap();
        assert!(module.starts_with("KernelModule::new(\"features\", 0x") && module.contains("&[\n])"), "{module}");
        return;
    }
    in_child("device_code::documentation_needs_no_ptx", |command| {
        command.env("DOCS_RS", "1").env("RUSTC", "/nowhere/rustc");
    });
}

/// Features of the crate and of its dependencies.
#[test]
fn arguments_for_cargo() {
    let krate = Krate::bare(
        "with_features",
        "KERNEL always(out: *mut u32) { unsafe { *out = 1 } }
         #[cfg(feature = \"more\")]
         KERNEL sometimes(out: *mut u32) { unsafe { *out = 2 } }",
    );
    let manifest = fs::read_to_string(krate.path.join("Cargo.toml")).unwrap();
    if !manifest.contains("[features]") {
        krate.write("Cargo.toml", &(manifest + "\n[features]\nmore = []\n"));
    }
    assert_eq!(build(krate.builder()).unwrap().kernels, ["always"]);
    for arguments in [&["--features", "more"][..], &["--features=more"], &["-Fmore"], &["--all-features"]] {
        assert_eq!(build(krate.builder().build_args(arguments)).unwrap().kernels, ["always", "sometimes"], "{arguments:?}");
    }
    let error = build(krate.builder().build_args(&["--features", "less"])).unwrap_err().to_string();
    assert!(error.contains("does not contain this feature: less") || error.contains("`less`"), "{error}");
}

/// Without arguments, the kernel crate has the features that the build script's package gives its dependency.
#[test]
fn features_of_the_host() {
    let krate = Krate::bare(
        "of_the_host",
        "#[cfg(feature = \"default\")] KERNEL a(out: *mut u32) { unsafe { *out = 1 } }
         #[cfg(feature = \"more\")] KERNEL b(out: *mut u32) { unsafe { *out = 2 } }
         #[cfg(feature = \"most\")] KERNEL c(out: *mut u32) { unsafe { *out = 3 } }
         KERNEL d(out: *mut u32) { unsafe { *out = 4 } }",
    );
    let manifest = fs::read_to_string(krate.path.join("Cargo.toml")).unwrap();
    if !manifest.contains("[features]") {
        krate.write("Cargo.toml", &(manifest + "\n[features]\ndefault = []\nmore = []\nmost = []\n"));
    }
    if child() {
        println!("{:?}", build(krate.builder()).unwrap().kernels);
        println!("{:?}", build(krate.builder().build_args(&["--all-features"])).unwrap().kernels);
        return;
    }
    let dependency = format!("kernels = {{ package = \"of_the_host\", path = {:?}, ", krate.path);
    let features = "\n[features]\nall-of-it = [\"kernels/most\"]\nother = [\"kernels/more\", \"all-of-it\"]\n";
    for (rest, enabled, expected) in [
        ("}", &[][..], r#"["a", "d"]"#),
        ("default-features = false }", &[], r#"["d"]"#),
        (r#"features = ["more"] }"#, &[], r#"["a", "b", "d"]"#),
        ("default-features = false }", &["ALL_OF_IT"], r#"["c", "d"]"#),
        ("optional = true }", &["ALL_OF_IT", "OTHER"], r#"["a", "b", "c", "d"]"#),
    ] {
        let slash = if rest.starts_with("optional") { "?/" } else { "/" };
        let manifest = format!("{dependency}{rest}\n{}", features.replace('/', slash));
        let host = Krate::with_manifest("host", &manifest, "");
        let said = in_child("device_code::features_of_the_host", |command| {
            command.env("CARGO_MANIFEST_DIR", &host.path).env("OUT_DIR", out_dir());
            command.envs(enabled.iter().map(|feature| (format!("CARGO_FEATURE_{feature}"), "1")));
        });
        assert!(said.contains(expected) && said.contains(r#"["a", "b", "c", "d"]"#), "{rest} {enabled:?}: {said}");
    }
}
