//! Builds the kernels to PTX.

use cuda_builder::CudaBuilder;

fn main() {
    // A GPU's driver compiles what a program launches, and no other kernels.
    let built = CudaBuilder::dependency("@NAME@-kernels").and_then(|builder| builder.image_per_kernel(true).build());
    if let Err(error) = built {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}
