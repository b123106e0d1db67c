//! Builds the kernels to PTX.

use cuda_builder::CudaBuilder;

fn main() {
    if let Err(error) = CudaBuilder::dependency("@NAME@-kernels").and_then(CudaBuilder::build) {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}
