//! Chooses the kernel that multiplies a matrix, and divides matrices for `tiles`.

use gpu_kernels::spmv::tiles::{ITEMS, MAX_THREADS, Tile};

use super::{Csr, SpmvError, SpmvKernel, SpmvReal};
use crate::device::{Backend, DeviceInfo};

/// Rows that are longer than this on average are taken by whole warps, where none is much longer still: their loads lie
/// beside each other without tiles.
const LONG_MEAN: usize = 64;
/// The greatest length of such a row, relative to the mean.
const EVEN: usize = 16;
/// Tiles for each multiprocessor, below which they are made smaller.
const TILES_PER_MULTIPROCESSOR: usize = 4;

impl SpmvKernel {
    /// Returns the kernel for a matrix on a device: never [`Auto`](SpmvKernel::Auto).
    ///
    /// # Errors
    /// [`SpmvError::NoSuchKernel`] where lanes or threads are not as they must be.
    pub(super) fn resolve<T: SpmvReal>(self, matrix: &Csr<T>, device: &DeviceInfo) -> Result<Self, SpmvError> {
        match self {
            SpmvKernel::Rows { lanes } if !lanes.is_power_of_two() || lanes > 32 => {
                Err(SpmvError::NoSuchKernel { kernel: self, reason: "a row has 1, 2, 4, 8, 16 or 32 lanes" })
            }
            SpmvKernel::Tiles { threads } if !threads.is_power_of_two() || !(32..=MAX_THREADS).contains(&threads) => {
                Err(SpmvError::NoSuchKernel { kernel: self, reason: "a tile has 32, 64, 128 or 256 threads" })
            }
            SpmvKernel::Auto => Ok(Self::choose(matrix, device)),
            _ => Ok(self),
        }
    }

    fn choose<T: SpmvReal>(matrix: &Csr<T>, device: &DeviceInfo) -> Self {
        if device.backend == Backend::Cpu {
            // There are no lanes to share anything.
            return SpmvKernel::Rows { lanes: 1 };
        }
        let mean = matrix.nnz() / matrix.rows().max(1);
        if mean > LONG_MEAN && matrix.longest_row() <= EVEN * mean {
            return SpmvKernel::Rows { lanes: 32 };
        }
        let enough = TILES_PER_MULTIPROCESSOR * device.multiprocessors as usize;
        let tiles = |threads: u32| matrix.nnz() / (ITEMS * threads) as usize;
        SpmvKernel::Tiles { threads: [256, 128].into_iter().find(|&threads| tiles(threads) >= enough).unwrap_or(64) }
    }
}

/// A matrix, divided into tiles.
#[derive(Debug, Default, PartialEq)]
pub struct Plan {
    /// All rows and nonzeros.
    pub tiles: Vec<Tile>,
    /// The rows that are longer than a tile.
    pub long_rows: Vec<u32>,
    /// The start of each long row's partial sums, and the end of the last one's.
    pub offsets: Vec<u32>,
}

impl Plan {
    /// Divides a matrix for blocks of `threads`: as many rows to a tile as have room, and long ones alone.
    pub fn new(row_ptr: &[u32], threads: u32) -> Self {
        let capacity = ITEMS * threads;
        let rows = row_ptr.len() - 1;
        let mut plan = Plan { offsets: vec![0], ..Plan::default() };
        let mut partials = 0;
        let mut row = 0;
        while row < rows {
            let first = row_ptr[row];
            // Not so many rows that they, and not their nonzeros, are what takes the time.
            let most = (row + capacity as usize).min(rows);
            // Rows ascend, so that those with room are the first ones.
            let end = row + row_ptr[row + 1..=most].partition_point(|&end| end - first <= capacity);
            if end > row {
                let (count, nonzeros) = ((end - row) as u32, row_ptr[end] - first);
                let log_lanes = log_lanes(&row_ptr[row..=end], threads);
                plan.tiles.push(Tile::of_rows(row as u32, count, first, nonzeros, log_lanes));
                row = end;
                continue;
            }
            let mut at = first;
            while at < row_ptr[row + 1] {
                let nonzeros = capacity.min(row_ptr[row + 1] - at);
                plan.tiles.push(Tile::of_long_row(partials, at, nonzeros));
                partials += 1;
                at += nonzeros;
            }
            plan.long_rows.push(row as u32);
            plan.offsets.push(partials);
            row += 1;
        }
        plan
    }

    /// The number of partial sums.
    pub fn partials(&self) -> usize {
        self.offsets.last().map_or(0, |&end| end as usize)
    }
}

/// Cost of a round of [`log_lanes`], per doubling of the lanes, and per product that a lane adds
/// up, in GPU cycles, about. Only their ratios matter, and these little.
const ROUND: u32 = 40;
const DOUBLING: u32 = 30;
const PRODUCT: u32 = 12;

