//! Random packings. A seed gives the same ones everywhere.

use std::f64::consts::PI;

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore as _, SeedableRng as _},
};

use super::Packings;

/// Packings of `each` poses that are uniform in a square of side `side` (length) around the origin, and turned by any
/// angle from -π to π. Each packing has a random stream of its own, and so doesn't depend on how many there are.
///
/// # Panics
/// Where the side isn't finite.
pub fn uniform(packings: usize, each: usize, side: f64, seed: u64) -> Packings {
    assert!(side.is_finite(), "the side is {side}, but it must be a finite number");
    let mut poses = Vec::with_capacity(packings * each);
    for packing in 0..packings {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(packing as u64);
        let mut unit = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
        poses.extend((0..each).map(|_| [side * unit(), side * unit(), 2.0 * PI * unit()]));
    }
    let offsets = (0..=packings).map(|packing| packing * each).collect();
    match Packings::ragged(poses, offsets) {
        Ok(packings) => packings,
        Err(error) => unreachable!("{error}"),
    }
}
