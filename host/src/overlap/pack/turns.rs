//! The angles that copies may have.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use crate::overlap::random::Random;

/// By how much copies may be turned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Turns {
    /// Not at all.
    None,
    /// By half a turn.
    Half,
    /// By quarters of a turn.
    Quarters,
    /// By any angle.
    #[default]
    Any,
}

/// Angles that are farther than this from an allowed one are other angles (radians).
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

    /// Whether half a turn is allowed.
    pub fn halves(self) -> bool {
        self != Turns::None
    }

    /// An angle at random.
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

    /// Whether an angle is allowed, but for rounding.
    pub(super) fn allow(self, theta: f64) -> bool {
        let off = theta - self.nearest(theta);
        (off - TAU * (off / TAU).round()).abs() <= SAME
    }
}
