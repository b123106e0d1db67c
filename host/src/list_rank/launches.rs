//! Block sizes and grids of the list kernels.

use crate::device::LaunchConfig;

/// Block size of kernels with one thread per element.
pub const BLOCK: u32 = 256;
/// Block size of the walks: small, so that a block ends soon after its longest sublist.
pub const WALK_BLOCK: u32 = 128;

/// Returns the number of blocks for one thread per element.
pub fn blocks(n: usize, block: u32) -> u32 {
    LaunchConfig::for_elements(n, block).grid.x
}
