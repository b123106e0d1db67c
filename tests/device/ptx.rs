//! What the kernels must look like in PTX.

use warpsmith::device::{PtxImage, kernel_modules};

/// The library's images.
fn images() -> &'static [PtxImage] {
    kernel_modules().find(|module| module.crate_name() == "gpu_kernels").map_or(&[], |module| module.images())
}

/// The bodies of a kernel, with the architecture that each is for.
fn bodies(name: &str) -> impl Iterator<Item = (u32, &'static str)> {
    let image = images().iter().find(|image| image.kernels() == [name]).unwrap_or_else(|| panic!("no kernel {name}"));
    image.ptx().iter().map(move |&(arch, ptx)| {
        let (_, body) = ptx.split_once(&format!(".entry {name}(")).unwrap_or_else(|| panic!("no entry {name}"));
        (arch, &body[..body.find("\n}").unwrap()])
    })
}

/// The load/store separation that the strategy `split` is about: its successors come through the read-only cache, those
/// of `packed`, which are loaded from the array that is stored to, can't.
#[test]
fn split_loads_through_the_read_only_cache_and_packed_does_not() {
    // The walks also read `heads`, a slice, once. What tells them apart is the loads in the loop, all of which follow
    // that one.
    let loads = |body: &str| body.matches("ld.global.nc").count();
    let is_plain = |line: &&str| line.contains("ld.global.") && !line.contains(".nc") || line.contains("ld.relaxed.cta.global.");
    let plain = |body: &str| body.lines().filter(is_plain).count();
    for (arch, body) in bodies("list_rank_walk_split_i32") {
        assert!(loads(body) >= 2, "sm_{arch}");
        assert_eq!(plain(body), 0, "sm_{arch}");
    }
    for (arch, body) in bodies("list_rank_walk_packed") {
        assert_eq!(loads(body), 3, "sm_{arch}: `heads` alone");
        assert!(plain(body) >= 1, "sm_{arch}");
    }
}

/// One 8-byte store for sublist and offset, and for a chunk's words two of these; 16-byte ones for ranks.
#[test]
fn records_are_stored_whole() {
    for name in ["list_rank_walk_split_i32", "list_rank_walk_packed"] {
        for (arch, body) in bodies(name) {
            assert!(body.contains("st.relaxed.cta.global.v2.b32"), "{name}, sm_{arch}");
        }
    }
    for (arch, body) in bodies("list_rank_binned_walk_i32") {
        assert!(body.contains("st.relaxed.cta.global.v2.b32"), "sm_{arch}");
    }
    for (arch, body) in bodies("list_rank_binned_finish_i32") {
        assert!(body.contains("st.global.cs.v4"), "sm_{arch}");
    }
}

/// A tile's words come by one load, columns and values by loads that leave the caches to x, and x by the read-only
/// cache; a thread has four of each under way.
#[test]
fn tiles_load_as_they_should() {
    for (name, bits) in [("spmv_tiles_multiply_f32", 32), ("spmv_tiles_multiply_f64", 64)] {
        for (arch, body) in bodies(name) {
            let count = |what: &str| body.matches(what).count();
            assert_eq!(count("ld.global.nc.v4.b32"), 1, "{name}, sm_{arch}");
            let streamed = count("ld.global.cs.b32") + if bits == 64 { count("ld.global.cs.b64") } else { 0 };
            assert_eq!(streamed, 8, "{name}, sm_{arch}");
            assert!(count(&format!("ld.global.nc.b{bits}")) >= 4, "{name}, sm_{arch}");
            assert!(!body.contains("local"), "{name}, sm_{arch}: a stack frame");
        }
    }
}

/// Halves come past the registers into shared memory, and out of it by matrices; sums stay in registers.
#[test]
fn products_are_on_tensor_cores() {
    for (arch, body) in bodies("samples_matmul_matmul_f16").filter(|&(arch, _)| arch >= 80) {
        let count = |what: &str| body.matches(what).count();
        let (products, loads) = (count("mma.sync.aligned.m16n8k16"), count("ldmatrix.sync.aligned.m8n8.x4"));
        assert!(products >= 32 && products == 4 * loads, "sm_{arch}: {products}, {loads}");
        assert!(count("cp.async.cg.shared.global") > 0 && !body.contains("local"), "sm_{arch}");
        assert!(body.contains(".reqntid 128"), "sm_{arch}");
    }
}

/// Each image has its kernel alone. Nothing prevents optimisation, and profilers find source lines where these are asked for.
#[test]
fn images_have_lines_if_asked_for_and_are_not_debug_builds() {
    let lines = option_env!("WARPSMITH_LINES").is_some();
    assert!(images().len() > 100 && images().iter().any(|image| image.ptx().len() == 2));
    assert!(images().is_sorted_by_key(|image| image.kernels()));
    for image in images() {
        let [kernel] = image.kernels() else { panic!("{image:?}") };
        let archs: Vec<u32> = image.ptx().iter().map(|(arch, _)| *arch).collect();
        assert!(archs == [75] || archs == [75, 80], "{kernel}: {archs:?}");
        for (arch, ptx) in image.ptx() {
            assert!(ptx.contains(&format!(".target sm_{arch}\n")), "{kernel}, sm_{arch}");
            assert_eq!(ptx.matches(".entry ").count(), 1, "{kernel}, sm_{arch}");
            assert_eq!([ptx.contains("\t.loc\t"), ptx.contains(".rs\"")], [lines; 2], "{kernel}, sm_{arch}");
        }
    }
}
