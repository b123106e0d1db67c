//! The angles that copies may have.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use crate::overlap::{Shape, convex::hull, random::Random};

/// The allowed angles of copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Turns {
    /// Only 0.
    None,
    /// Multiples of a quarter turn.
    #[cfg_attr(feature = "clap", value(name = "90"))]
    Quarters,
    /// Multiples of half a turn.
    #[cfg_attr(feature = "clap", value(name = "180"))]
    Half,
    /// Any angle.
    #[default]
    Any,
}

/// Tolerance for allowed angles (radians).
const SAME: f64 = 1e-9;

impl Turns {
    /// The allowed angles, unless all are.
    pub fn angles(self) -> Option<&'static [f64]> {
        match self {
            Turns::None => Some(&[0.0]),
            Turns::Half => Some(&[0.0, PI]),
            Turns::Quarters => Some(&[0.0, FRAC_PI_2, PI, -FRAC_PI_2]),
            Turns::Any => None,
        }
    }

    /// Returns the allowed angles. If all are, those that turn an edge of the shape's hull upright.
    pub(in crate::overlap) fn of_hull(self, shape: &Shape) -> Vec<f64> {
        self.angles().map_or_else(
            || {
                let ring = hull(shape.outlines().iter().flatten().copied().collect());
                let edges = ring.iter().zip(ring.iter().cycle().skip(1));
                edges.map(|(from, to)| FRAC_PI_2 - (to[1] - from[1]).atan2(to[0] - from[0])).collect()
            },
            <[f64]>::to_vec,
        )
    }

    /// Returns true if half a turn is allowed.
    pub fn halves(self) -> bool {
        self != Turns::None
    }

    /// A random allowed angle.
    pub(super) fn some(self, random: &mut Random) -> f64 {
        match self.angles() {
            Some(angles) => angles[random.below(angles.len())],
            None => random.between(-PI, PI),
        }
    }

    /// The nearest allowed angle, from -π to π.
    pub(super) fn nearest(self, theta: f64) -> f64 {
        let reduced = |angle: f64| angle - TAU * (angle / TAU).round();
        let Some(angles) = self.angles() else { return reduced(theta) };
        let off = |angle: f64| reduced(theta - angle).abs();
        angles.iter().copied().min_by(|&a, &b| off(a).total_cmp(&off(b))).unwrap_or(0.0)
    }

    /// Returns true if an angle is allowed, up to rounding.
    pub(super) fn allow(self, theta: f64) -> bool {
        let off = theta - self.nearest(theta);
        (off - TAU * (off / TAU).round()).abs() <= SAME
    }
}
