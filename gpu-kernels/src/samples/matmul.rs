//! A product of matrices on tensor cores: halves in, single precision out.
//!
//! A block computes a square of C. It goes along A's rows and B's columns in steps, with a part of
//! both in shared memory for each step; copies for the next steps are under way meanwhile. Of the
//! square, each warp has a quarter, in fragments that stay in its registers.
//!
//! In shared memory, the words of 16 bytes in a row change places with each other, so that eight rows at one column,
//! which is what an instruction loads, lie in different banks.

use cuda_std::prelude::*;

/// The side of a block's square of C.
pub const TILE: usize = 128;
/// The columns of A, and rows of B, of a step.
pub const DEPTH: usize = 32;
/// The threads of a block: two by two warps.
pub const THREADS: u32 = 128;
/// Bytes of dynamic shared memory of a block.
pub const SHARED: usize = STAGES * 2 * STAGE * size_of::<Chunk>();

/// Number of steps whose parts have room.
const STAGES: usize = 4;
/// Halves that a thread copies at a time: 8.
type Chunk = U32x4;
const CHUNK: usize = 8;
/// Chunks of A, or of B, of a step.
const STAGE: usize = TILE * DEPTH / CHUNK;
/// The side of a warp's quarter, and how many fragments of C it has along A's rows and B's columns.
const QUARTER: usize = TILE / 2;
const ROWS: usize = QUARTER / 16;
const COLUMNS: usize = QUARTER / 8;
const _: () = assert!(ROWS == 4 && COLUMNS == 8, "the loops over fragments are written out");

/// Repeats a block for each number, which is a constant in it: an array that is indexed by constants alone stays in
/// registers.
macro_rules! unrolled {
    ($i:ident in [$($number:literal)*] $body:block) => {$({
        const $i: usize = $number;
        $body
    })*};
}

/// Returns the place of A's chunk at this row and place of the row.
#[inline(always)]
fn place_a(row: usize, chunk: usize) -> usize {
    row * (DEPTH / CHUNK) + (chunk ^ (row / 2 % 4))
}

/// Returns the place of B's chunk at this row and place of the row.
#[inline(always)]
fn place_b(row: usize, chunk: usize) -> usize {
    row * (TILE / CHUNK) + (chunk ^ (row % 8))
}

/// `c = a b`, all by rows: `a` of `m` x `k` elements, `b` of `k` x `n`, `c` of `m` x `n`.
///
/// # Safety
/// A grid of `n / 128` x `m / 128` blocks of [`THREADS`] threads with [`SHARED`] bytes of dynamic shared memory, where
/// these divisions have no rest and `k` is a multiple of 32; arrays of these sizes, aligned to 16 bytes. On a GPU,
/// `sm_80`.
#[kernel(block = 128, min_blocks = 2)]
pub unsafe fn matmul_f16(a: *const f16, b: *const f16, c: *mut f32, n: u32, k: u32) {
    let (n, k) = (n as usize, k as usize);
    let (first_row, first_column) = (thread::block_idx_y() as usize * TILE, thread::block_idx_x() as usize * TILE);
    let (me, lane, warp) = (thread::thread_idx_x() as usize, warp::lane_id() as usize, warp::warp_id() as usize);
    let (warp_row, warp_column) = (warp / 2 * QUARTER, warp % 2 * QUARTER);
    let staged = dynamic_shared::<Chunk>();
    let steps = k / DEPTH;

    // Starts the copies of a step.
    let copy = |step: usize| {
        if step < steps {
            let at = step % STAGES * 2 * STAGE;
            for i in 0..STAGE / THREADS as usize {
                let number = me + i * THREADS as usize;
                let (row_a, chunk_a) = (number / (DEPTH / CHUNK), number % (DEPTH / CHUNK));
                let (row_b, chunk_b) = (number / (TILE / CHUNK), number % (TILE / CHUNK));
                // SAFETY: the chunks are of the block's rows of A and columns of B, and of a stage that all threads
                // have read.
                unsafe {
                    let from_a = a.add((first_row + row_a) * k + step * DEPTH + chunk_a * CHUNK);
                    let from_b = b.add((step * DEPTH + row_b) * n + first_column + chunk_b * CHUNK);
                    mem::copy_async(staged.add(at + place_a(row_a, chunk_a)), from_a.cast());
                    mem::copy_async(staged.add(at + STAGE + place_b(row_b, chunk_b)), from_b.cast());
                }
            }
        }
        mem::copy_async_commit();
    };

    let mut sums = [[[0.0f32; 4]; COLUMNS]; ROWS];
    for step in 0..STAGES - 1 {
        copy(step);
    }
    // The row of a load that this lane gives: two of the four matrices are below each other, and two side by side.
    let (below, beside) = (lane / 8 % 2 * 8 + lane % 8, lane / 16);
    for step in 0..steps {
        mem::copy_async_wait::<{ STAGES as u32 - 2 }>();
        // This step's parts are there for all, and all have read those of the step before.
        thread::sync_threads();
        copy(step + STAGES - 1);
        let at = step % STAGES * 2 * STAGE;
        for depth in 0..DEPTH / 16 {
            let mut of_a = [[F16x2::default(); 4]; ROWS];
            unrolled!(I in [0 1 2 3] {
                let place = at + place_a(warp_row + 16 * I + below, 2 * depth + beside);
                // SAFETY: a row of the stage, which nobody writes before the next barrier.
                of_a[I] = unsafe { mma::load(staged.add(place).cast::<F16x2>()) };
            });
            unrolled!(J in [0 1 2 3] {
                let place = at + STAGE + place_b(16 * depth + below, warp_column / CHUNK + 2 * J + beside);
                // SAFETY: a row of the stage, which nobody writes before the next barrier.
                let [left_0, left_1, right_0, right_1] = unsafe { mma::load_transposed(staged.add(place).cast::<F16x2>()) };
                unrolled!(I in [0 1 2 3] {
                    sums[I][2 * J] = mma::m16n8k16(of_a[I], [left_0, left_1], sums[I][2 * J]);
                    sums[I][2 * J + 1] = mma::m16n8k16(of_a[I], [right_0, right_1], sums[I][2 * J + 1]);
                });
            });
        }
    }

    unrolled!(I in [0 1 2 3] {
        unrolled!(J in [0 1 2 3 4 5 6 7] {
            let [s0, s1, s2, s3] = sums[I][J];
            let row = first_row + warp_row + 16 * I + lane / 4;
            let column = first_column + warp_column + 8 * J + lane % 4 * 2;
            // SAFETY: two rows of the warp's quarter; the pairs are the lane's alone.
            unsafe {
                c.add(row * n + column).cast::<F32x2>().write(F32x2::new(s0, s1));
                c.add((row + 8) * n + column).cast::<F32x2>().write(F32x2::new(s2, s3));
            }
        });
    });
}
