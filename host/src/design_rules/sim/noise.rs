//! How much times vary.

use std::f64::consts::TAU;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};

/// Two independent normal variates, after Box and Muller.
pub(in crate::design_rules) fn normals(rng: &mut ChaCha8Rng) -> [f64; 2] {
    // In (0, 1], so that there is a logarithm.
    let mut uniform = || ((rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
    let (radius, angle) = ((-2.0 * uniform().ln()).sqrt(), TAU * uniform());
    [radius * angle.cos(), radius * angle.sin()]
}

/// For each step on each rank two factors: for the host's time, and for what the step sets off.
#[derive(Clone, Debug, Default)]
pub(super) struct Noise {
    factors: Vec<[f64; 2]>,
    steps: usize,
}

impl Noise {
    pub fn fill(&mut self, sigma: f64, seed: u64, ranks: usize, steps: usize) {
        self.factors.clear();
        self.steps = steps;
        if sigma > 0.0 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            self.factors.extend((0..ranks * steps).map(|_| normals(&mut rng).map(|z| (sigma * z).exp())));
        }
    }

    pub fn host(&self, rank: usize, step: usize) -> f64 {
        self.factors.get(rank * self.steps + step).map_or(1.0, |factors| factors[0])
    }

    pub fn device(&self, rank: usize, step: usize) -> f64 {
        self.factors.get(rank * self.steps + step).map_or(1.0, |factors| factors[1])
    }
}
