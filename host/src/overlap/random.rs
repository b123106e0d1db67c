//! Random packings. The same seed gives the same packings on every machine.

use std::f64::consts::PI;

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore as _, SeedableRng as _},
};

use super::Packings;

/// Random numbers.
#[derive(Clone, Debug)]
pub(super) struct Random(ChaCha8Rng);

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

    /// An approximately normal number of mean 0 and variance 1: a sum of uniform numbers.
    pub fn bell(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

/// Packings of `each` poses that are uniform in a square of side `side` (length) around the origin, and turned by any
/// angle from -π to π. Each packing has a random stream of its own, and so doesn't depend on how many there are.
///
/// # Panics
/// If the side isn't finite.
pub fn uniform(packings: usize, each: usize, side: f64, seed: u64) -> Packings {
    assert!(side.is_finite(), "the side is {side}, but it must be a finite number");
    let mut poses = Vec::with_capacity(packings * each);
    for packing in 0..packings {
        let mut random = Random::new(seed, packing as u64);
        let mut unit = || random.unit() - 0.5;
        poses.extend((0..each).map(|_| [side * unit(), side * unit(), 2.0 * PI * unit()]));
    }
    let offsets = (0..=packings).map(|packing| packing * each).collect();
    match Packings::ragged(poses, offsets) {
        Ok(packings) => packings,
        Err(error) => unreachable!("{error}"),
    }
}
