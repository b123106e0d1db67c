//! Registry of the memory that kernels access, for [checked runs](crate#checked-runs). In other
//! runs the functions do nothing.

use std::ops::Range;

/// Memory that a launch may access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// From the address of its first byte to that behind its last.
    pub bytes: Range<usize>,
    /// True if the kernel may write there. Otherwise nobody writes there during the launch.
    pub writes: bool,
}

/// Notes an allocation without written bytes.
#[inline]
pub fn allocated(bytes: Range<usize>) {
    #[cfg(simt_check)]
    crate::check::allocated(bytes);
    #[cfg(not(simt_check))]
    let _ = bytes;
}

/// Notes that these bytes have been written, by others than kernels.
#[inline]
pub fn written(bytes: Range<usize>) {
    #[cfg(simt_check)]
    crate::check::written(bytes);
    #[cfg(not(simt_check))]
    let _ = bytes;
}

/// Notes that the allocation at this address is freed.
#[inline]
pub fn freed(address: usize) {
    #[cfg(simt_check)]
    crate::check::freed(address);
    #[cfg(not(simt_check))]
    let _ = address;
}
