//! Straight lines.

use serde::Serialize;

/// The straight line through points of least squares.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// The value at 0.
    pub a: f64,
    /// The slope.
    pub b: f64,
    /// The share of the variance that the line explains.
    pub r2: f64,
}

impl Fit {
    /// Through at least two points of different x; none otherwise.
    pub fn linear(points: &[(f64, f64)]) -> Option<Self> {
        let n = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|point| of(point.0 - x, point.1 - y)).sum::<f64>();
        let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
        if xx.is_nan() || xx == 0.0 {
            return None;
        }
        let b = xy / xx;
        let r2 = if yy > 0.0 { xy * xy / (xx * yy) } else { 1.0 };
        Some(Fit { a: y - b * x, b, r2 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let fit = Fit::linear(&[(1.0, 3.0), (2.0, 5.0), (4.0, 9.0)]).unwrap();
        assert!((fit.a - 1.0).abs() < 1e-12 && (fit.b - 2.0).abs() < 1e-12 && (fit.r2 - 1.0).abs() < 1e-12, "{fit:?}");
        assert_eq!(Fit::linear(&[(1.0, 3.0)]), None);
        let flat = Fit::linear(&[(1.0, 3.0), (2.0, 3.0)]).unwrap();
        assert_eq!((flat.a, flat.b, flat.r2), (3.0, 0.0, 1.0));
        assert!(Fit::linear(&[(0.0, 0.0), (1.0, 1.0), (2.0, 0.0)]).unwrap().r2 < 1e-12);
    }
}
