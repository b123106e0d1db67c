//! Percentiles of values, random orders and normal variates.

use std::f64::consts::TAU;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::RngCore as _;

/// Returns a percentile, from 0 to 100, of values in any order: linear between neighbouring values, as in NumPy. `None` if
/// there are no values.
pub fn percentile(values: &[f64], percent: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let place = percent / 100.0 * last as f64;
    let below = (place as usize).min(last);
    let [low, high] = [sorted[below], sorted[(below + 1).min(last)]];
    let part = place - below as f64;
    // From the nearer one, as NumPy does it.
    Some(if part < 0.5 { low + (high - low) * part } else { high - (high - low) * (1.0 - part) })
}

/// Returns the numbers below `len` in a random order.
pub(super) fn shuffled(len: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
    let mut order: Vec<_> = (0..len).collect();
    for last in (1..len).rev() {
        order.swap(last, (rng.next_u64() % (last as u64 + 1)) as usize);
    }
    order
}

/// Draws two independent standard normal variates, by the method of Box and Muller.
pub(super) fn normals(rng: &mut ChaCha8Rng) -> [f64; 2] {
    // In (0, 1], so that there is a logarithm.
    let mut uniform = || ((rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
    let (radius, angle) = ((-2.0 * uniform().ln()).sqrt(), TAU * uniform());
    [radius * angle.cos(), radius * angle.sin()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_linear_between_values() {
        for (percent, wanted) in [(0.0, 1.0), (50.0, 2.5), (90.0, 3.7), (100.0, 4.0)] {
            let found = percentile(&[4.0, 1.0, 3.0, 2.0], percent).unwrap();
            assert!((found - wanted).abs() < 1e-15 * wanted, "{percent}: {found}");
        }
        assert_eq!((percentile(&[7.0], 98.0), percentile(&[], 98.0)), (Some(7.0), None));
    }
}