/// Returns the binary logarithm of the number of lanes per row that adds up these rows soonest.
///
/// All groups of lanes take a row each, and then the next ones: a round lasts as long as its longest row. With as many
/// lanes as all threads are enough for there is one round; where rows differ much, more lanes and more rounds take
/// less.
fn log_lanes(row_ptr: &[u32], threads: u32) -> u32 {
    let rows = row_ptr.len() - 1;
    let cost = |log_lanes: u32| -> u32 {
        let groups = (threads >> log_lanes) as usize;
        let round = |first: usize| {
            let ends = &row_ptr[first..=(first + groups).min(rows)];
            let longest = ends.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0);
            ROUND + DOUBLING * log_lanes + PRODUCT * longest.div_ceil(1 << log_lanes)
        };
        (0..rows).step_by(groups).map(round).sum()
    };
    let mut best = (threads / rows as u32).max(1).ilog2().min(5);
    let mut least = cost(best);
    while best < 5 {
        let next = cost(best + 1);
        if next >= least {
            break;
        }
        (best, least) = (best + 1, next);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row_ptr(lengths: &[u32]) -> Vec<u32> {
        let mut at = 0;
        std::iter::once(0).chain(lengths.iter().map(|length| (at += length, at).1)).collect()
    }

    #[test]
    fn rows_go_together_and_long_ones_alone() {
        // 128 nonzeros have room.
        let plan = Plan::new(&row_ptr(&[100, 28, 0, 1, 128, 129, 257, 5]), 32);
        let expected = [
            Tile::of_rows(0, 3, 0, 128, 3),
            Tile::of_rows(3, 1, 128, 1, 5),
            Tile::of_rows(4, 1, 129, 128, 5),
            Tile::of_long_row(0, 257, 128),
            Tile::of_long_row(1, 385, 1),
            Tile::of_long_row(2, 386, 128),
            Tile::of_long_row(3, 514, 128),
            Tile::of_long_row(4, 642, 1),
            Tile::of_rows(7, 1, 643, 5, 5),
        ];
        assert_eq!(plan, Plan { tiles: expected.to_vec(), long_rows: vec![5, 6], offsets: vec![0, 2, 5] });
        assert_eq!(plan.partials(), 5);
    }

    #[test]
    fn a_long_row_among_short_ones_gets_more_lanes() {
        // 256 threads have two lanes for each of 102 rows.
        let even = row_ptr(&[10; 102]);
        assert_eq!(log_lanes(&even, 256), 1);
        // One lane would be adding up 900 products while the others wait.
        let mut lengths = [1; 120];
        lengths[7] = 900;
        assert!((3..=5).contains(&log_lanes(&row_ptr(&lengths), 256)));
        // Nothing to add up.
        assert_eq!(log_lanes(&row_ptr(&[0; 300]), 256), 0);
        assert_eq!(log_lanes(&row_ptr(&[4000]), 32), 5);
    }

    #[test]
    fn empty_rows_fill_tiles_too() {
        let plan = Plan::new(&row_ptr(&[0; 300]), 32);
        let expected = [(0, 128), (128, 128), (256, 44)].map(|(row, rows)| Tile::of_rows(row, rows, 0, 0, 0));
        assert_eq!(plan.tiles, expected);
        assert_eq!(Plan::new(&[0], 256), Plan { offsets: vec![0], ..Plan::default() });
    }

    #[test]
    fn gpus_get_tiles_for_short_rows_and_warps_for_long_ones() {
        let mut gpu = crate::device::Device::cpu().info().clone();
        (gpu.backend, gpu.multiprocessors) = (Backend::Cuda, 100);
        let of = |rows: usize, length: u32| {
            let row_ptr = (0..=rows as u32).map(|row| row * length).collect();
            let nonzeros = rows * length as usize;
            Csr::new((rows, 1), row_ptr, vec![0; nonzeros], vec![1.0f32; nonzeros]).unwrap()
        };
        let choose = |matrix: &Csr<f32>| SpmvKernel::Auto.resolve(matrix, &gpu).unwrap();
        assert_eq!(choose(&of(100_000, 10)), SpmvKernel::Tiles { threads: 256 });
        assert_eq!(choose(&of(25_000, 10)), SpmvKernel::Tiles { threads: 128 });
        assert_eq!(choose(&of(10_000, 10)), SpmvKernel::Tiles { threads: 64 });
        assert_eq!(choose(&of(1_000, 200)), SpmvKernel::Rows { lanes: 32 });
        assert_eq!(choose(&of(1_000, 65)), SpmvKernel::Rows { lanes: 32 });
        assert_eq!(choose(&of(1_000, 64)), SpmvKernel::Tiles { threads: 64 });
        // Both sides of four tiles per multiprocessor, with 256 threads and with 128.
        for (nonzeros, threads) in [(400 * 1024, 256), (400 * 1024 - 1, 128), (400 * 512, 128), (400 * 512 - 1, 64)] {
            assert_eq!(choose(&of(nonzeros, 1)), SpmvKernel::Tiles { threads });
        }
        assert_eq!(choose(&of(0, 0)), SpmvKernel::Tiles { threads: 64 });
        // One row of 10^5 beside 1,000 of 100.
        let mut lengths = vec![100; 1_000];
        lengths.push(100_000);
        let skewed = Csr::new((1_001, 1), row_ptr(&lengths), vec![0; 200_000], vec![1.0f32; 200_000]).unwrap();
        assert_eq!(choose(&skewed), SpmvKernel::Tiles { threads: 64 });
    }
}
