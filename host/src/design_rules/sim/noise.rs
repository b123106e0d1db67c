//! The noise of times.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;

use super::super::statistics::normals;

/// Two factors for each step on each rank: one for the host's time, one for the work that the step
/// starts.
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
