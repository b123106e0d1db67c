//! Builds the kernels to PTX.

use cuda_builder::NvptxArch::{Compute75, Compute90, Compute90a};

fn main() -> Result<(), cuda_builder::BuilderError> {
    // The host's build doesn't have the feature.
    let builder = cuda_builder::CudaBuilder::new("kernels")
        .leave_out("left_out_")
        .link("linked.ptx")
        .link("linked.ll")
        .build_args(&["--features", "double"]);
    // Clusters and copies of boxes need the second, products by warpgroups the third.
    builder.arch(Compute75).arch(Compute90).arch(Compute90a).build().map(drop)
}
