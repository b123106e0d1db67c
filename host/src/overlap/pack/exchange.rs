//! Exchange of packings: among lanes, among groups, and among islands.

use std::f64::consts::TAU;

use super::{
    PackError,
    islands::{Island, read, written},
    search::Search,
    symmetry::{mirror, paired},
    task::Task,
};

/// Probability that a replacement copies only a part of the better packing. The rest, at most one
/// copy plus one in `MOST_LOST`, is placed anew.
const CROSSED: f64 = 0.5;
const MOST_LOST: usize = 12;
/// Largest scale of a packing that comes from another number of copies, in units of the score that
/// it replaces.
const PASSED: f64 = 1.1;

impl Search<'_> {
    /// Spreads good packings, slowly. Lanes form a ring, and in half of the pairs of neighbours the
    /// better packing may replace the other. Then the worst lane of each group that need not be
    /// symmetric gets a packing from the group with a copy more or less.
    pub fn exchange(&mut self) {
        let odd = (self.squeezes / self.exchanges()) % 2;
        for group in 0..self.task.groups.len() {
            let lanes = self.group(group);
            for pair in 0..lanes.len() / 2 {
                let [one, other] = [0, 1].map(|k| lanes.start + (2 * pair + odd + k) % lanes.len());
                let (from, to) = if self.scores[one] < self.scores[other] { (one, other) } else { (other, one) };
                if self.choices.unit() < 0.5 && !(!self.separates && self.choices.unit() < CROSSED && self.cross(from, to)) {
                    self.spread(from, to);
                }
            }
        }
        for group in 0..self.task.groups.len() {
            if self.group(group).len() > 1 {
                self.pass(group);
            }
        }
    }

    /// Gets the best packing of each group from the previous island. It replaces the worst one if
    /// it is better.
    pub fn trade(&mut self, island: &Island<'_>) -> Result<(), PackError> {
        let mut numbers = Vec::new();
        for group in 0..self.task.groups.len() {
            let lane = self.best_lane(group);
            numbers.push(self.lane_scores[lane]);
            numbers.extend(written(self.best.sides[lane], self.best.poses(lane)));
        }
        let found = island.neighbours(&numbers)?;
        let mut rest = &found[..];
        for group in 0..self.task.groups.len() {
            let score = rest[0];
            rest = &rest[1..];
            let (side, poses) = read(&mut rest, self.task.groups[group].count());
            let Some(to) = self.worst_lane(group).filter(|&lane| score < self.scores[lane]) else { continue };
            self.current.poses_mut(to).copy_from_slice(&poses);
            self.current.sides[to] = side;
            (self.scores[to], self.fresh[to]) = (score, None);
            self.failed.take(&self.current, to);
            (self.failed.energies[to], self.failures[to]) = (0.0, 0);
            if score < self.lane_scores[to] {
                self.lane_scores[to] = score;
                self.best.take(&self.current, to);
            }
        }
        Ok(())
    }

    /// Copies a lane's packing to another lane, unless only that one must be symmetric.
    fn spread(&mut self, from: usize, to: usize) {
        if self.symmetric[to] && !self.symmetric[from] {
            let Some(poses) = paired(self.current.poses(from)) else { return };
            self.current.poses_mut(to).copy_from_slice(&poses);
            self.current.sides[to] = self.current.sides[from];
        } else {
            self.current.spread(from, to);
        }
        self.scores[to] = self.scores[from];
    }

    /// Copies a part of a lane's packing over that part of another one's: the part beyond a line,
    /// or for symmetric packings outside a band. Copies that are left without a place are placed
    /// anew. Returns whether it could.
    fn cross(&mut self, from: usize, to: usize) -> bool {
        let pairs = self.symmetric[to];
        if pairs && !self.symmetric[from] || self.scores[from] == self.scores[to] || self.scores[to].is_infinite() {
            return false;
        }
        let (sine, cosine) = self.choices.between(0.0, TAU).sin_cos();
        let Task { problem, groups, .. } = self.task;
        let line = self.choices.between(-0.3, 0.3) * problem.container.area(self.current.sides[to]).sqrt();
        let beyond = |[x, y, _]: &[f64; 3]| {
            let along = cosine * x + sine * y;
            if pairs { along.abs() > line.abs() } else { along > line }
        };
        let kinds = &groups[self.offsets.partition_point(|&offset| offset <= to) - 1].kinds;
        let count = kinds.len();
        let part = |lane: usize, side: bool| {
            let all = self.current.poses(lane).iter().zip(kinds);
            all.filter(move |(pose, _)| beyond(pose) == side).map(|(pose, &kind)| (*pose, kind as usize))
        };
        let mut chosen: Vec<_> = part(from, true).collect();
        let taken = chosen.len();
        chosen.extend(part(to, false));
        if taken == 0 || taken == count || chosen.len() > count || count - chosen.len() > 1 + count / MOST_LOST {
            return false;
        }
        let (mut poses, mut loose) = (vec![problem.away(self.current.sides[to]); count], Vec::new());
        if pairs {
            let Some(paired) = paired(&chosen.iter().map(|(pose, _)| *pose).collect::<Vec<_>>()) else { return false };
            let own = &paired[..paired.len() / 2];
            poses.truncate(count / 2);
            poses[..own.len()].copy_from_slice(own);
            loose.extend(own.len()..count / 2);
            mirror(&mut poses);
        } else {
            // Copies of one shape are consecutive.
            let first = |kind: usize| kinds.partition_point(|&other| (other as usize) < kind);
            let mut next: Vec<usize> = (0..problem.shapes.len()).map(first).collect();
            for (pose, kind) in chosen {
                if next[kind] == first(kind + 1) {
                    return false;
                }
                poses[next[kind]] = pose;
                next[kind] += 1;
            }
            loose.extend(next.into_iter().enumerate().flat_map(|(kind, from)| from..first(kind + 1)));
        }
        self.current.poses_mut(to).copy_from_slice(&poses);
        self.current.sides[to] = self.current.sides[to].max(self.current.sides[from]);
        // The result is kept in any case.
        self.scores[to] = f64::INFINITY;
        self.fresh[to] = Some(loose);
        true
    }

    /// Replaces the worst packing of a group by the best one of the group with a copy more, less an
    /// outer copy, or of the group with a copy less, plus a copy to place. Packings of several
    /// shapes are left alone.
    fn pass(&mut self, group: usize) {
        let Task { problem, groups, .. } = self.task;
        let count = groups[group].count();
        let wanted = if self.choices.unit() < 0.6 { count + 1 } else { count - 1 };
        let other = groups.iter().position(|group| group.count() == wanted).filter(|_| problem.shapes.len() == 1);
        let Some(other) = other else { return };
        let from = self.best_lane(other);
        let Some(to) = self.worst_lane(group) else { return };
        let side = self.best.sides[from];
        if self.lane_scores[from].is_infinite() || side > PASSED * self.scores[to] {
            return;
        }
        let mut poses = self.best.poses(from).to_vec();
        let loose = if wanted > count { Vec::new() } else { vec![count - 1] };
        if wanted > count {
            // One of the outermost copies goes.
            let reach = |pose: &[f64; 3]| problem.container.level([pose[0], pose[1]]);
            let mut order: Vec<usize> = (0..poses.len()).collect();
            order.sort_by(|&a, &b| reach(&poses[b]).total_cmp(&reach(&poses[a])));
            poses.swap_remove(order[self.choices.below(poses.len().min(8))]);
        } else {
            poses.push(problem.away(side));
        }
        self.current.poses_mut(to).copy_from_slice(&poses);
        self.current.sides[to] = side;
        // The result is kept in any case.
        self.scores[to] = f64::INFINITY;
        self.fresh[to] = Some(loose);
    }
}
