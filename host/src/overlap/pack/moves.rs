//! Random changes of a packing.

use std::f64::consts::PI;

use super::{problem::Problem, turns::unwound};
use crate::overlap::random::Random;

type Pose = [f64; 3];

/// Probability that two copies of different shapes exchange places.
const EXCHANGE: f64 = 0.3;

/// Changes the first `own` poses of a packing for another try. Returns the indices of poses that
/// need a new place, which it leaves to the caller.
pub fn change(random: &mut Random, problem: &Problem, kinds: &[u32], poses: &mut [Pose], own: usize) -> Vec<usize> {
    let Problem { container, turns, radius, .. } = problem;
    let radius = *radius;
    let reach = |pose: &Pose| container.level([pose[0], pose[1]]);
    let mut loose = Vec::new();
    if problem.shapes.len() > 1 && random.unit() < EXCHANGE {
        exchange(random, problem, kinds, poses);
        return loose;
    }
    let kind = random.unit();
    if kind < 0.12 {
        let length = radius * 0.01 * 20f64.powf(random.unit());
        for (pose, &kind) in poses[..own].iter_mut().zip(kinds) {
            jiggle(random, pose, length, if turns[kind as usize].is_any() { length / radius } else { 0.0 });
        }
    } else if kind < 0.15 {
        for _ in 0..=random.below(1 + own.div_ceil(20)) {
            let pose = random.below(own);
            let turns = &turns[kinds[pose] as usize];
            let half = random.unit() < 0.6 && turns.allow(poses[pose][2] + PI);
            poses[pose][2] = if half { poses[pose][2] + PI } else { turns.some(random) };
        }
    } else if kind < 0.6 {
        // Some of the outermost copies.
        let mut order: Vec<usize> = (0..own).collect();
        order.sort_by(|&a, &b| reach(&poses[b]).total_cmp(&reach(&poses[a])));
        order.truncate((2.0 * (own as f64).sqrt()).ceil() as usize);
        for _ in 0..=random.below(3.min(order.len())) {
            loose.push(order.swap_remove(random.below(order.len())));
        }
    } else if kind < 0.93 {
        loose.push(random.below(own));
    } else {
        // A copy and its neighbours.
        let [x, y, _] = poses[random.below(own)];
        let mut order: Vec<usize> = (0..own).collect();
        let distance = |pose: &Pose| (pose[0] - x).hypot(pose[1] - y);
        order.sort_by(|&a, &b| distance(&poses[a]).total_cmp(&distance(&poses[b])));
        order.truncate(2 + random.below(2));
        loose = order;
    }
    for pose in poses {
        pose[2] = unwound(pose[2]);
    }
    loose
}

fn jiggle(random: &mut Random, pose: &mut Pose, length: f64, angle: f64) {
    pose[0] += length * random.bell();
    pose[1] += length * random.bell();
    pose[2] += angle * random.bell();
}

/// Exchanges the places of two copies of different shapes, rather large ones. Turns or mirrors one if all are alike.
pub fn exchange(random: &mut Random, problem: &Problem, kinds: &[u32], poses: &mut [Pose]) {
    let area = |copy: usize| problem.shapes[kinds[copy] as usize].area();
    let larger = |one: usize, other: usize| if area(one) > area(other) { one } else { other };
    let first = larger(random.below(poses.len()), random.below(poses.len()));
    let others: Vec<usize> = (0..poses.len()).filter(|&other| kinds[other] != kinds[first]).collect();
    if others.is_empty() {
        poses[first][2] = problem.turns[kinds[first] as usize].some(random);
        return;
    }
    let second = larger(others[random.below(others.len())], others[random.below(others.len())]);
    poses.swap(first, second);
    for pose in [first, second] {
        let (theta, turns) = (&mut poses[pose][2], &problem.turns[kinds[pose] as usize]);
        *theta = if random.unit() < 0.5 { turns.some(random) } else { turns.nearest(*theta) };
    }
}
