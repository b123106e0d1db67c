//! Builds the kernels to PTX.

fn main() -> Result<(), cuda_builder::BuilderError> {
    cuda_builder::CudaBuilder::new("kernels").build().map(drop)
}
