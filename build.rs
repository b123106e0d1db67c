//! Builds gpu-kernels to PTX for the host library to embed, for GPUs since Turing and since Ampere: an image for each
//! kernel, which a driver compiles when that is first launched.

use std::env;

use cuda_builder::{BuilderError, CudaBuilder, DebugInfo, NvptxArch};

/// Kernels that are embedded with a feature alone, by the beginnings of their names.
const FEATURES: &[(&str, &str)] = &[
    ("collectives_probe_", "PROBES"),
    ("components_", "TREES"),
    ("concurrency_", "CONCURRENCY"),
    ("engine_", "ENGINE"),
    ("floors_", "PROBES"),
    ("graph_", "GRAPH"),
    ("halo_", "RULES"),
    ("homology_", "HOMOLOGY"),
    ("list_rank_", "LIST_RANK"),
    ("overlap_", "OVERLAP"),
    ("pcf_", "PCF"),
    ("samples_", "PROBES"),
    ("spanning_", "GRAPH"),
    ("spmv_", "SPMV"),
    ("trees_", "TREES"),
];

fn main() {
    if let Err(error) = build() {
        // The whole sentence, as a line that cargo shows, instead of a Debug dump.
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

fn build() -> Result<(), BuilderError> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=WARPSMITH_LINES");
    // For profilers. They take a quarter of the time that LLVM needs.
    let lines = if env::var_os("WARPSMITH_LINES").is_some() { DebugInfo::LineTables } else { DebugInfo::None };
    let mut builder = CudaBuilder::dependency("warpsmith-kernels")?
        .arch(NvptxArch::Compute75)
        .arch(NvptxArch::Compute80)
        .image_per_kernel(true)
        .debug(lines)
        .panic_messages(env::var("PROFILE").is_ok_and(|profile| profile == "debug"));
    for (kernels, feature) in FEATURES {
        if env::var_os(format!("CARGO_FEATURE_{feature}")).is_none() {
            builder = builder.leave_out(*kernels);
        }
    }
    builder.build()?;
    Ok(())
}
