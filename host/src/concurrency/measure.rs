//! Times, and how much they vary.

use std::time::Instant;

use serde::Serialize;

use crate::{
    common::Cancel,
    device::{DeviceError, Stream},
};

use super::ConcurrencyError;

/// How long a device is kept busy for one measurement, in milliseconds, if the iterations asked for suffice: events are
/// exact to half a microsecond, and a launch's own start is not to count.
const BUSY_MS: f64 = 10.0;

/// The times of several runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// The one in the middle; of an even number of runs the larger of the two.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// Of `values`, of which there is at least one.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        match values.as_slice() {
            [] => Spread::default(),
            [min, .., max] => Spread { median: values[values.len() / 2], min: *min, max: *max },
            [only] => Spread { median: *only, min: *only, max: *only },
        }
    }

    /// The same in other units.
    pub fn map(self, convert: impl Fn(f64) -> f64) -> Self {
        Spread::of([self.median, self.min, self.max].map(convert).to_vec())
    }
}

/// Something to measure, once.
pub(super) type Piece<'a> = Box<dyn FnMut(&Stream) -> Result<(), ConcurrencyError> + 'a>;

/// The device's times for each of `pieces`, in milliseconds: medians of `runs`, taken in turns, of at most `iterations`
/// in a row.
pub(super) fn in_turns(
    stream: &Stream,
    cancel: &Cancel,
    runs: usize,
    iterations: usize,
    pieces: &mut [Piece<'_>],
) -> Result<Vec<Spread>, ConcurrencyError> {
    // The first warms up, the second says how long it takes.
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

/// The host's time for `work` and for waiting for it, in milliseconds: the median of `runs` after one to warm up.
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
