//! Programs whose schedules can be explored.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytemuck::Pod;

pub mod halo;
pub mod spmv;

/// A lock on what several operations use. A panic elsewhere leaves nothing half done.
fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// Likewise, to write.
fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// A value whose bits are all set: NaN.
fn nan<T: Pod>() -> T {
    bytemuck::pod_read_unaligned(&[0xff; 16][..size_of::<T>()])
}
