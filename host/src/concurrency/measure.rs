//! Times with their spread over several runs.

use std::time::Instant;

use serde::Serialize;

use crate::{
    common::Cancel,
    device::{DeviceError, Stream},
};

use super::ConcurrencyError;

/// Target length of one measurement in milliseconds, as far as the iterations asked for allow. It
/// is long because events are exact to half a microsecond and a launch's own start shouldn't count.
const BUSY_MS: f64 = 10.0;

/// The times of several runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Median; the larger of the two middle values for an even number of runs.
    pub median: f64,
    /// Minimum.
    pub min: f64,
    /// Maximum.
    pub max: f64,
}

impl Spread {
    /// Returns the spread of `values`, or zeros if there are no values.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        match values.as_slice() {
            [] => Spread::default(),
            [min, .., max] => Spread { median: values[values.len() / 2], min: *min, max: *max },
            [only] => Spread { median: *only, min: *only, max: *only },
        }
    }

    /// Converts to other units.
    pub fn map(self, convert: impl Fn(f64) -> f64) -> Self {
        Spread::of([self.median, self.min, self.max].map(convert).to_vec())
    }
}

/// Something to measure, once.
pub(super) type Piece<'a> = Box<dyn FnMut(&Stream) -> Result<(), ConcurrencyError> + 'a>;

/// Measures each of `pieces` on the device, in milliseconds: `runs` measurements in turns, each of
/// at most `iterations` in a row.
pub(super) fn in_turns(
    stream: &Stream,
    cancel: &Cancel,
    runs: usize,
    iterations: usize,
    pieces: &mut [Piece<'_>],
) -> Result<Vec<Spread>, ConcurrencyError> {
    // The first run warms up, and the second tells the number of repetitions.
    let mut repetitions = Vec::new();
    for piece in &mut *pieces {
        cancel.check()?;
        piece(stream)?;
        let ms = stream.time(|stream| piece(stream))?;
        repetitions.push(((BUSY_MS / ms.max(1e-6)).ceil() as usize).clamp(1, iterations));
    }
    let mut times = vec![Vec::new(); pieces.len()];
    for _ in 0..runs {
        for ((piece, &repetitions), times) in pieces.iter_mut().zip(&repetitions).zip(&mut times) {
            cancel.check()?;
            let ms = stream.time(|stream| (0..repetitions).try_for_each(|_| piece(stream)))?;
            times.push(ms / repetitions as f64);
        }
    }
    Ok(times.into_iter().map(Spread::of).collect())
}

/// Measures `work`, which includes waiting, by the host's clock in milliseconds: `runs` runs after
/// one to warm up.
pub(super) fn on_the_host(
    cancel: &Cancel,
    runs: usize,
    mut work: impl FnMut() -> Result<(), DeviceError>,
) -> Result<Spread, ConcurrencyError> {
    work()?;
    let mut times = Vec::new();
    for _ in 0..runs {
        cancel.check()?;
        let start = Instant::now();
        work()?;
        times.push(1e3 * start.elapsed().as_secs_f64());
    }
    Ok(Spread::of(times))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads() {
        let spread = Spread::of(vec![3.0, 1.0, 2.0]);
        assert_eq!(spread, Spread { median: 2.0, min: 1.0, max: 3.0 });
        assert_eq!(Spread::of(vec![5.0]), Spread { median: 5.0, min: 5.0, max: 5.0 });
        assert_eq!(spread.map(|ms| 6.0 / ms), Spread { median: 3.0, min: 2.0, max: 6.0 });
    }
}
