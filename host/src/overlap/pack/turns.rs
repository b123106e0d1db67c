//! The angles that copies may have.

use std::{
    borrow::Cow,
    f64::consts::{FRAC_PI_2, PI, TAU},
    str::FromStr,
};

use gpu_kernels::overlap::fields::MIRRORED;

use super::PackError;
use crate::overlap::{Shape, convex::distance, random::Random};

/// Largest number of angles of a set.
pub const MOST_ANGLES: usize = 3600;
/// Largest number of a hull's edges that are turned upright.
const MOST_EDGES: usize = 720;
/// Largest number of directions in which a shape grows exactly. Each adds a vertex to its pieces.
const MOST_DIRECTIONS: usize = 24;
/// Tolerance for allowed angles (radians).
const SAME: f64 = 1e-9;

/// The allowed angles of a shape's copies: any, or those of a set; and whether copies may be mirrored.
///
/// As text, and in degrees: `any`; `none`, which is 0 alone; a number that divides 360, for its multiples; or a list such as
/// `0,45,180` for these angles alone. `45,` is a list, too.
///
/// ```
/// use warpsmith::overlap::pack::Turns;
///
/// assert_eq!("90".parse(), Ok(Turns::QUARTERS));
/// assert_eq!(Turns::of([360.0, 180.0, 0.0]), Ok(Turns::HALVES));
/// assert!("7".parse::<Turns>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Turns {
    angles: Option<Cow<'static, [f64]>>,
    mirrors: bool,
}

impl Default for Turns {
    fn default() -> Self {
        Turns::ANY
    }
}

impl Turns {
    /// Any angle.
    pub const ANY: Self = Turns { angles: None, mirrors: false };
    /// Only 0.
    pub const NONE: Self = Turns::set(&[0.0]);
    /// Multiples of half a turn.
    pub const HALVES: Self = Turns::set(&[0.0, PI]);
    /// Multiples of a quarter turn.
    pub const QUARTERS: Self = Turns::set(&[0.0, FRAC_PI_2, PI, -FRAC_PI_2]);

    const fn set(angles: &'static [f64]) -> Self {
        Turns { angles: Some(Cow::Borrowed(angles)), mirrors: false }
    }

    /// A set of angles in degrees. Angles that differ by whole turns are the same.
    ///
    /// # Errors
    /// [`PackError::Turns`] if the list is empty, an angle is not finite, or more than [`MOST_ANGLES`] differ.
    pub fn of(degrees: impl IntoIterator<Item = f64>) -> Result<Self, PackError> {
        let mut angles: Vec<f64> = degrees.into_iter().collect();
        if let Some(angle) = angles.iter().find(|angle| !angle.is_finite()) {
            return wrong(format!("an angle is {angle}, but it must be finite"));
        }
        let same = SAME.to_degrees();
        for angle in &mut angles {
            let reduced = angle.rem_euclid(360.0);
            *angle = if reduced > 360.0 - same { 0.0 } else { reduced };
        }
        angles.sort_by(f64::total_cmp);
        angles.dedup_by(|angle, last| *angle - *last <= same);
        match angles.len() {
            0 => wrong("there must be at least one angle"),
            1..=MOST_ANGLES => {
                let radians = |degrees: f64| PI * ((if degrees > 180.0 { degrees - 360.0 } else { degrees }) / 180.0);
                Ok(Turns { angles: Some(angles.into_iter().map(radians).collect()), mirrors: false })
            }
            count => wrong(format!("{count} angles are too many: at most {MOST_ANGLES}")),
        }
    }

    /// The same angles, of copies that may be mirrored if `mirrors`. The mirror image is turned by them.
    pub fn mirroring(self, mirrors: bool) -> Self {
        Turns { mirrors, ..self }
    }

    /// Returns true if copies may be mirrored.
    pub fn mirrors(&self) -> bool {
        self.mirrors
    }

    /// The allowed angles from -π to π, unless all are.
    pub fn angles(&self) -> Option<&[f64]> {
        self.angles.as_deref()
    }

    /// Returns true if all angles are allowed.
    pub fn is_any(&self) -> bool {
        self.angles.is_none()
    }

    /// The same angles, turned by another one.
    pub(in crate::overlap) fn turned(&self, by: f64) -> Self {
        let angles = self.angles().map(|angles| angles.iter().map(|angle| reduced(angle + by)).collect());
        Turns { angles, ..*self }
    }

