//! Builds the kernels to PTX.

fn main() -> Result<(), cuda_builder::BuilderError> {
    cuda_builder::CudaBuilder::new("kernels").leave_out("left_out_").build().map(drop)
}
