//! Changes to try.

use std::f64::consts::{PI, TAU};

use crate::overlap::random::Random;

type Pose = [f64; 3];

/// Copies anywhere in the square.
pub fn scattered(random: &mut Random, n: usize, side: f64) -> Vec<Pose> {
    (0..n).map(|_| anywhere(random, side)).collect()
}

fn anywhere(random: &mut Random, side: f64) -> Pose {
    [random.between(-0.5, 0.5) * side, random.between(-0.5, 0.5) * side, random.between(-PI, PI)]
}

/// Poses to look for places from.
pub fn probes(random: &mut Random, count: usize, side: f64) -> impl Iterator<Item = Pose> {
    (0..count).map(move |_| anywhere(random, side))
}

/// Changes a packing in the square for another try: only the first `own` poses. Those that are to go elsewhere are left
/// for others to place: their indices come back.
pub fn change(random: &mut Random, poses: &mut [Pose], own: usize, radius: f64) -> Vec<usize> {
    let reach = |pose: &Pose| pose[0].abs().max(pose[1].abs());
    let kind = random.unit();
    let mut loose = Vec::new();
    if kind < 0.12 {
        let length = radius * 0.01 * 20f64.powf(random.unit());
        for pose in &mut poses[..own] {
            jiggle(random, pose, length, radius);
        }
    } else if kind < 0.15 {
        for _ in 0..=random.below(1 + own.div_ceil(20)) {
            let pose = random.below(own);
            poses[pose][2] += if random.unit() < 0.6 { PI } else { random.between(-PI, PI) };
        }
    } else if kind < 0.6 {
        // Some of those that stand farthest out.
        let mut order: Vec<usize> = (0..own).collect();
        order.sort_by(|&a, &b| reach(&poses[b]).total_cmp(&reach(&poses[a])));
        order.truncate((2.0 * (own as f64).sqrt()).ceil() as usize);
        for _ in 0..=random.below(3.min(order.len())) {
            loose.push(order.swap_remove(random.below(order.len())));
        }
    } else if kind < 0.93 {
        loose.push(random.below(own));
    } else {
        // Those next to one of them.
        let [x, y, _] = poses[random.below(own)];
        let mut order: Vec<usize> = (0..own).collect();
        let distance = |pose: &Pose| (pose[0] - x).hypot(pose[1] - y);
        order.sort_by(|&a, &b| distance(&poses[a]).total_cmp(&distance(&poses[b])));
        order.truncate(2 + random.below(2));
        loose = order;
    }
    for pose in poses {
        pose[2] -= TAU * (pose[2] / TAU).round();
    }
    loose
}

fn jiggle(random: &mut Random, pose: &mut Pose, length: f64, radius: f64) {
    pose[0] += length * random.bell();
    pose[1] += length * random.bell();
    pose[2] += length / radius * random.bell();
}
