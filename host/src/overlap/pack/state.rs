//! Packings on the host, as lanes have them.

use std::ops::Range;

/// The packings of all lanes, on the host.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Start of each lane's poses, and their end.
    pub offsets: Vec<usize>,
    /// All lanes' poses, one lane after the other.
    pub poses: Vec<[f64; 3]>,
    /// Scale of each lane's container.
    pub sides: Vec<f64>,
    /// For each lane, the area of overlap plus the area outside.
    pub energies: Vec<f64>,
}

impl State {
    /// A lane's poses.
    pub fn poses(&self, lane: usize) -> &[[f64; 3]] {
        &self.poses[self.range(lane)]
    }

    pub fn poses_mut(&mut self, lane: usize) -> &mut [[f64; 3]] {
        let range = self.range(lane);
        &mut self.poses[range]
    }

    fn range(&self, lane: usize) -> Range<usize> {
        self.offsets[lane]..self.offsets[lane + 1]
    }

    /// Appends a lane.
    pub fn push(&mut self, poses: &[[f64; 3]], side: f64, energy: f64) {
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        self.poses.extend_from_slice(poses);
        self.offsets.push(self.poses.len());
        self.sides.push(side);
        self.energies.push(energy);
    }

    /// Copies a lane from `other`, whose lane has the same number of copies.
    pub fn take(&mut self, other: &State, lane: usize) {
        self.poses_mut(lane).copy_from_slice(other.poses(lane));
        self.sides[lane] = other.sides[lane];
        self.energies[lane] = other.energies[lane];
    }

    /// Copies lane `from` to lane `to`, which has the same number of copies.
    pub fn spread(&mut self, from: usize, to: usize) {
        let range = self.range(from);
        let start = self.range(to).start;
        self.poses.copy_within(range, start);
        self.sides[to] = self.sides[from];
        self.energies[to] = self.energies[from];
    }
}

/// Packings to settle.
#[derive(Clone, Debug, Default)]
pub struct Finalists {
    pub state: State,
    /// Each lane's group.
    pub groups: Vec<usize>,
}
