//! Builds the kernels to PTX.

use cuda_builder::CudaBuilder;

fn main() {
    // A GPU's driver compiles what a program launches, and no other kernels.
    let kernels = CudaBuilder::dependency("@NAME@-kernels");
    if let Err(error) = kernels.and_then(|kernels| kernels.image_per_kernel(true).build()) {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}
