//! Random packings to start from, and changes to try.

use std::f64::consts::{PI, TAU};

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore as _, SeedableRng as _},
};

type Pose = [f64; 3];

/// A lane's random numbers.
#[derive(Clone, Debug)]
pub struct Random(ChaCha8Rng);

impl Random {
    /// Stream `stream` of a seed.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(stream);
        Random(random)
    }

    /// Uniform in 0..1.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in low..high.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Uniform in 0..n.
    pub fn below(&mut self, n: usize) -> usize {
        ((self.unit() * n as f64) as usize).min(n - 1)
    }

    /// As often below 0 as above, mostly within 1: a sum of uniform numbers, of variance 1.
    fn bell(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

/// Copies anywhere in the square.
pub fn scattered(random: &mut Random, n: usize, side: f64) -> Vec<Pose> {
    (0..n).map(|_| anywhere(random, side)).collect()
}

fn anywhere(random: &mut Random, side: f64) -> Pose {
    [random.between(-0.5, 0.5) * side, random.between(-0.5, 0.5) * side, random.between(-PI, PI)]
}

/// Changes a packing in the square for another try. Lengths are in units of the shape's radius.
pub fn change(random: &mut Random, poses: &mut [Pose], side: f64, radius: f64) {
    let n = poses.len();
    let kind = random.unit();
    if kind < 0.35 {
        // All a little.
        let length = radius * 0.01 * 30f64.powf(random.unit());
        for pose in poses.iter_mut() {
            jiggle(random, pose, length, radius);
        }
    } else if kind < 0.6 {
        // Those around one of them, much.
        let [x, y, _] = poses[random.below(n)];
        let reach = radius * random.between(1.0, 3.5);
        let length = radius * random.between(0.1, 0.5);
        let turned = random.between(0.0, 0.6);
        for pose in poses.iter_mut().filter(|pose| (pose[0] - x).hypot(pose[1] - y) < reach) {
            jiggle(random, pose, length, radius);
            if random.unit() < turned {
                pose[2] += random.between(-PI, PI);
            }
        }
    } else if kind < 0.8 {
        // Some, to anywhere, or where it is emptiest.
        let tries = if random.unit() < 0.5 { 1 } else { 20 };
        for _ in 0..=random.below(1 + n.div_ceil(20)) {
            let pose = random.below(n);
            let places: Vec<Pose> = (0..tries).map(|_| anywhere(random, side)).collect();
            let room =
                |place: &Pose| poses.iter().map(|pose| (pose[0] - place[0]).hypot(pose[1] - place[1])).fold(side, f64::min);
            if let Some(&place) = places.iter().max_by(|a, b| room(a).total_cmp(&room(b))) {
                poses[pose] = place;
            }
        }
    } else {
        // Some turned: about, or by any angle.
        for _ in 0..=random.below(1 + n.div_ceil(10)) {
            let pose = random.below(n);
            poses[pose][2] += if random.unit() < 0.6 { PI } else { random.between(-PI, PI) };
        }
    }
    for pose in poses {
        pose[2] -= TAU * (pose[2] / TAU).round();
    }
}

fn jiggle(random: &mut Random, pose: &mut Pose, length: f64, radius: f64) {
    pose[0] += length * random.bell();
    pose[1] += length * random.bell();
    pose[2] += length / radius * random.bell();
}
