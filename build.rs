//! Builds gpu-kernels to PTX for the host library to embed, for GPUs since Turing and since Ampere: an image for each
//! kernel, which a driver compiles when that is first launched. (For Hopper, LLVM writes the same text as for Ampere.)

use std::{env, error::Error, fmt::Write as _, fs, path::Path};

use cuda_builder::{CudaBuilder, NvptxArch};

/// Kernels that are embedded with a feature alone, by the beginnings of their names.
const FEATURES: &[(&str, &str)] = &[
    ("collectives_probe_", "PROBES"),
    ("concurrency_", "CONCURRENCY"),
    ("floors_", "PROBES"),
    ("halo_", "RULES"),
    ("list_rank_", "LIST_RANK"),
    ("overlap_", "OVERLAP"),
    ("pcf_", "PCF"),
    ("samples_", "PROBES"),
    ("spmv_", "SPMV"),
];

fn main() {
    if let Err(error) = build() {
        // The whole sentence, as a line that cargo shows, instead of a Debug dump.
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

fn build() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let output = CudaBuilder::new("gpu-kernels")
        .arch(NvptxArch::Compute75)
        .arch(NvptxArch::Compute80)
        .image_per_kernel(true)
        .panic_messages(env::var("PROFILE").is_ok_and(|profile| profile == "debug"))
        .build()?;

    let is_left_out = |kernel: &str| {
        let feature = FEATURES.iter().find(|(module, _)| kernel.starts_with(module));
        feature.is_some_and(|(_, feature)| env::var_os(format!("CARGO_FEATURE_{feature}")).is_none())
    };
    let mut images =
        String::from("/// The PTX of gpu-kernels, by the names of the kernels.\npub static PTX_IMAGES: &[PtxImage] = &[\n");
    for images_of_kernel in output.images.chunk_by(|a, b| a.kernels == b.kernels) {
        let kernel = &images_of_kernel[0].kernels[0];
        if is_left_out(kernel) {
            continue;
        }
        writeln!(images, "    PtxImage {{ kernel: {kernel:?}, ptx: &[")?;
        for image in images_of_kernel {
            writeln!(images, "        ({}, include_str!({:?})),", image.arch.number(), image.path)?;
        }
        images.push_str("    ] },\n");
    }
    images.push_str("];\n");
    let out_dir = env::var("OUT_DIR")?;
    let list = Path::new(&out_dir).join("ptx_images.rs");
    // Untouched where nothing changed, so that the library isn't compiled again.
    if fs::read_to_string(&list).ok().as_deref() != Some(&*images) {
        fs::write(list, images)?;
    }
    Ok(())
}
