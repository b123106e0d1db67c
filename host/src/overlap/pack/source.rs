//! Starts of packings.

use std::f64::consts::PI;

use rayon::prelude::*;

use super::{
    cuts::Cuts,
    limit::Limit,
    periodic::Periodic,
    problem::Problem,
    symmetry::mirror,
    task::{Group, Task, lanes_of},
};
use crate::overlap::random::Random;

/// Minimum number of copies of packings that also start from lattices, and of those that start only
/// from lattices.
const LATTICES_FROM: usize = 12;
const LATTICES_ONLY: usize = 40;
/// Lattices of less than this share of the densest one's density are not cut.
const WORTH: f64 = 0.93;

/// A packing that was never squeezed: its poses, the container's scale, and the indices of poses
/// without a place.
pub type Start = (Vec<[f64; 3]>, f64, Vec<usize>);

/// Makes starts: random poses in containers, or containers cut out of lattices.
pub struct Source<'a> {
    task: &'a Task<'a>,
    /// Lattices to cut, the densest first.
    lattices: Vec<Periodic>,
    /// Density of random starts.
    density: f64,
    seed: u64,
    /// End of the search for lattices and cuts.
    limit: Limit,
}

impl<'a> Source<'a> {
    pub fn new(task: &'a Task<'a>, density: f64, seed: u64, limit: &Limit) -> Self {
        let mut source = Source { task, lattices: Vec::new(), density, seed, limit: limit.clone() };
        if source.cut().next().is_some() {
            source.lattices = lattices(task.problem, seed, limit);
        }
        source
    }

    /// Groups that start from lattices. They are of one shape.
    fn cut(&self) -> impl Iterator<Item = &Group> {
        let Task { problem, groups, .. } = self.task;
        groups.iter().filter(|group| group.count() >= LATTICES_FROM && problem.shapes.len() == 1)
    }

    /// Returns a start for each lane that is `wanted`, given its group and its number there.
    pub fn round(
        &self,
        number: usize,
        randoms: &mut [Random],
        wanted: impl Fn(&Group, usize) -> bool + Sync,
    ) -> Vec<Option<Start>> {
        let Task { problem, groups, .. } = self.task;
        let counts = self.cut().map(Group::count).min().zip(self.cut().map(Group::count).max());
        let most_starts = self.cut().map(|group| group.starts).max().unwrap_or(0);
        let numbers = [self.seed, number as u64];
        let counts = counts.filter(|_| !self.lattices.is_empty());
        let cuts =
            counts.map(|(least, most)| Cuts::new(problem, &self.lattices, least..=most, most_starts, numbers, &self.limit));
        let start = |(random, (group, lane)): (&mut Random, (&Group, usize))| {
            if !wanted(group, lane) {
                return None;
            }
            let (count, (pairs, number)) = (group.count(), group.role(problem, lane));
            let cuts = cuts.as_ref().filter(|_| match count {
                ..LATTICES_FROM => false,
                LATTICES_FROM..LATTICES_ONLY => number.is_multiple_of(2),
                LATTICES_ONLY.. => true,
            });
            let cut = cuts.and_then(|cuts| cuts.start(random, lane, count, pairs, number % 4 == 0));
            Some(cut.unwrap_or_else(|| {
                let most = problem.shapes.iter().map(|shape| shape.radius()).fold(0.0, f64::max);
                let container = &problem.container;
                let side = container.scale_of(problem.area(&group.kinds) / self.density).max(container.scale_around_circle(most));
                let mut poses = problem.scattered(random, &group.kinds[..if pairs { count / 2 } else { count }], side);
                if pairs {
                    mirror(&mut poses);
                }
                (poses, side, Vec::new())
            }))
        };
        let lanes: Vec<(&Group, usize)> = lanes_of(groups).collect();
        randoms.par_iter_mut().zip(lanes).map(start).collect()
    }
}

/// The lattices to cut, the densest first; none if the limit came before.
fn lattices(problem: &Problem, seed: u64, limit: &Limit) -> Vec<Periodic> {
    let turns = &problem.turns[0];
    let between = turns.angles().map(|_| if turns.opposed().is_empty() { 0.0 } else { PI });
    let mut lattices = Periodic::doubles_turned(&problem.squeezed[0], between, seed, limit);
    let densest = lattices.first().map_or(0.0, |lattice| lattice.density);
    lattices.retain(|lattice| lattice.density > WORTH * densest);
    lattices
}
