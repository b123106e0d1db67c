//! Products of matrices by warpgroups.

use cuda_std::{
    half::{bf16, f16},
    mbarrier::Barrier,
    prelude::*,
    tensor::Swizzle,
    wgmma,
};

macro_rules! tiles {
    ($($name:ident $columns:literal;)*) => {$(
        /// `d += a b` of one tile: `a` has 64 rows of 64 elements, `b` its columns likewise.
        ///
        /// # Safety
        /// A block of 128 threads, 1024 bytes of dynamic shared memory more than both tiles have, and arrays of these sizes.
        #[kernel(for H in [f16, bf16], block = 128)]
        pub unsafe fn $name<H: wgmma::Half + Copy>(a: *const H, b: *const H, d: *mut f32) {
            let staged = dynamic_shared::<u8>();
            let staged = staged.wrapping_add(staged.addr().wrapping_neg() % 1024);
            let (t, columns) = (thread::thread_idx_x() as usize, $columns);
            // SAFETY: there is room for both tiles; they are written before the barrier and read behind it. Threads have
            // elements of their own of `d`.
            unsafe {
                for i in (t..64 * (64 + columns)).step_by(128) {
                    let value = if i < 64 * 64 { *a.add(i) } else { *b.add(i - 64 * 64) };
                    let place = Swizzle::Bytes128.place(staged.addr() + 2 * i);
                    staged.with_addr(place).cast::<H>().write(value);
                }
                wgmma::fence_writes();
                thread::sync_threads();
                let mut own = wgmma::zeroes::<{ $columns / 2 }>();
                wgmma::multiply_add(&mut own, staged.cast::<H>().cast_const(), staged.cast::<H>().add(64 * 64).cast_const());
                wgmma::pairs(&own, t as u32, |row, column, pair| {
                    let place = d.add(row * columns + column).cast::<F32x2>();
                    place.write(F32x2::new((*place).x + pair.x, (*place).y + pair.y));
                });
            }
        }
    )*};
}
tiles! {
    product_64 64;
    product_128 128;
    product_256 256;
}

/// Rows of a tile of [`matmul_wgmma()`].
pub const ROWS: usize = 128;
/// Its columns.
pub const COLUMNS: usize = 256;
/// Elements along the sum that are multiplied at a time: rows of a box.
pub const DEPTH: usize = 64;
/// Threads of a block: two warpgroups that multiply, one that loads.
pub const THREADS: u32 = 384;
/// How many parts of A and B are under way.
const STAGES: usize = 4;
/// Bytes of a part of A, and of A and B.
const PART_A: usize = 2 * ROWS * DEPTH;
const PART: usize = PART_A + 2 * COLUMNS * DEPTH;
/// Bytes of dynamic shared memory.
pub const SHARED: usize = STAGES * PART + 1024;

/// `c = a b` in single precision, of halves. Block (x, y) computes the tile of [`ROWS`] rows from `y ROWS` on and
/// [`COLUMNS`] columns from `x COLUMNS` on. `a` is described as `k` x m elements with boxes of [`DEPTH`] x [`ROWS`], and the
/// transposed `b` as `k` x `n` with boxes of [`DEPTH`] x [`COLUMNS`], both swizzled over 128 bytes; `c` has rows of `n`.
///
/// One thread has boxes brought to shared memory, as many steps ahead as there is room for; two warpgroups multiply them.
///
/// # Safety
/// m, `n` and `k` are multiples of the tile's extents and of [`DEPTH`]; there is an element of `c` for each of the grid's,
/// which nobody else uses; [`SHARED`] bytes of dynamic shared memory.
#[kernel(block = 384, min_blocks = 1)]
pub unsafe fn matmul_wgmma(a: TensorMap<f16, 2>, b: TensorMap<f16, 2>, c: *mut f32, n: u32, k: u32) {
    let barriers = shared_array![u64; 2 * STAGES];
    let staged = dynamic_shared::<u8>();
    let staged = staged.wrapping_add(staged.addr().wrapping_neg() % 1024);
    let t = thread::thread_idx_x() as usize;
    let (row, column) = (ROWS as u32 * thread::block_idx_y(), COLUMNS as u32 * thread::block_idx_x());
    let (n, steps) = (n as usize, k as usize / DEPTH);
    // A part is there, or has been read by the eight warps that multiply.
    let barriers = barriers.as_mut_ptr();
    let [full, empty] = [0, STAGES].map(|first| move |stage: usize| Barrier::at(barriers.wrapping_add(first + stage)));
    // SAFETY: one thread makes the barriers before others come to them. Parts are written and read between barriers, and
    // each thread has elements of its own of `c`.
    unsafe {
        if t == 0 {
            for stage in 0..STAGES {
                full(stage).init(1);
                empty(stage).init(8);
            }
        }
        thread::sync_threads();
        if t >= 256 {
            if t == 256 {
                for step in 0..steps {
                    let (stage, round) = (step % STAGES, step / STAGES);
                    let (part, depth) = (staged.add(stage * PART), (step * DEPTH) as i32);
                    // The first time there is nothing to wait for: the phase before the first is complete.
                    empty(stage).wait((round as u32 % 2) ^ 1);
                    full(stage).arrive_and_expect(PART as u32);
                    a.load(full(stage), part.cast(), [depth, row as i32]);
                    b.load(full(stage), part.add(PART_A).cast(), [depth, column as i32]);
                }
            }
            return;
        }
        let mut sums = wgmma::zeroes::<{ COLUMNS / 2 }>();
        for step in 0..steps {
            let (stage, round) = (step % STAGES, step / STAGES);
            let part = staged.add(stage * PART);
            full(stage).wait(round as u32 % 2);
            let of_a = part.add(t / 128 * (PART_A / 2));
            wgmma::multiply_add(&mut sums, of_a.cast::<f16>().cast_const(), part.add(PART_A).cast());
            if t.is_multiple_of(32) {
                empty(stage).arrive();
            }
        }
        let first = c.add((row as usize + 64 * (t / 128)) * n + column as usize);
        wgmma::pairs(&sums, t as u32 % 128, |row, column, pair| first.add(row * n + column).cast::<F32x2>().write(pair));
    }
}
