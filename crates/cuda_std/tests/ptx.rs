//! Builds kernels that use every item to PTX, and looks for the instructions that the items promise.

use cuda_builder::{BuildOutput, CudaBuilder, NvptxArch};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    thread,
};

#[path = "../../../tests/common/skip.rs"]
mod skip;
use skip::skip;

/// The text of each kernel, by architecture and name.
type Kernels = BTreeMap<u32, BTreeMap<String, String>>;

/// A builder of the kernels into a folder. All of them share what cargo compiles.
fn builder(folder: &str) -> CudaBuilder {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    CudaBuilder::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all_items"))
        .out_dir(place.join(folder))
        .target_dir(place.join("all_items_device"))
        .rerun_if_changed(false)
}

fn images(builder: CudaBuilder) -> BuildOutput {
    builder.build().unwrap_or_else(|error| panic!("{error}"))
}

/// The kernels, their images, and one image with messages in its panics. The builds run at the same time.
fn all() -> &'static (Kernels, Vec<PathBuf>, PathBuf) {
    static BUILT: OnceLock<(Kernels, Vec<PathBuf>, PathBuf)> = OnceLock::new();
    BUILT.get_or_init(|| {
        let messages = thread::spawn(|| {
            let builder = builder("all_items_messages").arch(NvptxArch::Compute75).panic_messages(true);
            images(builder).images.swap_remove(0).path
        });
        let archs = [NvptxArch::Compute75, NvptxArch::Compute80, NvptxArch::Compute90];
        let output = images(archs.into_iter().fold(builder("all_items"), CudaBuilder::arch).fma_contraction(false));
        let mut kernels = Kernels::new();
        for image in &output.images {
            let text = fs::read_to_string(&image.path).unwrap();
            let bodies = output.kernels.iter().map(|name| (name.clone(), body(&text, name).to_owned()));
            kernels.insert(image.arch.number(), bodies.collect());
        }
        (kernels, output.images.into_iter().map(|image| image.path).collect(), messages.join().unwrap())
    })
}

fn build() -> (&'static Kernels, &'static [PathBuf]) {
    let (kernels, images, _) = all();
    (kernels, images)
}

fn build_with_messages() -> &'static Path {
    &all().2
}

/// From a kernel's name to the end of its body.
fn body<'a>(ptx: &'a str, kernel: &str) -> &'a str {
    let start = ptx.find(&format!(".entry {kernel}(")).unwrap_or_else(|| panic!("no kernel {kernel}"));
    let end = ptx[start..].find("\n}").unwrap_or_else(|| panic!("{kernel} has no end"));
    &ptx[start..start + end]
}

/// Returns true if `text` holds `instruction` up to the end of a word.
fn holds(text: &str, instruction: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start();
        // A predicate may stand before it.
        let line = line
            .strip_prefix('@')
            .and_then(|rest| rest.split_once(char::is_whitespace))
            .map_or(line, |(_, rest)| rest.trim_start());
        line.split([' ', '\t', ';']).next() == Some(instruction)
    }) || (instruction.starts_with('%') && text.contains(instruction))
}

#[track_caller]
fn expect(archs: &[u32], kernel: &str, instructions: &[&str]) {
    for arch in archs {
        let text = &build().0[arch][kernel];
        for instruction in instructions {
            assert!(holds(text, instruction), "sm_{arch}: {kernel} has no {instruction}:\n{text}");
        }
    }
}

#[track_caller]
fn expect_none(archs: &[u32], kernel: &str, parts: &[&str]) {
    for arch in archs {
        let text = &build().0[arch][kernel];
        for part in parts {
            assert!(!text.contains(part), "sm_{arch}: {kernel} has {part}:\n{text}");
        }
    }
}

const ALL: &[u32] = &[75, 80, 90];

#[test]
fn every_kernel_of_the_cpu_is_in_the_ptx() {
    for (name, _) in all_items::kernels() {
        assert!(ALL.iter().all(|arch| build().0[arch].contains_key(name)), "{name}");
    }
}

