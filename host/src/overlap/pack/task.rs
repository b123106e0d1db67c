//! A search's task: groups of lanes. Each group works on one packing of the settings, each lane on
//! a candidate for it.

use super::{Budget, PackError, Packing, problem::Problem, symmetry::paired};

/// The task of a search.
pub struct Task<'a> {
    pub problem: &'a Problem,
    pub groups: Vec<Group>,
    pub seed: u64,
    pub budget: Budget,
}

/// The lanes of one packing.
pub struct Group {
    /// The shape of each copy.
    pub kinds: Vec<u32>,
    /// Number of lanes.
    pub starts: usize,
    /// A valid packing to go on from.
    pub from: Option<Packing>,
}

impl Group {
    pub fn count(&self) -> usize {
        self.kinds.len()
    }

    /// A valid packing: the one that the group goes on from, or copies in rows.
    pub fn start(&self, problem: &Problem) -> Result<Packing, PackError> {
        self.from.clone().map_or_else(|| problem.rows(&self.kinds), Ok)
    }

    /// The role of a lane, given by its number in the group: true if its packing must be symmetric
    /// under half a turn, and its number among the lanes of the same role. With an even number of
    /// copies, the first half of the lanes is symmetric.
    pub fn role(&self, problem: &Problem, lane: usize) -> (bool, usize) {
        let half = if problem.is_symmetric() && self.count().is_multiple_of(2) { self.starts / 2 } else { 0 };
        if lane < half { (true, lane) } else { (false, lane - half) }
    }

    /// The poses that a lane goes on from, and their scale. Even if the group has a packing to go
    /// on from, one lane in four starts afresh.
    pub fn goes_on(&self, problem: &Problem, lane: usize) -> Option<(Vec<[f64; 3]>, f64)> {
        let (pairs, number) = self.role(problem, lane);
        let from = self.from.as_ref().filter(|_| number % 4 != 3)?;
        let poses = problem.about_centers(&self.kinds, &from.poses);
        Some((if pairs { paired(&poses)? } else { poses }, from.side))
    }
}

/// Each lane's group, and its number there.
pub fn lanes_of(groups: &[Group]) -> impl Iterator<Item = (&Group, usize)> {
    groups.iter().flat_map(|group| (0..group.starts).map(move |number| (group, number)))
}

/// The shapes of each lane's copies.
pub fn kinds_of(groups: &[Group]) -> impl Iterator<Item = &[u32]> {
    groups.iter().flat_map(|group| std::iter::repeat_n(&group.kinds[..], group.starts))
}
