//! Functions made of breakpoints that aren't valid yet.

use std::cmp::Ordering;

use super::{
    Field, PcfError, PcfReal, PcfSet, Point,
    set::{check_number, check_offsets},
};

/// Repairs by [`PcfSet::repaired`]: numbers of functions. A function may count several times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Repairs {
    /// Functions without breakpoints, which are zero now.
    pub empty: usize,
    /// Functions whose breakpoints were brought into order.
    pub sorted: usize,
    /// Functions that were shifted so as to start at 0.
    pub shifted: usize,
    /// Functions whose breakpoints at the same time were merged.
    pub merged: usize,
}

impl<T: PcfReal> PcfSet<T> {
    /// The functions that these breakpoints must have been meant for, as [`from_parts`](Self::from_parts) takes them:
    /// those of a function are put in order, all its times are shifted by that of the first, and of several at the same
    /// time the last is kept, as given. A function without breakpoints becomes zero. Functions that are right stay as
    /// they are.
    ///
    /// # Errors
    /// If the offsets don't divide the points, or a number is not finite or too large: these can't be repaired.
    pub fn repaired(offsets: Vec<usize>, points: Vec<Point<T>>) -> Result<(Self, Repairs), PcfError> {
        check_offsets(&offsets, (points.len(), "points"), true)?;
        let mut repairs = Repairs::default();
        let (mut fixed, mut ends) = (Vec::with_capacity(points.len()), Vec::with_capacity(offsets.len()));
        ends.push(0);
        for (function, range) in offsets.windows(2).enumerate() {
            let start = fixed.len();
            fixed.extend_from_slice(&points[range[0]..range[1]]);
            if fixed.len() == start {
                repairs.empty += 1;
                fixed.push(Point::new(T::ZERO, T::ZERO));
            }
            repair(function, &mut fixed, start, &mut repairs)?;
            ends.push(fixed.len());
        }
        Ok((PcfSet::from_parts(ends, fixed)?, repairs))
    }
}

/// Repairs the function of the breakpoints from `start` on.
fn repair<T: PcfReal>(function: usize, all: &mut Vec<Point<T>>, start: usize, repairs: &mut Repairs) -> Result<(), PcfError> {
    let points = &mut all[start..];
    for (breakpoint, point) in points.iter().enumerate() {
        check_number(function, breakpoint, Field::Time, point.t)?;
        check_number(function, breakpoint, Field::Value, point.v)?;
    }
    if points.windows(2).any(|pair| pair[1].t < pair[0].t) {
        repairs.sorted += 1;
        // Those at the same time stay in their order.
        points.sort_by(|a, b| a.t.partial_cmp(&b.t).unwrap_or(Ordering::Equal));
    }
    let first = points[0].t;
    if first != T::ZERO {
        repairs.shifted += 1;
        points.iter_mut().for_each(|point| point.t = point.t - first);
    }
    let before = all.len();
    let mut kept = start;
    for index in start + 1..before {
        if all[index].t != all[kept].t {
            kept += 1;
        }
        all[kept] = all[index];
    }
    all.truncate(kept + 1);
    repairs.merged += usize::from(all.len() < before);
    Ok(())
}
