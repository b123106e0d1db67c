//! The kernels that multiply.

use std::fmt;

/// Kernels that multiply a matrix. Their results differ by rounding only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SpmvKernel {
    /// One of the others, by the matrix and the device.
    #[default]
    Auto,
    /// 1, 2, 4, 8, 16 or 32 lanes of a warp share a row.
    Rows {
        /// Number of lanes per row.
        lanes: u32,
    },
    /// Blocks of 32, 64, 128 or 256 threads share so many rows that they have up to four nonzeros per thread; longer
    /// rows are divided.
    Tiles {
        /// Number of threads per block.
        threads: u32,
    },
}

impl fmt::Display for SpmvKernel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpmvKernel::Auto => formatter.pad("auto"),
            SpmvKernel::Rows { lanes } => formatter.pad(&format!("rows/{lanes}")),
            SpmvKernel::Tiles { threads } => formatter.pad(&format!("tiles/{threads}")),
        }
    }
}
