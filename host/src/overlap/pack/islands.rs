//! Searches side by side, each on a GPU or a rank, whose best packings travel around a ring.

use std::{sync::Arc, thread};

use super::{PackError, Packing};
use crate::ranks::Communicator;

/// One of the searches.
pub struct Island<'a>(&'a Arc<dyn Communicator>);

impl<'a> Island<'a> {
    /// The island of this rank.
    pub fn new(ranks: &'a Arc<dyn Communicator>) -> Self {
        Island(ranks)
    }

    pub fn is_first(&self) -> bool {
        self.0.rank() == 0
    }

    /// Seed of its random numbers. The first island's is the one that a lone search has.
    pub fn seed(&self, seed: u64) -> u64 {
        // The multiplier is odd, and far from multiples of small numbers.
        seed.wrapping_add((self.0.rank() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Returns true if all islands go on.
    pub fn all(&self, go_on: bool) -> Result<bool, PackError> {
        Ok(self.0.max(if go_on { 0.0 } else { 1.0 })? == 0.0)
    }

    /// Gathers the numbers of all islands, in their order. Each gives the same number of them.
    pub fn share(&self, numbers: &[f64]) -> Result<Vec<Vec<f64>>, PackError> {
        let gathered = self.0.gather(bytemuck::cast_slice(numbers).to_vec())?;
        let all: Vec<f64> = bytemuck::pod_collect_to_vec(&self.0.broadcast(gathered.concat())?);
        Ok(all.chunks(numbers.len().max(1)).map(<[f64]>::to_vec).collect())
    }

    /// Returns the numbers that the previous island on the ring gives.
    pub fn neighbours(&self, numbers: &[f64]) -> Result<Vec<f64>, PackError> {
        let before = (self.0.rank() + self.0.size() - 1) % self.0.size();
        Ok(self.share(numbers)?.swap_remove(before))
    }

    /// For each packing, the smallest that any island has.
    pub fn smallest(&self, packings: Vec<Packing>) -> Result<Vec<Packing>, PackError> {
        let numbers: Vec<f64> = packings.iter().flat_map(|packing| written(packing.side, &packing.poses)).collect();
        let all = self.share(&numbers)?;
        let mut rest: Vec<&[f64]> = all.iter().map(Vec::as_slice).collect();
        let smallest = |packing: &Packing| {
            let each = rest.iter_mut().map(|rest| read(rest, packing.poses.len()));
            let least = each.min_by(|a, b| a.0.total_cmp(&b.0));
            least.map_or_else(|| packing.clone(), |(side, poses)| Packing::new(poses, side))
        };
        Ok(packings.iter().map(smallest).collect())
    }
}

impl Drop for Island<'_> {
    /// Ends the others if this one has panicked: they would wait for it.
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.abort("its search has panicked");
        }
    }
}

/// Writes a number and poses as numbers.
pub fn written(number: f64, poses: &[[f64; 3]]) -> impl Iterator<Item = f64> {
    [number].into_iter().chain(poses.as_flattened().iter().copied())
}

/// Reads what [`written`] wrote, and removes it from `rest`.
pub fn read(rest: &mut &[f64], count: usize) -> (f64, Vec<[f64; 3]>) {
    let (first, left) = rest.split_at(1 + 3 * count);
    *rest = left;
    (first[0], first[1..].as_chunks().0.to_vec())
}
