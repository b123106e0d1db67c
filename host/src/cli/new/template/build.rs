//! Builds the kernels to PTX.

use cuda_builder::CudaBuilder;

fn main() {
    if let Err(error) = CudaBuilder::new("kernels").build() {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}
