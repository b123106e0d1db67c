//! Products by warpgroups: each thread reads what its elements are made of.

use crate::half::{bf16, f16};
use crate::tensor::Swizzle;
use core::ptr;
use simt::current::{exchange, fault, linear_thread};

/// The elements along the sum.
const DEPTH: usize = 64;

/// # Safety
/// There are as many rows of halves as the product takes at both addresses, and nobody writes them meanwhile.
#[track_caller]
unsafe fn multiply<H: Copy>(d: &mut [f32], tiles: [*const u8; 2], value: impl Fn(H) -> f32) {
    const OP: &str = "multiply_add of a warpgroup";
    if let Some(tile) = tiles.into_iter().find(|tile| !tile.addr().is_multiple_of(1024)) {
        fault(format!("a tile of a product is at {tile:p} in shared memory, which isn't a multiple of 1024"));
    }
    exchange(u32::MAX, OP, 0);
    // A row of a tile, eight elements at a time.
    let line = |tile: *const u8, row: usize| {
        let mut line = [0.0; DEPTH];
        for (chunk, values) in line.chunks_exact_mut(8).enumerate() {
            let place = Swizzle::Bytes128.place(tile.addr() + 128 * row + 16 * chunk);
            // SAFETY: the caller has promised the tile's rows.
            let halves = unsafe { ptr::with_exposed_provenance::<[H; 8]>(place).read() };
            values.iter_mut().zip(halves).for_each(|(to, half)| *to = f64::from(value(half)));
        }
        line
    };
    let t = linear_thread() as usize % 128;
    let rows = [0, 8].map(|half| line(tiles[0], 16 * (t / 32) + t % 32 / 4 + half));
    for (block, d) in d.chunks_exact_mut(4).enumerate() {
        for side in 0..2 {
            let column = line(tiles[1], 8 * block + 2 * (t % 4) + side);
            for (half, row) in rows.iter().enumerate() {
                let d = &mut d[2 * half + side];
                *d = row.iter().zip(&column).fold(f64::from(*d), |sum, (a, b)| sum + a * b) as f32;
            }
        }
    }
    // Nobody goes on, and perhaps writes there, before the warp has read.
    exchange(u32::MAX, OP, 0);
}

macro_rules! multiply {
    ($($name:ident $count:literal $t:ty;)*) => {$(
        #[track_caller]
        pub unsafe fn $name(d: &mut [f32; $count], a: *const u8, b: *const u8) {
            // SAFETY: the caller has promised the tiles.
            unsafe { multiply::<$t>(d, [a, b].map(|tile| tile.with_addr(tile.expose_provenance())), <$t>::to_f32) }
        }
    )*};
}
multiply! {
    n64_f16 32 f16;
    n64_bf16 32 bf16;
    n128_f16 64 f16;
    n128_bf16 64 bf16;
    n256_f16 128 f16;
    n256_bf16 128 bf16;
}
