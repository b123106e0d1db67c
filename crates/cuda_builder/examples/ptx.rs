//! Builds the kernel crate in the folder given and prints its kernels and PTX files.
//!
//! `cargo run -p warpsmith-cuda-builder --example ptx -- gpu-kernels /tmp/out`

use cuda_builder::{CudaBuilder, NvptxArch};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(krate), Some(out)) = (arguments.next(), arguments.next()) else {
        return Err("usage: ptx KERNEL_CRATE OUT_DIR".into());
    };
    let output = CudaBuilder::new(krate)
        .out_dir(out)
        .arch(NvptxArch::Compute75)
        .arch(NvptxArch::Compute80)
        .arch(NvptxArch::Compute90)
        .emit_llvm_ir(true)
        .rerun_if_changed(false)
        .build()?;
    for image in &output.images {
        println!("{}", image.path.display());
    }
    println!("kernels: {}", output.kernels.join(" "));
    Ok(())
}
