//! Random functions, for tests and measurements.
//!
//! A seed gives the same functions on every machine and with any number of threads: each function is drawn from a
//! stream of its own of the ChaCha generator with 8 rounds.

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore as _, SeedableRng as _},
};
use rayon::prelude::*;

use super::{PcfError, PcfReal, PcfSet, Point, set::divided};

/// `count` functions of `points` breakpoints each. The times are 0 and, in their order, numbers drawn uniformly from
/// (0, 1), no two of them equal; the values are drawn uniformly from [0, 1), and the last is 0.
///
/// # Errors
/// If `points` is 0, or so large that the type has hardly as many numbers below 1 (above 2^22 in `f32`), or if
/// there is not enough memory.
pub fn uniform<T: PcfReal>(count: usize, points: usize, seed: u64) -> Result<PcfSet<T>, PcfError> {
    check::<T>(points)?;
    draw(lengths(count, points, || points)?, seed)
}

/// As [`uniform`], with numbers of breakpoints from 1 to `max` whose logarithms are uniform: where `max` is 1,000, a
/// third of the functions have fewer than 10.
pub fn uneven<T: PcfReal>(count: usize, max: usize, seed: u64) -> Result<PcfSet<T>, PcfError> {
    check::<T>(max)?;
    // Lengths are of a stream beyond those of all functions.
    let mut random = stream(seed, u64::MAX);
    let length = || ((max as f64 + 1.0).powf(unit::<f64>(&mut random)) as usize).clamp(1, max);
    draw(lengths(count, max, length)?, seed)
}

/// This many lengths, of functions with at most `max` breakpoints.
fn lengths(count: usize, max: usize, length: impl FnMut() -> usize) -> Result<Vec<usize>, PcfError> {
    let mut lengths = Vec::new();
    let no_memory = |_| PcfError::OutOfMemory { functions: count, points: count.saturating_mul(max) };
    lengths.try_reserve_exact(count).map_err(no_memory)?;
    lengths.extend(std::iter::repeat_with(length).take(count));
    Ok(lengths)
}

fn check<T: PcfReal>(points: usize) -> Result<(), PcfError> {
    // A quarter of the 2^24 numbers of 24 bits is found soon; f64 has more than any memory holds.
    let max = if T::UNIT_ROUNDOFF > 1e-9 { 1 << 22 } else { u32::MAX as usize };
    if (1..=max).contains(&points) { Ok(()) } else { Err(PcfError::RandomLength { points, max, name: T::NAME }) }
}

fn draw<T: PcfReal>(lengths: Vec<usize>, seed: u64) -> Result<PcfSet<T>, PcfError> {
    let functions = lengths.len();
    let total = lengths.iter().try_fold(0usize, |total, &length| total.checked_add(length)).unwrap_or(usize::MAX);
    let no_memory = |_| PcfError::OutOfMemory { functions, points: total };
    let mut points: Vec<Point<T>> = bytemuck::allocation::try_zeroed_vec(total).map_err(no_memory)?;
    let mut offsets = Vec::with_capacity(functions + 1);
    offsets.push(0);
    lengths.iter().for_each(|length| offsets.push(offsets[offsets.len() - 1] + length));
    divided(&offsets, &mut points)
        .into_par_iter()
        .enumerate()
        .for_each(|(function, part)| T::draw(part, &mut stream(seed, function as u64)));
    PcfSet::from_parts(offsets, points)
}

/// Draws one function.
pub(super) fn fill<T: PcfReal>(points: &mut [Point<T>], random: &mut ChaCha8Rng) {
    let mut times = vec![T::ZERO];
    while times.len() < points.len() {
        let missing = points.len() - times.len();
        times.extend((0..missing).map(|_| unit::<T>(random)));
        // Times are no NaNs, so that they can be compared.
        times.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
        times.dedup();
    }
    for (point, t) in points.iter_mut().zip(times) {
        *point = Point::new(t, unit(random));
    }
    if let Some(last) = points.last_mut() {
        last.v = T::ZERO;
    }
}

fn stream(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(stream);
    random
}

/// A number from [0, 1): a multiple of the type's spacing below 1.
fn unit<T: PcfReal>(random: &mut ChaCha8Rng) -> T {
    // 24 bits of single precision, 53 of double; they fit in any case.
    let bits = if size_of::<T>() == 4 { 24 } else { 53 };
    T::from_f64((random.next_u64() >> (64 - bits)) as f64 * T::UNIT_ROUNDOFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_as_promised() {
        let set = uniform::<f32>(20, 50, 7).unwrap();
        assert_eq!((set.len(), set.points().len()), (20, 1000));
        for f in set.iter() {
            assert!(f.max_time() < 1.0 && f.tail() == 0.0);
            assert!(f.points().iter().all(|point| (0.0..1.0).contains(&point.v)));
        }
        assert_eq!(set, uniform(20, 50, 7).unwrap());
        assert_ne!(set, uniform(20, 50, 8).unwrap());
        assert_ne!(set.get(0), set.get(1));
        let mean = set.points().iter().map(|point| f64::from(point.t)).sum::<f64>() / 1000.0;
        assert!((mean - 0.49).abs() < 0.03, "{mean}");
        assert_eq!(uniform::<f64>(2, 1, 0).unwrap().get(1).points(), [Point::new(0.0, 0.0)]);
        assert!(uniform::<f64>(0, 5, 0).unwrap().is_empty());
    }

    #[test]
    fn crowded_times_differ() {
        // Enough of the 2^24 numbers that some thousand are drawn twice.
        let set = uniform::<f32>(1, 200_000, 3).unwrap();
        assert!(set.get(0).points().windows(2).all(|pair| pair[0].t < pair[1].t));
    }

    #[test]
    fn log_uniform_lengths() {
        let set = uneven::<f64>(3000, 1000, 1).unwrap();
        let mut lengths: Vec<usize> = set.lengths().collect();
        lengths.sort_unstable();
        assert!(lengths[0] == 1 && lengths[2999] <= 1000);
        // P(length < m) = ln m / ln 1001
        for (m, share) in [(10, 1.0 / 3.0), (100, 2.0 / 3.0)] {
            let found = lengths.iter().filter(|&&length| length < m).count() as f64 / 3000.0;
            assert!((found - share).abs() < 0.04, "{found}");
        }
    }

    #[test]
    fn lengths_out_of_range() {
        assert!(matches!(uniform::<f32>(1, 0, 0), Err(PcfError::RandomLength { points: 0, .. })));
        assert!(matches!(uneven::<f32>(1, 5_000_000, 0), Err(PcfError::RandomLength { max: 4_194_304, name: "float32", .. })));
        for (count, points) in [(1 << 60, 1), (1 << 20, 1 << 31)] {
            assert!(matches!(uniform::<f64>(count, points, 0), Err(PcfError::OutOfMemory { .. })));
        }
    }
}
