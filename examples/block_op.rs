//! Adds a function type to the engine of pairwise matrices: the L2 distance of functions that are linear between their
//! points, as a kernel and a [`BlockOp`]. `gpu-kernels/src/pcf` and `host/src/pcf/op.rs` are the full-size model.
//!
//! The kernel is part of this example, so it runs on the CPU. GPUs need PTX, which is made from crates:
//! docs/own-project.md.
//!
//! `cargo run --example block_op`

use std::ops::Range;

use cuda_std::F64x2;
use warpsmith::device::{Buffer, Device, Stream};
use warpsmith::engine::{Block, BlockOp, BlockScheduler, Coverage, EngineError, Target};
use warpsmith::engine::{Control, Engine, HostMatrix, Layout, Settings, condensed_len, zeroed_vec};
use warpsmith::launch;

/// The device code.
pub mod linear {
    use cuda_std::prelude::*;

    /// (∫|f - g|²)^½ from time 0 to 1, for each function f of a block's rows and g of its columns.
    ///
    /// Row i has the points (time, value) `points[rows[i]..rows[i + 1]]`, columns likewise. Its entry with column j is
    /// `out[i * row_stride + j * col_stride]`. With `triangle`, entries with i <= j are left alone.
    #[kernel]
    pub fn l2(
        points: &[F64x2],
        rows: &[u32],
        cols: &[u32],
        row_stride: usize,
        col_stride: usize,
        triangle: bool,
        mut out: DisjointSlice<f64>,
    ) {
        for (place, entry) in out.grid_stride_mut() {
            let (i, j) = (place / row_stride % (rows.len() - 1), place / col_stride % (cols.len() - 1));
            if triangle && i <= j {
                continue;
            }
            let f = &points[rows[i] as usize..rows[i + 1] as usize];
            let g = &points[cols[j] as usize..cols[j + 1] as usize];
            let (mut time, mut difference, mut sum) = (0.0, f[0].y - g[0].y, 0.0);
            // Indices of the points that end the pieces around `time`.
            let (mut k, mut l) = (1, 1);
            while k < f.len() && l < g.len() {
                let end = math::min(f[k].x, g[l].x);
                let next = at(f[k - 1], f[k], end) - at(g[l - 1], g[l], end);
                // The square of what is linear is integrated exactly.
                sum += (end - time) * (difference * difference + difference * next + next * next) / 3.0;
                (time, difference) = (end, next);
                k += usize::from(f[k].x == end);
                l += usize::from(g[l].x == end);
            }
            *entry = math::sqrt(sum);
        }
    }

    /// The value at `time` of the line from one point to another.
    fn at(from: F64x2, to: F64x2, time: f64) -> f64 {
        from.y + (time - from.x) / (to.x - from.x) * (to.y - from.y)
    }
}

/// Distances within a set of functions. Each has at least two points (time, value); the times ascend strictly from 0 to 1.
struct LinearOp {
    points: Vec<F64x2>,
    /// Start of each function's points, then the end of the last one's.
    offsets: Vec<u32>,
}

/// The functions on a device.
struct Functions {
    points: Buffer<F64x2>,
    offsets: Buffer<u32>,
}

impl BlockOp for LinearOp {
    type Value = f64;
    type Storage = Functions;

    /// The device holds all functions, whatever the block. If they don't fit, the engine reports that the budget is too
    /// small.
    fn data_bytes(&self, _: &Range<usize>, _: &Range<usize>) -> usize {
        size_of_val(&*self.points) + size_of_val(&*self.offsets)
    }

    fn storage(
        &self,
        device: &Device,
        _scheduler: &BlockScheduler,
        _budget: usize, // never less than `data_bytes`
        kept: Option<Functions>,
    ) -> Result<Functions, EngineError> {
        drop(kept); // frees its memory; `PcfOp` uses it again
        Ok(Functions { points: device.upload(&self.points)?, offsets: device.upload(&self.offsets)? })
    }

    /// `run` only reads the functions, so two blocks may be in flight.
    fn is_resident(&self, _: &Functions) -> bool {
        true
    }

    fn run(&self, functions: &mut Functions, stream: &Stream, block: &Block, target: Target<'_, f64>) -> Result<(), EngineError> {
        let rows = functions.offsets.view(block.rows.start..=block.rows.end)?;
        let cols = functions.offsets.view(block.cols.start..=block.cols.end)?;
        let (row_stride, col_stride) = target.strides(block);
        // Other blocks of a lower triangle lie wholly below the diagonal.
        let triangle = target.coverage == Coverage::LowerTriangle && block.is_diagonal();
        let (points, out) = (&functions.points, target.entries);
        let grid = block.entries().div_ceil(256) as u32;
        Ok(launch!(stream, linear::l2<<<grid, 256>>>(points, rows, cols, row_stride, col_stride, triangle, out))?)
    }
}

fn main() -> Result<(), EngineError> {
    // Ramps: from 0 to 1 until a time p, then 1. The distance of those for p < q is (q - p) / √(3q).
    let n = 10;
    let ends: Vec<f64> = (1..=n).map(|i| i as f64 / 11.0).collect();
    let points = ends.iter().flat_map(|&p| [(0.0, 0.0), (p, 1.0), (1.0, 1.0)]).map(|(t, v)| F64x2::new(t, v)).collect();
    let op = LinearOp { points, offsets: (0..=n as u32).map(|i| 3 * i).collect() };
    let check = |i: usize, j: usize, found: f64| {
        let (p, q) = (ends[i].min(ends[j]), ends[i].max(ends[j]));
        assert!((found - (q - p) / (3.0 * q).sqrt()).abs() < 1e-15, "({i}, {j}): {found}");
    };

    // Blocks of 4 x 4 at most, on two devices: a triangle of 6, then a square of 9.
    let engine =
        Engine::new([Device::cpu(), Device::cpu()])?.with_settings(Settings { block_side: Some(4), ..Settings::default() });
    let mut condensed = zeroed_vec(condensed_len(n)?)?;
    assert_eq!(
        engine.run(&op, &HostMatrix::symmetric(Layout::Condensed, n, false, &mut condensed)?, Control::default())?.blocks,
        6
    );
    let pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
    pairs.zip(condensed).for_each(|((i, j), found)| check(i, j, found));

    let mut dense = zeroed_vec(n * n)?;
    assert_eq!(engine.run(&op, &HostMatrix::full(n, n, &mut dense)?, Control::default())?.blocks, 9);
    dense.into_iter().enumerate().for_each(|(place, found)| check(place / n, place % n, found));
    println!("45 condensed and 100 dense distances: right");
    Ok(())
}