    /// Checks that there are turns for all shapes, or for each.
    pub(in crate::overlap) fn check(turns: &[Turns], shapes: usize) -> Result<(), PackError> {
        match turns.len() {
            1 => Ok(()),
            count if count == shapes => Ok(()),
            turns => Err(PackError::TurnsOfShapes { turns, shapes }),
        }
    }

    /// Returns the allowed angles. If all are, those that turn an edge of the shape's hull upright; of many edges, the longest.
    pub(in crate::overlap) fn of_hull(&self, shape: &Shape) -> Vec<f64> {
        self.angles().map_or_else(
            || {
                let next = shape.hull().iter().cycle().skip(1);
                let mut edges: Vec<_> = shape.hull().iter().zip(next).collect();
                if edges.len() > MOST_EDGES {
                    edges.sort_by(|(a, b), (c, d)| distance(**c, **d).total_cmp(&distance(**a, **b)));
                    edges.truncate(MOST_EDGES);
                }
                edges.into_iter().map(|(from, to)| FRAC_PI_2 - (to[1] - from[1]).atan2(to[0] - from[0])).collect()
            },
            <[f64]>::to_vec,
        )
    }

    /// Returns the directions of a shape, or of its mirror image, that are level or upright at an angle of the set. Empty if all
    /// angles are allowed, and if there would be more than [`MOST_DIRECTIONS`].
    pub(in crate::overlap) fn level_or_upright(&self) -> Vec<f64> {
        let angles = self.angles().unwrap_or_default().iter();
        let all = angles.flat_map(|&angle| if self.mirrors { vec![-angle, angle] } else { vec![-angle] });
        let mut distinct: Vec<f64> = all.map(|angle| angle.rem_euclid(FRAC_PI_2)).collect();
        distinct.sort_by(f64::total_cmp);
        distinct.dedup_by(|next, last| *next - *last < SAME);
        if 4 * distinct.len() > MOST_DIRECTIONS {
            return Vec::new();
        }
        distinct.into_iter().flat_map(|angle| (0..4).map(move |quarter| angle + f64::from(quarter) * FRAC_PI_2)).collect()
    }

    /// The allowed angles of a set whose opposites are allowed, too.
    pub(super) fn opposed(&self) -> Vec<f64> {
        self.angles().unwrap_or_default().iter().copied().filter(|angle| self.allow(angle + PI)).collect()
    }

    /// Returns true if the opposites of all allowed angles are allowed.
    pub(super) fn halves(&self) -> bool {
        self.angles().is_none_or(|angles| self.opposed().len() == angles.len())
    }

    /// A random allowed angle, [flagged](flagged) in half of the cases if copies may be mirrored.
    pub(super) fn some(&self, random: &mut Random) -> f64 {
        let angle = match self.angles() {
            Some(angles) => angles[random.below(angles.len())],
            None => random.between(-PI, PI),
        };
        flagged(angle, self.mirrors && random.unit() < 0.5)
    }

    /// The nearest angle of a set; if all angles are allowed, the angle as it is. Flagged if it was and may be.
    pub(in crate::overlap) fn nearest(&self, theta: f64) -> f64 {
        let (theta, mirrored) = unflagged(theta);
        let off = |angle: f64| reduced(theta - angle).abs();
        let angles = self.angles().unwrap_or_default().iter().copied();
        let nearest = angles.min_by(|&a, &b| off(a).total_cmp(&off(b))).unwrap_or(theta);
        flagged(nearest, mirrored && self.mirrors)
    }

    /// Returns true if an angle is allowed, up to rounding.
    pub(in crate::overlap) fn allow(&self, theta: f64) -> bool {
        let nearest = self.nearest(theta);
        reduced(theta - nearest).abs() <= SAME && unflagged(theta).1 == unflagged(nearest).1
    }
}

/// Returns the angle of a copy during a search, which tells whether it is mirrored.
pub(super) fn flagged(angle: f64, mirrored: bool) -> f64 {
    if mirrored { angle + MIRRORED } else { angle }
}

/// Returns the angle of a copy, and whether it is mirrored. The difference is exact.
pub(super) fn unflagged(angle: f64) -> (f64, bool) {
    let mirrored = angle > 0.5 * MIRRORED;
    (if mirrored { angle - MIRRORED } else { angle }, mirrored)
}

/// The same angle from -π to π, flagged if it was.
pub(super) fn unwound(angle: f64) -> f64 {
    let (angle, mirrored) = unflagged(angle);
    flagged(reduced(angle), mirrored)
}

