//! Functions made of others, and their values.

use rayon::prelude::*;

use super::{PcfError, PcfReal, PcfSet, Point, scalar::intervals, set::divided};
use crate::engine::{EngineError, dense_len, zeroed_vec};

/// Fewer functions than this are not divided among threads.
const TOGETHER: usize = 16;

impl<T: PcfReal> PcfSet<T> {
    /// Combines this set's function i with `other`'s function j, for each pair (i, j), by applying
    /// `value` to their values at every time. The result has breakpoints only where it changes.
    ///
    /// # Errors
    /// If such a value is not finite, or above [`PcfReal::MAX_VALUE`]. Functions are named by the
    /// indices of their pairs. And if there is not enough memory.
    ///
    /// # Panics
    /// If an index is out of range.
    ///
    /// ```
    /// use warpsmith::pcf::{Pcf, PcfSet};
    ///
    /// let f = PcfSet::from_functions([Pcf::new([(0.0, 3.0), (1.0, 1.0), (3.0, 0.0)])?]);
    /// let g = PcfSet::from_functions([Pcf::new([(0.0, 2.0), (2.0, 0.0)])?, Pcf::constant(1.0)?]);
    /// let products = f.combine(&g, &[(0, 0), (0, 1)], |f, g| f * g)?;
    /// assert_eq!(products.get(0).to_pcf(), Pcf::new([(0.0, 6.0), (1.0, 2.0), (2.0, 0.0)])?);
    /// assert_eq!(products.get(1), f.get(0));
    /// # Ok::<(), warpsmith::pcf::PcfError>(())
    /// ```
    pub fn combine(&self, other: &Self, pairs: &[(usize, usize)], value: impl Fn(T, T) -> T + Sync) -> Result<Self, PcfError> {
        let changes = |&(i, j): &(usize, usize)| {
            let (value, mut last) = (&value, None);
            intervals(self.get(i), other.get(j)).filter_map(move |interval| {
                let [f, g] = interval.values;
                let v = value(f, g);
                (last.replace(v) != Some(v)).then(|| Point::new(interval.start, v))
            })
        };
        // They are counted first, so that memory is asked for once.
        let pairs = || pairs.par_iter().with_min_len(TOGETHER);
        let mut offsets: Vec<usize> = [0].into_par_iter().chain(pairs().map(|pair| changes(pair).count())).collect();
        (1..offsets.len()).for_each(|at| offsets[at] += offsets[at - 1]);
        let (functions, total) = (offsets.len() - 1, offsets[offsets.len() - 1]);
        let mut points = zeroed_vec(total).map_err(|_| PcfError::OutOfMemory { functions, points: total })?;
        let room = pairs().zip(divided(&offsets, &mut points));
        room.for_each(|(pair, room)| room.iter_mut().zip(changes(pair)).for_each(|(point, change)| *point = change));
        PcfSet::from_parts(offsets, points)
    }

    /// The values of all functions at these times, one function after the other; before time 0 those of time 0.
    /// Functions in `f32` are evaluated at the very times, not at rounded ones.
    ///
    /// # Errors
    /// [`EngineError::TooLarge`] and [`EngineError::OutOfMemory`].
    pub fn values_at(&self, times: &[f64]) -> Result<Vec<T>, EngineError> {
        let mut values = zeroed_vec(dense_len(self.len(), times.len())?)?;
        if !times.is_empty() {
            let rows = values.par_chunks_exact_mut(times.len()).enumerate().with_min_len(TOGETHER);
            rows.for_each(|(function, values)| {
                let points = self.get(function).points();
                for (value, &t) in values.iter_mut().zip(times) {
                    let after = points.partition_point(|point| point.t.to_f64() <= t);
                    *value = points[after.saturating_sub(1)].v;
                }
            });
        }
        Ok(values)
    }
}
