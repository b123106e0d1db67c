//! Errors and their sentences.

use crate::krate::{Krate, build, child, in_child, out_dir};
use cuda_builder::{BuildOutput, BuilderError, CudaBuilder};
use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

/// The error's sentence holds each part.
#[track_caller]
fn assert_says(error: BuilderError, parts: &[&str]) {
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

/// A crate with a kernel named `kernel` that is not made by the macro.
fn bare(name: &str, signature_and_body: &str) -> Krate {
    Krate::bare(name, &format!("KERNEL kernel{signature_and_body}"))
}

/// A shell script in the place of rustc.
fn script(name: &str, text: &str) -> PathBuf {
    let path = out_dir().join(name);
    fs::create_dir_all(out_dir()).unwrap();
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn no_out_dir() {
    if child() {
        println!("{}", CudaBuilder::new("anywhere").build().unwrap_err());
        return;
    }
    let said = in_child("errors::no_out_dir", |command| {
        command.env_remove("OUT_DIR");
    });
    assert!(said.contains("call it from a build script (cargo sets OUT_DIR there), or name a folder with `out_dir`"), "{said}");
}

#[test]
fn no_llvm() {
    if child() {
        println!("{}", build(CudaBuilder::new("anywhere").out_dir(out_dir())).unwrap_err());
        return;
    }
    let sysroot = out_dir().join("a toolchain without LLVM");
    fs::create_dir_all(sysroot.join("lib")).unwrap();
    let rustc = script("rustc_without_llvm", &format!("echo '{}'", sysroot.display()));
    let said = in_child("errors::no_llvm", |command| {
        command.env("RUSTC", rustc);
    });
    assert!(said.contains(&format!("no libLLVM*.so lies in {}", sysroot.join("lib").display())), "{said}");
    assert!(said.contains("Install Rust through rustup"), "{said}");
}

#[test]
fn no_sysroot() {
    if child() {
        println!("{}", build(CudaBuilder::new("anywhere").out_dir(out_dir())).unwrap_err());
        return;
    }
    let rustc = script("rustc_that_fails", "echo 'no such toolchain' >&2\nexit 1");
    let said = in_child("errors::no_sysroot", |command| {
        command.env("RUSTC", &rustc);
    });
    assert!(said.contains("--print sysroot` failed (no such toolchain)"), "{said}");
    let said = in_child("errors::no_sysroot", |command| {
        command.env("RUSTC", "/nowhere/rustc");
    });
    assert!(said.contains("`/nowhere/rustc --print sysroot` failed (No such file or directory"), "{said}");
}

#[test]
fn no_crate() {
    let folder = out_dir().join("crates/not there");
    let error = build(CudaBuilder::new(&folder).out_dir(out_dir())).unwrap_err();
    assert_says(error, &[&*format!("no kernel crate at {}", folder.display()), "the folder that holds its Cargo.toml"]);
}

#[test]
fn a_manifest_that_cargo_refuses() {
    let krate = Krate::with_manifest("bad_manifest", "[dependencies]\n", "");
    assert_says(krate.error(), &["could not describe the crate at", "duplicate key"]);
}

#[test]
fn a_crate_without_a_library() {
    let krate = Krate::with_manifest("no_library", "", "");
    fs::rename(krate.path.join("src/lib.rs"), krate.path.join("src/main.rs")).unwrap();
    let error = krate.error();
    assert_says(error, &["the package has no library"]);
}

#[test]
fn doesnt_compile() {
    let krate = bare("doesnt_compile", "(out: *mut u32) { let wrong: u32 = \"text\"; }");
    assert_says(krate.error(), &["`doesnt_compile` doesn't compile for the device", "mismatched types", "src/lib.rs"]);
}

#[test]
fn a_parameter_that_is_too_large() {
    let kernel = |name, elements: u32| {
        Krate::new(name, &format!("#[kernel]\npub fn rows(_: [[f32; {elements}]; 2], _: DisjointSlice<f32>) {{}}\n"))
    };
    build(kernel("sixteen_words", 8).builder()).unwrap();
    assert_says(kernel("eighteen_words", 9).error(), &["a kernel parameter has at most 16 words", "too_large::<[[f32; 9]; 2]>"]);
}

#[test]
fn two_kernels_of_one_name() {
    let instances = "[With<f32, 4>, With<F32, 4>]";
    let source = format!("pub struct With<T, const N: u32>(T);\n#[kernel(for W in {instances})]\npub fn nothing<W>() {{}}\n");
    assert_says(
        Krate::new("one_name", &source).error(),
        &["two kernels would end with `_with_f32_4`: give one type another name"],
    );
}

#[test]
fn no_kernels() {
    let krate = Krate::bare("no_kernels", "pub fn function(out: &mut u32) { *out = 1; }");
    assert_says(krate.error(), &["`no_kernels` holds no kernel", "mark one with `#[kernel]`", "`pub`"]);
}

#[test]
fn duplicate_names() {
    let krate = bare(
        "duplicate_names",
        "(out: *mut u32) {}
         pub mod a { pub mod b_c { KERNEL d(out: *mut u32) {} } }
         pub mod a_b { pub mod c { KERNEL d(out: *mut u32) {} } }",
    );
    assert_says(krate.error(), &["two kernels would both be named `a_b_c_d` in PTX"]);
}

#[test]
fn parameters_that_the_macro_refuses() {
    let krate = Krate::new(
        "refused_parameters",
        "#[derive(Clone, Copy)] pub struct Pair { pub a: f32, pub b: f32 }
         pub mod one { use super::*; #[kernel] pub fn tuple(pair: (u32, u32)) {} }
         pub mod two { use super::*; #[kernel] pub fn exclusive(out: &mut u32) {} }
         pub mod three { use super::*; #[kernel] pub fn function(f: fn(u32)) {} }
         pub mod four { use super::*; #[kernel] pub fn generic<T>(value: &T) {} }
         pub mod five { use super::*; #[kernel] pub fn answer() -> u32 { 1 } }
         pub mod six { use super::*; #[kernel] pub extern \"C\" fn c() {} }
         pub mod seven { use super::*; #[kernel(max_threads = 2048)] pub fn too_many() {} }
         pub mod eight { use super::*; #[kernel(min_blocks = 2)] pub fn alone() {} }
         pub mod eleven { use super::*; #[kernel(block = [64, 32])] pub fn large() {} }
         pub mod twelve { use super::*; #[kernel(block = 64, max_threads = 64)] pub fn twice() {} }
         pub mod thirteen { use super::*; pub fn no_cpu(a: u32) { unsafe { ptx_asm!(\"nop;\", in(b32) a) } } }
         pub mod fourteen { use super::*; pub fn unused(a: u32) { unsafe { ptx_asm!(\"nop;\", in(b32) a; cpu => ()) } } }
         pub mod nine { use super::*; #[kernel(for U in [f32])] pub fn other<T>(value: T) {} }
         pub mod ten { use super::*; #[derive(KernelParam)] pub enum Choice { A, B } }",
    );
    assert_says(
        krate.error(),
        &[
            "not a kernel parameter: a kernel takes scalars, vectors (`F32x4`), `&[T]`, `&T`, `*const T`, `*mut T`, `DisjointSlice<T>`,",
            "(u32, u32)",
            "`&mut` would promise each thread that it alone may write there",
            "fn(u32)",
            "a generic kernel needs a list of the types that it exists for",
            "a kernel returns nothing",
            "a kernel has the Rust ABI",
            "max_threads is a number from 1 to 1024",
            "`min_blocks` needs `max_threads`, too",
            "block has one to three extents, and 1 to 1024 threads, of which z has at most 64",
            "`block` says how many threads there are: `max_threads` is too much",
            "expected `; cpu => { .. }`: what the CPU does instead",
            "the PTX doesn't use operand 0",
            "the kernel's generic parameters are not `U`, in this order",
            "a kernel parameter is a structure",
        ],
    );
}

#[test]
fn structures_by_value() {
    let krate = Krate::new(
        "refused_structures",
        "#[derive(Clone, Copy)] pub struct Pair { pub a: f32, pub b: f32 }
         #[derive(Clone, Copy, KernelParam)] pub struct Outer { pub pair: Pair }
         #[kernel] pub fn structure(pair: Pair) {}",
    );
    assert_says(
        krate.error(),
        &["`Pair` can't be a kernel parameter", "structures of these with `#[derive(KernelParam)]`", "struct Outer"],
    );
}

#[test]
fn parameters_that_ptx_cant_pass() {
    let krate = bare("wide_parameter", "(out: *mut u128, value: u128) { unsafe { *out = value } }");
    assert_says(
        krate.error(),
        &["`wide_parameter::kernel`", "(i128, in position 1)", "structures of these with `#[derive(KernelParam)]`"],
    );
}

#[test]
fn a_kernel_called_by_device_code() {
    let krate = bare(
        "called_kernel",
        "(out: *mut u32) { unsafe { *out = 1 } }
         pub mod other { #[inline(never)] pub fn caller(out: *mut u32) { unsafe { super::kernel(out) } } }",
    );
    // Nobody calls the caller: it is as good as not there.
    build(krate.builder()).unwrap();
    let krate = bare(
        "called_kernel",
        "(out: *mut u32) { unsafe { *out = 1 } }
         pub mod other {
             #[inline(never)] pub fn caller(out: *mut u32) { unsafe { super::kernel(out) } }
             KERNEL second(out: *mut u32) { caller(out) }
         }",
    );
    assert_says(
        krate.error(),
        &[
            "`called_kernel::kernel` is called by `called_kernel::other::caller`",
            "move what they share into a function that both call",
        ],
    );
}

#[test]
fn undefined_symbols() {
    let source = |name: &str| {
        format!(
            "(out: *mut u32) {{ unsafe {{ *out = deep::helper() }} }}
             mod deep {{
                 unsafe extern \"C\" {{ #[link_name = {name:?}] fn missing() -> u32; }}
                 #[inline(never)] pub fn helper() -> u32 {{ unsafe {{ missing() }} }}
             }}"
        )
    };
    assert_says(
        bare("undefined", &source("not_there")).error(),
        &["device code needs `not_there`, which doesn't exist on a GPU; it is called by `undefined::deep::helper`"],
    );
    assert_says(
        bare("undefined_mangled", &source("_ZN5other6module8function17h0123456789abcdefE")).error(),
        &["device code needs `other::module::function`, which"],
    );
}

/// A host's program would have the symbol.
#[test]
fn assembly_outside_functions() {
    let krate = bare(
        "global_assembly",
        "(out: *mut u32) { unsafe { *out = from_assembly() } }
         unsafe extern \"C\" { fn from_assembly() -> u32; }
         core::arch::global_asm!(\".globl from_assembly\", \"from_assembly: ret\");",
    );
    assert_says(krate.error(), &["`from_assembly`", "`global_assembly::kernel`"]);
}

#[test]
fn inline_assembly() {
    let krate = bare(
        "inline_assembly",
        "(out: *mut u32) { unsafe { deep::helper(); *out = 1 } }
         mod deep { #[inline(never)] pub fn helper() { unsafe { core::arch::asm!(\"nop\") } } }",
    );
    assert_says(
        krate.error(),
        &["inline assembly for the host's processor, in `inline_assembly::deep::helper`", "#[cfg(not(cuda_device))]"],
    );
}

/// Empty assembly is a barrier for the compiler; neither one before it nor the host's registers hide what isn't.
#[test]
fn inline_assembly_after_a_barrier() {
    let barrier = "(out: *mut u32, value: u32) { unsafe { *out = core::hint::black_box(value); core::arch::asm!(\"\") } }";
    build(bare("barrier_assembly", barrier).builder()).unwrap();
    let hidden = "(out: *mut u32, value: u32) { unsafe { *out = core::hint::black_box(value); core::arch::asm!(\"nop\") } }";
    assert_says(bare("hidden_assembly", hidden).error(), &["in `hidden_assembly::kernel`"]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn registers_of_the_host() {
    let krate = bare("host_register", "(value: f64) { unsafe { core::arch::asm!(\"\", in(\"xmm3\") value) } }");
    assert_says(krate.error(), &["in `host_register::kernel`"]);
}

#[test]
fn thread_locals() {
    let krate = Krate::bare(
        "thread_local",
        "#![feature(thread_local)]
         #[thread_local] static mut COUNT: u32 = 0;
         #[inline(never)] fn count() -> u32 { unsafe { COUNT += 1; COUNT } }
         KERNEL kernel(out: *mut u32) { unsafe { *out = count() } }",
    );
    assert_says(
        krate.error(),
        &[
            "uses the thread-local `thread_local::COUNT`, in `thread_local::count`",
            "`shared_array!` with an element for each thread",
        ],
    );
}

/// LLVM ends the process where nobody stops it, and names neither function nor kernel.
#[test]
fn what_llvm_gives_up_on() {
    let krate = Krate::bare(
        "given_up_on",
        "#![feature(f128)]
         #[inline(never)] fn wide(x: f64) -> f64 { let x = x as f128; (x * x + x) as f64 }
         pub mod one { KERNEL fine(out: *mut f64) { unsafe { *out = 1.0 } } }
         pub mod two { KERNEL bad(out: *mut f64) { unsafe { *out = super::wide(*out) } } }",
    );
    for _ in 0..2 {
        assert_says(
            krate.error(),
            &[
                "LLVM can't write PTX for `given_up_on::wide` (of the kernel `given_up_on::two::bad`): unsupported library call operation",
                "mark it `#[cfg(not(cuda_device))]`",
            ],
        );
    }
    let krate = Krate::bare(
        "circular",
        "pub struct Node(&'static Node);
         static ONE: Node = Node(&TWO);
         static TWO: Node = Node(&ONE);
         KERNEL fine(out: *mut u32) { unsafe { *out = 1 } }
         KERNEL kernel(out: *mut *const Node) { unsafe { *out = &raw const *ONE.0 } }
         KERNEL two(out: *mut *const Node, n: *const Node) {
             unsafe { *out = if n == &raw const ONE { &raw const TWO } else { n } }
         }",
    );
    assert_says(krate.error(), &["PTX for the kernel `circular::two`", "Circular dependency found in global variable set"]);
    // LLVM is as good as before.
    build(bare("afterwards", "(out: *mut u32) { unsafe { *out = 1 } }").builder()).unwrap();
}

#[cfg(target_arch = "x86_64")]
#[test]
fn host_intrinsics() {
    let krate = bare(
        "host_intrinsic",
        "(out: *mut u64) { unsafe { *out = deep::clock() } }
         mod deep { #[inline(never)] pub fn clock() -> u64 { unsafe { core::arch::x86_64::_rdtsc() } } }",
    );
    assert_says(krate.error(), &["`llvm.x86.rdtsc`, which a GPU doesn't have", "`host_intrinsic::deep::clock`"]);
}

#[test]
fn functions_of_the_c_library() {
    let krate = bare(
        "library_intrinsic",
        "(out: *mut f32) { unsafe { *out = deep::cosine(*out) } }
         mod deep { #[inline(never)] pub fn cosine(x: f32) -> f32 { core::intrinsics::cosf32(x) } }",
    );
    assert_says(
        krate.error(),
        &["`llvm.cos.f32`, which a GPU doesn't have", "`library_intrinsic::deep::cosine`", "Use cuda_std::math"],
    );
}

#[test]
fn ir_files() {
    let manifest = "\n[package.metadata.cuda]\nir = [\"extra.ll\"]\n";
    let krate = bare("ir_files", "(out: *mut u32) {}");
    let whole = fs::read_to_string(krate.path.join("Cargo.toml")).unwrap();
    krate.write("Cargo.toml", &(whole.trim_end().to_owned() + manifest));
    let _ = fs::remove_file(krate.path.join("extra.ll"));
    assert_says(krate.error(), &["extra.ll: No such file"]);
    krate.write("extra.ll", "define void @broken( {");
    assert_says(krate.error(), &["LLVM could not read", "extra.ll", "expected type"]);
}

/// Functions of linked files: the error of one that is missing names it, and the file or caller that needs it.
#[test]
fn linked_files() {
    let krate = bare("linked_files", "(out: *mut u32) { unsafe extern \"C\" { fn other() -> u32; } unsafe { *out = other() } }");
    let ptx = |functions: &str| format!(".version 7.8\n.target sm_75\n.address_size 64\n{functions}");
    let other = ".visible .func (.param .b32 result) other() { st.param.b32 [result], 7; ret; }\n";
    krate.write("other.ptx", &ptx(other));
    krate.write("more.ptx", &ptx(".extern .func (.param .b32 result) further(.param .b32 x);\n.func inner() { ret; }\n"));
    krate.write("newer.ptx", &ptx(other).replace("sm_75", "sm_90"));
    krate.write("text.ptx", "nothing");
    krate.write("other.ll", "define i32 @other() { ret i32 7 }\ndefine i32 @unused() { ret i32 8 }\n");
    krate.write("object.o", "");
    let link = |files: &[&str]| build(files.iter().fold(krate.builder(), |builder, file| builder.link(krate.path.join(file))));
    let says = |files: &[&str], parts: &[&str]| assert_says(link(files).expect_err("this must fail"), parts);

    says(&[], &["needs `other`", "called by `linked_files::kernel`", "link a file that defines it (`CudaBuilder::link`)"]);
    says(&["gone.ptx"], &["gone.ptx: No such file"]);
    says(&["text.ptx"], &["text.ptx isn't PTX"]);
    says(&["object.o"], &["takes PTX (.ptx) and LLVM IR (.ll, .bc), not", "object.o"]);
    says(&["newer.ptx"], &["newer.ptx is PTX for sm_90", "built for sm_75"]);
    says(&["other.ptx", "more.ptx"], &["more.ptx needs the function `further`, which no linked file defines"]);
    says(&["other.ptx", "newer.ptx"], &["newer.ptx is PTX for sm_90"]);
    krate.write("again.ptx", &ptx(other));
    says(&["other.ptx", "again.ptx"], &["again.ptx defines `other`, which another linked file defines"]);

    let module = |output: BuildOutput| fs::read_to_string(output.module).unwrap();
    let text = module(link(&["other.ptx"]).unwrap());
    assert!(text.contains(".linked(&[(\"other.ptx\", include_str!(") && text.contains("other.ptx\"))])"), "{text}");
    let output = link(&["other.ll"]).unwrap();
    let ptx = fs::read_to_string(&output.images[0].path).unwrap();
    assert!(!ptx.contains("unused") && !ptx.contains(".func"), "{ptx}");
    assert!(!module(output).contains(".linked("));
}

/// rustc's messages alone don't help with items that a GPU lacks.
#[test]
fn hints() {
    let source = |body: &str| format!("#[kernel] pub unsafe fn kernel(out: *mut f64) {{ unsafe {{ *out = {body} }} }}");
    let method = Krate::new("no_method", &source("(*out).asinh()"));
    assert_says(method.error(), &["no method named `asinh`", "the methods of `cuda_std::GpuFloat`"]);
    let print = Krate::new("no_println", &source("{ println!(); 1.0 }"));
    assert_says(print.error(), &["cannot find macro `println`", "Device code has no `std`"]);
    let path = Krate::new("no_std_path", &source("std::f64::consts::PI"));
    assert_says(path.error(), &["`std`", "Device code has no `std`: use `core`"]);
    let alloc = Krate::new("no_allocator", &format!("extern crate alloc; {}", source("1.0")));
    assert_says(alloc.error(), &["no global memory allocator", "write `cuda_std::device_heap!();`"]);
    let method = Krate::new("in_impl", &format!("pub struct S; impl S {{ {} }}", source("1.0")));
    assert_says(method.error(), &["module is not supported in `trait`s or `impl`s", "A kernel is a function of a module."]);
    let inner = source("1.0").replace("fn kernel", "fn twice");
    let twice = Krate::new("twice", &format!("pub mod twice {{ use super::*; {inner} }} pub use twice::twice;"));
    assert_says(twice.error(), &["defined multiple times", "`#[kernel]` writes a module of the kernel's name beside it"]);
    assert!(!twice.error().to_string().contains('\x1b'), "{}", twice.error());
}

/// As on the host, where the macro's code needs it.
#[test]
fn lifetimes_are_written_out() {
    let source = |ty: &str| {
        format!(
            "#[derive(Clone, Copy, KernelParam)] pub struct Scene<'a> {{ pub x: &'a [f32] }}
             #[kernel] pub fn kernel(scene: {ty}, mut y: DisjointSlice<f32>) {{
                 let same: Scene = scene;
                 for (i, y) in y.grid_stride_mut() {{ *y = same.x[i] }}
             }}"
        )
    };
    assert_says(Krate::new("elided", &source("Scene")).error(), &["hidden lifetime parameters", "Scene<'_>"]);
    build(Krate::new("elided", &source("Scene<'_>")).builder()).unwrap();
}

#[test]
fn a_dependency_with_std() {
    let dependency = Krate::with_manifest("with_std", "", "pub fn one() -> f64 { std::hint::black_box(1.0) }");
    let manifest = fs::read_to_string(dependency.path.join("Cargo.toml")).unwrap();
    dependency.write("Cargo.toml", &manifest.replace("\n[workspace]\nresolver = \"3\"\n", ""));
    let krate = Krate::new("uses_std", "#[kernel] pub unsafe fn kernel(out: *mut f64) { unsafe { *out = with_std::one() } }");
    let manifest = fs::read_to_string(krate.path.join("Cargo.toml")).unwrap();
    if !manifest.contains("with_std") {
        krate.write("Cargo.toml", &format!("{manifest}with_std = {{ path = {:?} }}\n", dependency.path));
    }
    assert_says(krate.error(), &["which `with_std` depends on", "uses `std`, which a GPU doesn't have"]);
}

#[test]
fn names_that_ptx_cant_have() {
    let krate = Krate::new("umlaut", "#[kernel] pub fn größe(mut y: DisjointSlice<u32>) {}");
    assert_says(krate.error(), &["`umlaut::größe` can't be named so in PTX", "rename it"]);
}

/// ptxas says so too, but names no source, and not before the program runs.
#[test]
fn too_much_shared_memory() {
    let source = |len: usize| {
        format!(
            "#[inline(never)] fn first(at: usize) -> *mut f32 {{ unsafe {{ shared_array![f32; {len}].as_mut_ptr().add(at) }} }}
             #[kernel] pub unsafe fn kernel(out: *mut f32, at: usize) {{
                 let second = shared_array![f32; 4096];
                 unsafe {{ second.write(at, *out); *first(at) = 1.0; thread::sync_threads(); *out = second.read(at + 1) + *first(at + 1); }}
             }}
             #[kernel] pub unsafe fn small(out: *mut f32) {{ unsafe {{ *out = 1.0 }} }}"
        )
    };
    build(Krate::new("shared_memory", &source(8192)).builder()).unwrap();
    let krate = Krate::new("shared_memory", &source(8193));
    assert_says(krate.error(), &["`shared_memory::kernel` has 491", "of which a GPU takes 49152", "`dynamic_shared`"]);
}

/// A build script returns the error from `main`, which prints its Debug form.
#[test]
fn errors_print_as_sentences() {
    let error = CudaBuilder::new("nowhere").out_dir(out_dir()).build().unwrap_err();
    assert_eq!(format!("{error:?}"), error.to_string());
}

#[test]
fn dependencies_say_where_they_are() {
    let error = CudaBuilder::dependency("my-kernels").unwrap_err();
    assert_says(error, &["links = \"my-kernels\"", "[dependencies]", "`cargo::metadata=root=`"]);
}