/// The same angle from -π to π.
pub(super) fn reduced(angle: f64) -> f64 {
    angle - TAU * (angle / TAU).round()
}

fn wrong<T>(reason: impl Into<String>) -> Result<T, PackError> {
    Err(PackError::Turns { reason: reason.into() })
}

impl FromStr for Turns {
    type Err = PackError;

    fn from_str(text: &str) -> Result<Self, PackError> {
        let text = text.trim();
        match text.to_ascii_lowercase().as_str() {
            "any" => return Ok(Turns::ANY),
            "none" => return Ok(Turns::NONE),
            _ => {}
        }
        let number = |text: &str| match text.trim().parse::<f64>() {
            Ok(angle) => Ok(angle),
            Err(_) => wrong(format!(
                "`{text}` is not an angle: write any, none, a number of degrees that divides 360, or a list such as 0,45,180"
            )),
        };
        if text.contains(',') {
            let list = text.strip_suffix(',').unwrap_or(text);
            return Turns::of(list.split(',').map(number).collect::<Result<Vec<_>, _>>()?);
        }
        let step = number(text)?;
        if step == 0.0 || !step.is_finite() {
            return Turns::of([step]);
        }
        let count = (360.0 / step).round();
        if !(step > 0.0 && count >= 1.0 && (count * step - 360.0).abs() <= 360.0 * SAME) {
            return wrong(format!("{step} does not divide 360: for these angles alone, write a list such as 0,{step}"));
        }
        if count > MOST_ANGLES as f64 {
            return wrong(format!("{count} angles are too many: at most {MOST_ANGLES}"));
        }
        Turns::of((0..count as usize).map(|multiple| 360.0 * multiple as f64 / count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_angles() {
        let degrees = |text: &str| -> Vec<f64> {
            let turns: Turns = text.parse().expect("angles");
            turns.angles().expect("a set").iter().map(|angle| (angle.to_degrees() * 1e6).round() / 1e6).collect()
        };
        assert_eq!(" ANY ".parse(), Ok(Turns::ANY));
        for (text, turns) in [("none", Turns::NONE), ("360", Turns::NONE), ("0", Turns::NONE), ("90", Turns::QUARTERS)] {
            assert_eq!(text.parse(), Ok(turns), "{text}");
        }
        assert_eq!(degrees("60"), [0.0, 60.0, 120.0, 180.0, -120.0, -60.0]);
        assert_eq!(degrees("180, 45,0"), [0.0, 45.0, 180.0]);
        assert_eq!(degrees("-90,720,270,359.9999999999"), [0.0, -90.0]);
        assert_eq!((degrees("45,"), degrees("7.2").len(), degrees("0.1").len()), (vec![45.0], 50, MOST_ANGLES));
        for (text, reason) in [
            ("", "`` is not an angle: write any, none"),
            ("0,x", "`x` is not an angle"),
            ("0,,1", "`` is not an angle"),
            ("7", "7 does not divide 360: for these angles alone, write a list such as 0,7"),
            ("-90", "-90 does not divide 360"),
            ("720", "720 does not divide 360"),
            ("inf", "an angle is inf, but it must be finite"),
            ("0,nan", "an angle is NaN, but it must be finite"),
            ("0.05", "7200 angles are too many: at most 3600"),
        ] {
            let error = text.parse::<Turns>().expect_err(text).to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
        let many = |count: usize| Turns::of((0..count).map(|angle| 0.01 * angle as f64));
        assert!(many(MOST_ANGLES).is_ok() && many(MOST_ANGLES + 1).is_err() && Turns::of([]).is_err());
    }

    #[test]
    fn nearest_and_opposite_angles() {
        let turns: Turns = "0,45,180".parse().expect("angles");
        assert_eq!([-0.1, 0.7, 3.0, -3.0, 7.0].map(|theta| turns.nearest(theta)), [0.0, 0.25 * PI, PI, PI, 0.25 * PI]);
        assert!(turns.allow(45f64.to_radians() + TAU) && !turns.allow(45f64.to_radians() + 2e-9) && !turns.allow(-0.25 * PI));
        assert_eq!(turns.opposed(), [0.0, PI]);
        let halves =
            ["any", "none", "180", "120", "0,45,180", "0,45,180,225"].map(|text| text.parse::<Turns>().unwrap().halves());
        assert_eq!(halves, [true, false, true, false, false, true]);
    }
}
