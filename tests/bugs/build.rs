//! Builds the kernels to PTX.

fn main() -> Result<(), cuda_builder::BuilderError> {
    let builder = cuda_builder::CudaBuilder::new("kernels");
    // Clusters need the second.
    builder.arch(cuda_builder::NvptxArch::Compute75).arch(cuda_builder::NvptxArch::Compute90).build().map(drop)
}
