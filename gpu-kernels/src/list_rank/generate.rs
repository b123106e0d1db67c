//! Generated lists whose elements can be computed independently.

use cuda_std::prelude::*;

/// A pseudorandom permutation of `0..n` that can be evaluated at any point in both directions: a Feistel network of
/// four rounds on the next even number of bits, walking on until it falls below `n` (Black and Rogaway 2002).
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Permutation {
    n: u64,
    half: u32,
    // One for each round.
    key_0: u64,
    key_1: u64,
    key_2: u64,
    key_3: u64,
}

impl Permutation {
    /// The permutation of `n` numbers that `seed` names.
    pub fn new(n: u64, seed: u64) -> Self {
        let bits = 64 - n.saturating_sub(1).leading_zeros();
        let key = |round: u64| mix(seed.wrapping_add(round.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let [key_0, key_1, key_2, key_3] = [1, 2, 3, 4].map(key);
        Permutation { n, half: bits.div_ceil(2).max(1), key_0, key_1, key_2, key_3 }
    }

    #[inline(always)]
    fn round(&self, key: u64, half: u64) -> u64 {
        mix(half ^ key) & ((1 << self.half) - 1)
    }

    #[inline(always)]
    fn halves(&self, index: u64) -> (u64, u64) {
        (index >> self.half, index & ((1 << self.half) - 1))
    }

    /// Returns the image of `index`. `index` must be below `n`.
    #[inline(always)]
    pub fn apply(&self, mut index: u64) -> u64 {
        loop {
            let (mut left, mut right) = self.halves(index);
            for key in [self.key_0, self.key_1, self.key_2, self.key_3] {
                (left, right) = (right, left ^ self.round(key, right));
            }
            index = left << self.half | right;
            if index < self.n {
                return index;
            }
        }
    }

    /// Returns the preimage of `index`. `index` must be below `n`.
    #[inline(always)]
    pub fn invert(&self, mut index: u64) -> u64 {
        loop {
            let (mut left, mut right) = self.halves(index);
            for key in [self.key_3, self.key_2, self.key_1, self.key_0] {
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
#[inline(always)]
pub fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A list of runs of consecutive elements in pseudorandom order: of one element each, a random list; of `n`, 0, 1, 2,
/// ... The last run, if shorter, stays last.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Runs {
    /// Number of elements.
    pub n: u64,
    /// Number of elements per run.
    pub run: u64,
}

impl Runs {
    /// The number of whole runs, which a [`Permutation`] has to have.
    pub fn whole(self) -> u64 {
        self.n / self.run
    }

    #[inline(always)]
    fn place(self, index: u64, runs: impl Fn(u64) -> u64) -> u64 {
        let number = index / self.run;
        if number < self.n / self.run { runs(number) * self.run + index % self.run } else { index }
    }

    /// Returns the number of elements before this one.
    #[inline(always)]
    pub fn rank(self, order: Permutation, element: u64) -> u64 {
        self.place(element, |number| order.invert(number))
    }

    /// The element after this one, or -1.
    #[inline(always)]
    pub fn next(self, order: Permutation, element: u64) -> i64 {
        if !(element + 1).is_multiple_of(self.run) && element + 1 < self.n {
            return element as i64 + 1;
        }
        let rank = self.rank(order, element) + 1;
        if rank < self.n { self.place(rank, |number| order.apply(number)) as i64 } else { -1 }
    }
}

/// The successors of the elements from `first` on.
#[kernel(max_threads = 256)]
pub fn runs(runs: Runs, order: Permutation, first: u64, mut next: DisjointSlice<i64>) {
    for (i, next) in next.grid_stride_mut() {
        *next = runs.next(order, first + i as u64);
    }
}
