//! Indices, barriers, fences and clocks.

use core::sync::atomic::{Ordering, fence};
use simt::{Scope, current};
use std::{sync::OnceLock, time::Instant};

macro_rules! dimensions {
    ($($source:ident: $x:ident $y:ident $z:ident;)*) => {$(
        #[inline(always)]
        #[track_caller]
        pub fn $x() -> u32 { current::$source().x }
        #[inline(always)]
        #[track_caller]
        pub fn $y() -> u32 { current::$source().y }
        #[inline(always)]
        #[track_caller]
        pub fn $z() -> u32 { current::$source().z }
    )*};
}
dimensions! {
    thread_idx: thread_idx_x thread_idx_y thread_idx_z;
    block_idx: block_idx_x block_idx_y block_idx_z;
    block_dim: block_dim_x block_dim_y block_dim_z;
    grid_dim: grid_dim_x grid_dim_y grid_dim_z;
}

pub use current::{sync_grid, sync_threads, sync_threads_and, sync_threads_count, sync_threads_or};

#[inline(always)]
pub fn block_fence() {
    let _under_way = current::atomic(Scope::Block);
    fence(Ordering::SeqCst);
}

#[inline(always)]
pub fn device_fence() {
    let _under_way = current::atomic(Scope::Device);
    fence(Ordering::SeqCst);
}

pub use self::device_fence as system_fence;

pub fn nanosleep(_ns: u32) {
    current::yield_now();
}

pub fn globaltimer_ns() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

pub use self::globaltimer_ns as clock64;

#[inline(always)]
pub fn arch() -> u32 {
    0
}

#[inline(always)]
pub fn dynamic_shared_size() -> usize {
    current::dynamic_shared_size()
}