#[test]
fn nothing_is_called_and_nothing_lies_on_a_stack() {
    for (arch, kernels) in build().0 {
        for (name, text) in kernels {
            // libm's large-angle reduction keeps an array, and is too large to inline; so are the functions of
            // `compiler_builtins` that take the place of instructions.
            if name.starts_with("functions_")
                || name.starts_with("arithmetic_")
                || name == "inline_text"
                || name.starts_with("heap_")
            {
                continue;
            }
            // An operation that an architecture lacks is a panic, after the code before it.
            if *arch < 90 && name.starts_with("products_") {
                continue;
            }
            // Panics are functions of `core`.
            let calls: Vec<&str> = text.lines().filter(|line| line.contains("call.uni") && !line.contains("4core")).collect();
            assert!(calls.is_empty(), "sm_{arch}: {name} has {calls:?}");
            assert!(!text.contains(".local"), "sm_{arch}: {name} uses local memory:\n{text}");
        }
    }
}

/// Instructions and registers of kernels, separated by blanks.
const HELD: &[(&[u32], &str, &str)] = &[
    (
        ALL,
        "threads_indices",
        "%tid.x %tid.y %tid.z %ctaid.x %ctaid.y %ctaid.z %ntid.x %ntid.y %ntid.z %nctaid.x %nctaid.y %nctaid.z",
    ),
    (ALL, "threads_barriers", "barrier.sync barrier.red.popc.u32 barrier.red.and.pred barrier.red.or.pred"),
    (ALL, "threads_barriers", "fence.sc.cta fence.sc.gpu fence.sc.sys nanosleep.u32"),
    (ALL, "threads_clocks", "%clock64 %globaltimer activemask.b32"),
    (ALL, "threads_named_barriers", "barrier.sync barrier.arrive"),
    (ALL, "warps_masks", "%lanemask_lt %lanemask_le %lanemask_eq %lanemask_ge %lanemask_gt %laneid bar.warp.sync"),
    (ALL, "warps_shuffles_32", SHUFFLES),
    (ALL, "warps_shuffles_64", SHUFFLES),
    (ALL, "warps_shuffles_small", SHUFFLES),
    (ALL, "warps_widths", SHUFFLES),
    (ALL, "warps_votes", "vote.sync.ballot.b32 vote.sync.all.pred vote.sync.any.pred"),
    (ALL, "warps_matches", "match.any.sync.b32 match.any.sync.b64 match.all.sync.b32 match.all.sync.b64"),
    (&[80, 90], "warps_reductions", REDUCTIONS),
    (&[80, 90], "warps_partial_reductions", REDUCTIONS),
    (&[75], "warps_reductions", "shfl.sync.bfly.b32"),
    (&[75], "warps_partial_reductions", "shfl.sync.idx.b32"),
    (
        &[80, 90],
        "loads_asynchronous",
        "cp.async.ca.shared.global cp.async.cg.shared.global cp.async.commit_group cp.async.wait_group",
    ),
    (ALL, "functions_f32s", "sqrt.rn.f32 abs.f32 fma.rn.f32 min.f32 max.f32"),
    (ALL, "functions_f32s", "cvt.rmi.f32.f32 cvt.rpi.f32.f32 cvt.rzi.f32.f32 cvt.rni.f32.f32"),
    (ALL, "functions_f64s", "sqrt.rn.f64 abs.f64 fma.rn.f64 min.f64 max.f64"),
    (ALL, "functions_f64s", "cvt.rmi.f64.f64 cvt.rpi.f64.f64 cvt.rzi.f64.f64 cvt.rni.f64.f64"),
    (ALL, "functions_approximations", "sin.approx.ftz.f32 cos.approx.ftz.f32 ex2.approx.ftz.f32 lg2.approx.ftz.f32"),
    (ALL, "functions_approximations", "rcp.approx.ftz.f32 rsqrt.approx.ftz.f32 sqrt.approx.ftz.f32 div.approx.ftz.f32"),
    (ALL, "functions_approximations", "tanh.approx.f32"),
    (ALL, "functions_unfused", "mul.rn.f32 add.rn.f32 mul.rn.f64 add.rn.f64"),
    (ALL, "inline_registers", "add.s16 mad24.lo.s32 not.b64 fma.rn.f32 mul.f64"),
    (ALL, "inline_effects", "st.global.u64 add.cc.u32 addc.u32"),
    (ALL, "inline_halves", "cvt.f32.f16 cvt.rn.f16.f32 add.rn.f16x2 mul.rn.f16x2 fma.rn.f16x2"),
    (&[80, 90], "inline_halves", "fma.rn.bf16x2 cvt.rn.bf16.f32"),
    (ALL, "inline_bytes", "dp4a.s32.s32 dp4a.u32.u32 dp2a.lo.s32.s32 dp2a.hi.u32.u32"),
    (ALL, "inline_together", "atom.acq_rel.gpu.add.u32 ld.acquire.gpu.b32"),
    (&[80, 90], "products_halves", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
    (&[80, 90], "products_halves", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
    (&[80, 90], "products_reals", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 cvt.rna.tf32.f32"),
    (&[80, 90], "products_bytes", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"),
    (&[80, 90], "products_bytes", "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32"),
    (&[80, 90], "products_doubles", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"),
    (ALL, "products_loads", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16"),
    (ALL, "products_loads", "ldmatrix.sync.aligned.m8n8.x2.shared.b16 ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16"),
    (ALL, "products_loads", "ldmatrix.sync.aligned.m8n8.x4.shared.b16 ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"),
];
const SHUFFLES: &str = "shfl.sync.idx.b32 shfl.sync.up.b32 shfl.sync.down.b32 shfl.sync.bfly.b32";
const REDUCTIONS: &str = "redux.sync.add.s32 redux.sync.min.u32 redux.sync.max.u32 redux.sync.min.s32 redux.sync.max.s32 \
    redux.sync.and.b32 redux.sync.or.b32 redux.sync.xor.b32";

/// Parts of instructions that kernels lack.
const LACKED: &[(&[u32], &str, &str)] = &[
    (&[75, 80], "warps_widths", "elect.sync"),
    (&[75], "warps_reductions", "redux"),
    (&[75], "warps_partial_reductions", "redux"),
    (&[80, 90], "warps_reductions", "shfl"),
    (&[80, 90], "warps_partial_reductions", "shfl"),
    (&[75], "loads_asynchronous", "cp.async"),
    (ALL, "functions_f32s", ".approx"),
    (ALL, "functions_singles", ".f64"),
    (ALL, "functions_singles", ".local"),
    (ALL, "functions_singles", "call.uni"),
    (ALL, "functions_f64s", ".approx"),
    (&[75], "products_halves", "mma.sync"),
    (&[75], "products_reals", "mma.sync"),
    (&[75], "products_bytes", "mma.sync"),
    (&[75], "products_doubles", "mma.sync"),
];

#[test]
fn items_are_their_instructions() {
    for (archs, kernel, instructions) in HELD {
        expect(archs, kernel, &instructions.split(' ').collect::<Vec<_>>());
    }
    for (archs, kernel, part) in LACKED {
        expect_none(archs, kernel, &[part]);
    }
    assert!(build().0[&90]["warps_widths"].contains("elect.sync"));
    let text = &build().0[&75]["inline_registers"];
    assert!(text.lines().any(|line| line.contains("mad24.lo.s32") && line.ends_with(", 17;")), "{text}");
    for arch in ALL {
        let text = &build().0[arch]["threads_barriers"];
        for operation in ["sync", "red.popc.u32", "red.and.pred", "red.or.pred"] {
            let names = ["barrier", "bar"].map(|name| format!("{name}.{operation}"));
            assert!(names.iter().any(|name| holds(text, name)), "{operation} in\n{text}");
        }
    }
    for pending in 0..8 {
        let wait = format!("cp.async.wait_group{pending};");
        for arch in [80, 90] {
            let text = build().0[&arch]["loads_asynchronous"].replace([' ', '\t'], "");
            assert!(text.contains(&wait), "{wait} in\n{text}");
        }
    }
}

/// Contraction leaves the functions of `f32` alone: without `.rn`, `ptxas` might fuse them.
#[test]
fn functions_are_not_contracted() {
    let text = fs::read_to_string(build_with_messages()).unwrap();
    assert!(holds(body(&text, "functions_unfused"), "fma.rn.f32"));
    let functions = body(&text, "functions_singles");
    for instruction in ["add.f32", "sub.f32", "mul.f32"] {
        assert!(!holds(functions, instruction), "{instruction} in\n{functions}");
    }
}

#[test]
fn architectures_are_constants() {
    for arch in ALL {
        let text = &build().0[arch]["threads_clocks"];
        assert!(text.contains(&format!(", {}0;", arch)), "sm_{arch}:\n{text}");
    }
}

#[test]
fn atomics() {
    for (scope, ptx) in [("block", "cta"), ("device", "gpu"), ("system", "sys")] {
        let values = format!("atomics_{scope}_values");
        let relaxed = |operation: &str| match scope {
            "system" => format!("atom.relaxed.sys.{operation}"),
            _ => format!("atom.global.{operation}"),
        };
        for operation in [
            "add.u32", "add.u64", "add.f32", "add.f64", "exch.b32", "exch.b64", "min.u32", "min.u64", "min.s32", "min.s64",
            "max.u32", "max.u64", "max.s32", "max.s64",
        ] {
            expect(ALL, &values, &[&relaxed(operation)]);
        }
        for operation in ["add.u32", "add.u64", "add.f32", "add.f64", "exch.b32", "exch.b64"] {
            expect(ALL, &values, &[&format!("atom.acq_rel.{ptx}.{operation}")]);
        }
        for width in ["b32", "b64"] {
            let forms = [
                format!("atom.relaxed.{ptx}.global.cas.{width}"),
                format!("atom.acq_rel.{ptx}.global.cas.{width}"),
                format!("ld.relaxed.{ptx}.global.{width}"),
                format!("ld.acquire.{ptx}.global.{width}"),
                format!("st.relaxed.{ptx}.global.{width}"),
            ];
            expect(ALL, &values, &forms.each_ref().map(String::as_str));
            let integers = format!("atomics_{scope}_integers");
            expect(
                ALL,
                &integers,
                &[&relaxed(&format!("and.{width}")), &relaxed(&format!("or.{width}")), &relaxed(&format!("xor.{width}"))],
            );
            expect(ALL, &integers, &[&format!("st.release.{ptx}.global.{width}"), &format!("fence.acq_rel.{ptx}")]);
        }
    }
    for scope in ["block", "device"] {
        expect(ALL, &format!("atomics_{scope}_sums"), &["atom.shared.add.u32", "atom.shared.max.u32", "atom.shared.add.f64"]);
    }
}

#[test]
fn loads_and_stores() {
    for (word, shape) in [
        ("u32", "b32"),
        ("i32", "b32"),
        ("f32", "b32"),
        ("u64", "b64"),
        ("i64", "b64"),
        ("f64", "b64"),
        ("u32x2", "v2.b32"),
        ("i32x2", "v2.b32"),
        ("f32x2", "v2.b32"),
        ("u32x4", "v4.b32"),
        ("i32x4", "v4.b32"),
        ("f32x4", "v4.b32"),
        ("u64x2", "v2.b64"),
        ("f64x2", "v2.b64"),
    ] {
        let kernel = format!("loads_word_{word}");
        // LLVM's own loads and stores come in the words that their values are used in.
        let wide = match shape {
            "v2.b32" => "b64",
            "v4.b32" => "v2.b64",
            _ => shape,
        };
        for access in ["ld.global.nc", "ld.volatile.global", "st.volatile.global"] {
            for arch in ALL {
                let text = &build().0[arch][&kernel];
                assert!(
                    [shape, wide].iter().any(|shape| holds(text, &format!("{access}.{shape}"))),
                    "sm_{arch}: no {access} in\n{text}"
                );
            }
        }
        for load in ["ld.global.nc.L1::no_allocate", "ld.global.cs", "ld.global.cg", "ld.global.lu", "ld.global"] {
            expect(ALL, &kernel, &[&format!("{load}.{shape}")]);
        }
        for store in ["st.global.cs", "st.global.cg", "st.global.wt", "st.relaxed.cta.global"] {
            expect(ALL, &kernel, &[&format!("{store}.{shape}")]);
        }
        expect(ALL, &kernel, &["prefetch.global.L2"]);
    }
}

#[test]
fn memory_spaces() {
    expect(ALL, "memory_shared", &["st.shared.b64", "ld.shared.b64", "ld.volatile.shared.b64"]);
    expect(ALL, "memory_dynamic", &["ld.shared.v2.b64", "%dynamic_smem_size"]);
    for arch in ALL {
        let text = &build().0[arch]["memory_constants"];
        assert!(text.contains("ld.const") && !text.contains("ld.global"), "{text}");
    }
    for path in build().1 {
        let text = fs::read_to_string(path).unwrap();
        for declaration in [".b8 ALL_ITEMS_TABLE[64]", ".b8 ALL_ITEMS_PAIRS[32]", ".extern .shared .align 16 .b8 "] {
            assert!(text.contains(declaration), "no {declaration} in {}", path.display());
        }
    }
}

#[test]
fn output_slices_are_pointer_and_length() {
    expect(ALL, "memory_disjoint_set", &["st.global.b64", "ld.global.nc.b64"]);
    expect(ALL, "memory_disjoint_stride", &["st.global.b64", "ld.global.nc.b64"]);
    for arch in ALL {
        assert_eq!(build().0[arch]["memory_disjoint_set"].matches(".param .u64").count(), 4);
        assert_eq!(build().0[arch]["memory_tiles"].matches(".param .u64").count(), 5);
    }
}

/// The instructions of a kernel, sorted: their order may differ.
fn instructions(text: &str) -> Vec<&str> {
    let lines = text.lines().map(str::trim).filter(|line| line.ends_with(';') && !line.starts_with('.'));
    let mut words: Vec<_> = lines.filter_map(|line| line.split_whitespace().find(|word| !word.starts_with('@'))).collect();
    words.sort_unstable();
    words
}

#[test]
fn structures_are_their_fields() {
    for arch in ALL {
        let (structures, one_by_one) = (&build().0[arch]["params_line_f32"], &build().0[arch]["params_one_by_one"]);
        for text in [structures, one_by_one] {
            assert_eq!(text.matches(".param .").count(), 8, "{text}");
            assert!(
                holds(text, "ld.global.nc.b32") && text.contains(".maxntid 64") && text.contains(".minnctapersm 2"),
                "{text}"
            );
        }
        assert_eq!(instructions(structures), instructions(one_by_one));
    }
    expect(ALL, "params_line_f64", &["ld.global.nc.b64", "st.global.b64"]);
    let nested = build().0[&75]["params_nested"].matches(".param .").count();
    // Four floats, a vector of four, six numbers, u128; four slices; three bytes; i128.
    assert_eq!(nested, (4 + 4 + 6 + 2) + 4 * 2 + 3 + 2);
    assert!(build().0[&75]["params_line_f64"].contains(".maxntid 128"));
}

#[test]
fn shared_arrays_are_as_large_as_their_type() {
    for (kernel, instruction, size) in
        [("params_reverse_f32", "st.shared.b32", 256), ("params_reverse_f64", "st.shared.b64", 512)]
    {
        expect(ALL, kernel, &[instruction]);
        for path in build().1 {
            let text = fs::read_to_string(path).unwrap();
            assert!(text.lines().any(|line| line.contains(".shared .align 16") && line.contains(&format!("[{size}]"))), "{size}");
        }
    }
}

#[test]
fn parameters_by_value() {
    for arch in ALL {
        let text = &build().0[arch]["inline_by_value"];
        for part in
            [".param .u16", ".reqntid 32, 2, 1", ".minnctapersm 2", "mul.rn.f16x2", "ld.global.nc.b32", "st.global.cg.b32"]
        {
            assert!(text.contains(part), "sm_{arch}: no {part} in\n{text}");
        }
    }
}

#[test]
fn barriers_in_shared_memory() {
    let instructions = [
        "mbarrier.init.shared.b64",
        "mbarrier.arrive.shared.b64",
        "mbarrier.arrive.expect_tx.shared.b64",
        "mbarrier.try_wait.parity.shared.b64",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
        "cp.async.bulk.global.shared::cta.bulk_group",
        "cp.async.bulk.commit_group",
        "cp.async.bulk.wait_group",
        "fence.proxy.async",
    ];
    let text = &build().0[&90]["products_bulk"];
    for instruction in instructions {
        assert!(text.contains(instruction), "no {instruction} in\n{text}");
    }
    expect_none(&[75], "products_bulk", &["mbarrier"]);
    expect_none(&[80], "products_bulk", &["bulk_group"]);
}

#[test]
fn clusters() {
    let instructions = ["barrier.cluster.arrive.release", "barrier.cluster.wait.acquire", "mapa.u64"];
    expect(&[90], "clusters_around", &instructions);
    expect(&[90], "clusters_around", &["%cluster_ctarank", "%cluster_nctarank", "%cluster_nctaid.z"]);
    let text = &build().0[&90]["clusters_around"];
    assert!(text.contains(".reqnctapercluster 2, 2, 1") && text.contains(".reqntid 32"), "{text}");
    // Elsewhere a panic is all that is left.
    expect_none(&[75, 80], "clusters_around", &["cluster.", "mapa", "percluster", "st.global"]);
    for arch in ALL {
        assert!(build().0[arch]["clusters_lean"].contains(".maxnreg 40"), "sm_{arch}");
    }
}

/// The driver's functions are all that is left undefined of the crate `alloc`.
#[test]
fn a_heap() {
    let mut texts: Vec<String> = build().1.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    texts.push(fs::read_to_string(build_with_messages()).unwrap());
    for text in &texts {
        let undefined: Vec<&str> = text.lines().filter(|line| line.starts_with(".extern .func")).collect();
        assert!(undefined.iter().any(|line| line.ends_with(" malloc")) && undefined.iter().any(|line| line.ends_with(" free")));
        assert!(
            undefined.iter().all(|line| [" malloc", " free", " vprintf"].iter().any(|name| line.ends_with(name))),
            "{undefined:?}"
        );
    }
    // "the device's heap has no"
    let message: Vec<String> = b"the device's heap has no".iter().map(u8::to_string).collect();
    assert!(texts.pop().unwrap().contains(&message.join(", ")));
}

/// `core`'s formatting calls by address; kernels that print have it.
#[test]
fn text() {
    for arch in ALL {
        assert!(build().0[arch]["inline_text"].contains("print5print"));
    }
}

/// Operations without PTX instructions are defined in the image. (`cuda_builder`'s tests look at
/// the instructions.)
#[test]
fn operators_are_functions_where_they_have_to_be() {
    expect_none(ALL, "arithmetic_remainders", &["cvt.rzi.f"]);
    // Messages take none, unless they are asked for.
    expect_none(ALL, "inline_messages", &["call"]);
    for path in build().1 {
        let text = fs::read_to_string(path).unwrap();
        for function in ["fmod", "fmodf", "__fixunsdfti", "__fixsfti", "__floatuntisf", "__floattidf"] {
            let definition = format!(" {function}(\n");
            assert!(text.contains(&definition) && !text.contains(&format!(".extern .func {function}")), "{function}");
        }
    }
    // The word of a byte, and a device's or the whole system's scope.
    expect(
        ALL,
        "arithmetic_atomics",
        &["fence.sc.sys", "fence.acq_rel.sys", "atom.acq_rel.sys.add.u64", "atom.release.sys.and.b32"],
    );
}

/// NVIDIA's assembler accepts all of it. Only where there is a `ptxas`.
#[test]
fn ptxas_accepts_it() {
    let ptxas = std::env::var_os("PTXAS").map_or_else(|| PathBuf::from("ptxas"), PathBuf::from);
    if Command::new(&ptxas).arg("--version").output().is_err() {
        return skip("ptxas", "no ptxas");
    }
    let assemble = |path: &Path, arch: u32| {
        let object = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("all_items.sm_{arch}.cubin"));
        let output = Command::new(&ptxas).args(["-arch", &format!("sm_{arch}"), "-o"]).arg(&object).arg(path).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    thread::scope(|scope| {
        for (path, &arch) in build().1.iter().zip(ALL) {
            let assemble = &assemble;
            scope.spawn(move || assemble(path, arch));
        }
    });
}
