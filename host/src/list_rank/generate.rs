//! Lists to rank: random and regular ones.
//!
//! Each returns `next` alone. All rankers find the head.

use rayon::prelude::*;

pub use gpu_kernels::list_rank::generate::{Permutation, Runs};

/// A list whose element of rank `r` is `element(r)`, given with its inverse. `element` must be a permutation of `0..n`.
fn from_permutation(n: u32, element: impl Fn(u32) -> u32 + Sync, rank: impl Fn(u32) -> u32 + Sync) -> Vec<i32> {
    (0..n)
        .into_par_iter()
        .map(|index| match rank(index) + 1 {
            next if next < n => element(next) as i32,
            _ => -1,
        })
        .collect()
}

/// A list of runs of consecutive elements in pseudorandom order.
fn of_runs(n: u32, run: u32, seed: u64) -> Vec<i32> {
    let runs = Runs { n: u64::from(n), run: u64::from(run) };
    let order = Permutation::new(runs.whole(), seed);
    (0..n).into_par_iter().map(|element| runs.next(order, u64::from(element)) as i32).collect()
}

/// A list in pseudorandom order.
pub fn random(n: u32, seed: u64) -> Vec<i32> {
    of_runs(n, 1, seed)
}

/// The ranks of the elements of [`random`]'s list, without a walk.
pub fn random_ranks(n: u32, seed: u64) -> Vec<i32> {
    let order = Permutation::new(n.into(), seed);
    (0..n).into_par_iter().map(|element| order.invert(element.into()) as i32).collect()
}

/// 0, 1, 2, ...
pub fn sequential(n: u32) -> Vec<i32> {
    of_runs(n, n.max(1), 0)
}

/// n - 1, n - 2, ..., 0.
pub fn reversed(n: u32) -> Vec<i32> {
    from_permutation(n, |rank| n - 1 - rank, |element| n - 1 - element)
}

/// 0, `stride`, 2 `stride`, ...; then 1, 1 + `stride`, ...: the columns of a matrix of `stride` columns. `stride` must
/// not be 0.
pub fn strided(n: u32, stride: u32) -> Vec<i32> {
    // Columns below `n % stride` have one element more.
    let (rows, long) = (n / stride, n % stride);
    let start = |column: u32| column * rows + column.min(long);
    let element = |rank: u32| {
        let column = if rank < start(long) { rank / (rows + 1) } else { long + (rank - start(long)) / rows.max(1) };
        column + (rank - start(column)) * stride
    };
    from_permutation(n, element, |element| start(element % stride) + element / stride)
}

/// Blocks of `block` consecutive elements in pseudorandom order. The last one, if shorter, stays last. `block` must not
/// be 0.
pub fn block_shuffled(n: u32, block: u32, seed: u64) -> Vec<i32> {
    of_runs(n, block, seed)
}

/// An order of a generated list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum ListKind {
    /// A pseudorandom permutation
    Random,
    /// 0, 1, 2, ...
    Sequential,
    /// n - 1, n - 2, ..., 0
    Reversed,
    /// 0, 1024, 2048, ...; then 1, 1025, ...
    Strided,
    /// Blocks of 1024 consecutive elements in random order
    BlockShuffled,
}

impl ListKind {
    /// Columns of a strided list's matrix, and elements of a block that is shuffled.
    const WIDTH: u32 = 1024;

    /// Generates a list of `n` elements of this kind.
    pub fn generate(self, n: u32, seed: u64) -> Vec<i32> {
        match self {
            ListKind::Random => random(n, seed),
            ListKind::Sequential => sequential(n),
            ListKind::Reversed => reversed(n),
            ListKind::Strided => strided(n, Self::WIDTH),
            ListKind::BlockShuffled => block_shuffled(n, Self::WIDTH, seed),
        }
    }

    /// Returns the length of its runs of consecutive elements, if such a list of `n` elements is made of them.
    pub fn run(self, n: u64) -> Option<u64> {
        match self {
            ListKind::Random => Some(1),
            ListKind::Sequential => Some(n),
            ListKind::BlockShuffled => Some(Self::WIDTH.into()),
            ListKind::Reversed | ListKind::Strided => None,
        }
    }

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            ListKind::Random => "random",
            ListKind::Sequential => "sequential",
            ListKind::Reversed => "reversed",
            ListKind::Strided => "strided",
            ListKind::BlockShuffled => "block-shuffled",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list_rank::diagnose;

    #[test]
    fn permutations_invert() {
        for n in [1, 2, 3, 31, 1000, 65_537] {
            let permutation = Permutation::new(n, 5);
            let mut seen = vec![false; n as usize];
            for index in 0..n {
                let image = permutation.apply(index);
                assert_eq!(permutation.invert(image), index);
                assert!(!std::mem::replace(&mut seen[image as usize], true));
            }
        }
    }

    #[test]
    fn all_are_lists() {
        for n in [0, 1, 2, 3, 31, 32, 33, 1000] {
            for list in [random(n, 1), sequential(n), reversed(n), strided(n, 7), strided(n, 1), block_shuffled(n, 16, 3)] {
                assert_eq!(list.len(), n as usize);
                assert_eq!(diagnose(&list, None), Ok(()), "{list:?}");
            }
        }
        let (list, ranks) = (random(1000, 1), random_ranks(1000, 1));
        let after = |rank: i32| if rank == 999 { -1 } else { ranks.iter().position(|&of| of == rank + 1).unwrap() as i32 };
        assert!(list.iter().zip(&ranks).all(|(&next, &rank)| next == after(rank)));
        assert_eq!(strided(5, 2), [2, 3, 4, -1, 1]);
        assert_eq!(reversed(3), [-1, 0, 1]);
    }
}
