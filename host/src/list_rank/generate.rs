//! Lists to rank: random and regular ones.
//!
//! Each gives `next` alone; the head is what `next` doesn't lead to, and all rankers find it.

use rayon::prelude::*;

/// A pseudorandom permutation of `0..n` that can be evaluated at any point in both directions: a Feistel network of
/// four rounds on the next even number of bits, walking on until it falls below `n` (Black and Rogaway 2002).
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    n: u64,
    half: u32,
    keys: [u64; 4],
}

impl Permutation {
    /// The permutation of `n` numbers that `seed` names.
    pub fn new(n: u64, seed: u64) -> Self {
        let bits = 64 - n.saturating_sub(1).leading_zeros();
        let mut state = seed;
        let keys = std::array::from_fn(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            mix(state)
        });
        Permutation { n, half: bits.div_ceil(2).max(1), keys }
    }

    fn round(&self, key: u64, half: u64) -> u64 {
        mix(half ^ key) & ((1 << self.half) - 1)
    }

    /// Where `index` goes. `index` must be below `n`.
    pub fn apply(&self, mut index: u64) -> u64 {
        loop {
            let (mut left, mut right) = (index >> self.half, index & ((1 << self.half) - 1));
            for key in self.keys {
                (left, right) = (right, left ^ self.round(key, right));
            }
            index = left << self.half | right;
            if index < self.n {
                return index;
            }
        }
    }

    /// Where `index` comes from. `index` must be below `n`.
    pub fn invert(&self, mut index: u64) -> u64 {
        loop {
            let (mut left, mut right) = (index >> self.half, index & ((1 << self.half) - 1));
            for key in self.keys.into_iter().rev() {
                (left, right) = (right ^ self.round(key, left), left);
            }
            index = left << self.half | right;
            if index < self.n {
                return index;
            }
        }
    }
}

/// SplitMix64's finaliser.
pub(crate) fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

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

/// A list in pseudorandom order.
pub fn random(n: u32, seed: u64) -> Vec<i32> {
    let permutation = Permutation::new(u64::from(n), seed);
    from_permutation(n, |rank| permutation.apply(u64::from(rank)) as u32, |element| permutation.invert(u64::from(element)) as u32)
}

/// 0, 1, 2, ...
pub fn sequential(n: u32) -> Vec<i32> {
    from_permutation(n, |rank| rank, |element| element)
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
    let whole = n / block;
    let permutation = Permutation::new(u64::from(whole), seed);
    let place = |index: u32, blocks: &dyn Fn(u64) -> u64| match index / block {
        number if number < whole => blocks(u64::from(number)) as u32 * block + index % block,
        _ => index,
    };
    from_permutation(n, |rank| place(rank, &|b| permutation.apply(b)), |element| place(element, &|b| permutation.invert(b)))
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
        assert_eq!(strided(5, 2), [2, 3, 4, -1, 1]);
        assert_eq!(reversed(3), [-1, 0, 1]);
    }
}
