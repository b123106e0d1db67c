//! What is known of the memory that kernels access, for [checked runs](crate#checked-runs). Otherwise the functions do
//! nothing.

use std::ops::Range;

/// Memory that a launch may access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// From the address of its first byte to that behind its last.
    pub bytes: Range<usize>,
    /// Whether the kernel may write there. Where not, nobody does so during the launch.
    pub writes: bool,
}

/// Notes an allocation of which nothing has been written.
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

/// Notes that an allocation is freed, of which the first byte is at this address.
#[inline]
pub fn freed(address: usize) {
    #[cfg(simt_check)]
    crate::check::freed(address);
    #[cfg(not(simt_check))]
    let _ = address;
}
