//! Splitters: the elements that start sublists.
//!
//! - *First*: elements 0, 1, ... (the document's choice). Even on random lists only: on a sequential one a single
//!   thread walks nearly all.
//! - *Hashed*: one element of every group of `group` consecutive indices, at a place that a hash of the group's number
//!   gives. No regular list can follow the hash, so that the gaps between splitters are geometrically distributed on
//!   any list that doesn't know the seed, and bounded by two groups on sequential and reversed ones.
//!
//! Finding the splitter of an element takes a handful of integer operations and no memory access.

/// Splitters by rule. Both host and device compute with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, cuda_std::KernelParam)]
pub struct Splitters {
    /// Number of splitters. In the last group the place may be past the end, so that the last one
    /// may stand for no element.
    pub count: u32,
    /// Elements per group; 0 for the rule *first*.
    pub group: u32,
    /// `ceil(2^(31 + s) / group)` with `s = ceil(log2(group))`: dividing by `group` is multiplying by it (Granlund and
    /// Montgomery 1994, exact below 2^31).
    pub magic: u32,
    /// `s - 1`: how far to shift the product's high word.
    pub shift: u32,
    /// Seed of the hash.
    pub seed: u32,
}

impl Splitters {
    /// The elements `0..count`.
    pub const fn first(count: u32) -> Self {
        Splitters { count, group: 0, magic: 0, shift: 0, seed: 0 }
    }

    /// One element of every `group >= 2` of `n` elements.
    pub const fn hashed(n: u32, group: u32, seed: u32) -> Self {
        let bits = 32 - (group - 1).leading_zeros();
        let magic = (1u64 << (31 + bits)).div_ceil(group as u64) as u32;
        Splitters { count: n.div_ceil(group), group, magic, shift: bits - 1, seed }
    }

    #[inline(always)]
    fn place(self, group: u32) -> u32 {
        // A short mix of two multiplications (after Wellons' "hash prospector"), then its high bits scaled to the
        // group.
        let mut hash = group ^ self.seed;
        hash = (hash ^ (hash >> 16)).wrapping_mul(0x7feb_352d);
        hash = (hash ^ (hash >> 15)).wrapping_mul(0x846c_a68b);
        ((hash as u64 * self.group as u64) >> 32) as u32
    }

    /// The element of splitter `number`; it may be past the end of the list.
    #[inline(always)]
    pub fn element(self, number: u32) -> u32 {
        if self.group == 0 { number } else { number * self.group + self.place(number) }
    }

    /// The splitter's number, if `element` is one.
    #[inline(always)]
    pub fn number(self, element: u32) -> Option<u32> {
        if self.group == 0 {
            return (element < self.count).then_some(element);
        }
        let group = ((element as u64 * self.magic as u64) >> 32) as u32 >> self.shift;
        (element - group * self.group == self.place(group)).then_some(group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;

    #[test]
    fn each_group_has_one_splitter() {
        for (n, group) in [(2, 2), (10, 3), (1000, 7), (1000, 16), (65_537, 1000), (1 << 20, 100)] {
            let splitters = Splitters::hashed(n, group, 7);
            let mut found = 0;
            for element in 0..n {
                if let Some(number) = splitters.number(element) {
                    assert_eq!(number, element / group);
                    assert_eq!(splitters.element(number), element);
                    found += 1;
                }
            }
            assert!(found == splitters.count || found + 1 == splitters.count, "{found} of {}", splitters.count);
        }
    }

    #[test]
    fn division_is_exact_up_to_the_last_index() {
        for group in [2, 3, 5, 97, 100, 128, 1_000_003, 1 << 30] {
            let splitters = Splitters::hashed(i32::MAX as u32, group, 0);
            for element in [0, 1, group - 1, group, i32::MAX as u32 - 1, (i32::MAX as u32 - 1) / group * group - 1] {
                let quotient = ((element as u64 * splitters.magic as u64) >> 32) as u32 >> splitters.shift;
                assert_eq!(quotient, element / group, "{element} / {group}");
            }
        }
    }
}
