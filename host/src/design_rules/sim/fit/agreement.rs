//! How well simulated times agree with measured ones.

use serde::Serialize;

/// How well simulated times agree with measured ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Agreement {
    /// How many times there are.
    pub runs: usize,
    /// The root of the mean square of `ln(simulated / measured)`: 0.01 is about 1 %.
    pub rms: f64,
    /// The mean of `ln(simulated / measured)`: by how much all are off together.
    pub bias: f64,
    /// The standard deviation of `ln(simulated / measured)`: the root mean square with the common factor taken out.
    pub deviation: f64,
    /// Spearman's rank correlation, 1 where both put all in the same order; 0 where one of them doesn't tell any apart.
    pub spearman: f64,
    /// The slowest over the fastest, measured.
    pub measured_ratio: f64,
    /// The slowest over the fastest, simulated.
    pub simulated_ratio: f64,
}

impl Agreement {
    /// Of times in seconds, all positive, as many of the one kind as of the other, and at least one.
    ///
    /// # Panics
    /// Where there are none, or not as many.
    pub fn of(simulated: &[f64], measured: &[f64]) -> Self {
        assert_eq!(simulated.len(), measured.len());
        assert!(!measured.is_empty());
        let off: Vec<f64> = simulated.iter().zip(measured).map(|(simulated, measured)| (simulated / measured).ln()).collect();
        let mean = |of: &dyn Fn(f64) -> f64| off.iter().map(|&off| of(off)).sum::<f64>() / off.len() as f64;
        let bias = mean(&|off| off);
        Agreement {
            runs: measured.len(),
            rms: mean(&|off| off * off).sqrt(),
            bias,
            deviation: mean(&|off| (off - bias).powi(2)).sqrt(),
            spearman: correlation(&ranks(simulated), &ranks(measured)),
            measured_ratio: ratio(measured),
            simulated_ratio: ratio(simulated),
        }
    }
}

fn ratio(times: &[f64]) -> f64 {
    let (least, most) = times.iter().fold((f64::INFINITY, 0.0f64), |(least, most), &time| (least.min(time), most.max(time)));
    most / least
}

/// The rank of each value; equal ones have the mean of theirs. Simulated times that differ by rounding alone are equal.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for group in order.chunk_by(|&a, &b| values[b] - values[a] <= 1e-12 * values[b]) {
        let mean = first as f64 + (group.len() - 1) as f64 / 2.0;
        group.iter().for_each(|&place| ranks[place] = mean);
        first += group.len();
    }
    ranks
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let sum = |x: &[f64], mean_x: f64, y: &[f64], mean_y: f64| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum()
    };
    let product = sum(a, mean_a, a, mean_a) * sum(b, mean_b, b, mean_b);
    if product > 0.0 { sum(a, mean_a, b, mean_b) / product.sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreement_by_hand() {
        let e = std::f64::consts::E;
        let found = Agreement::of(&[e, 1.0, 2.0 * e], &[1.0, 1.0, 2.0]);
        assert!((found.rms - (2f64 / 3.0).sqrt()).abs() < 1e-12 && (found.bias - 2.0 / 3.0).abs() < 1e-12, "{found:?}");
        assert!((found.deviation - (2f64 / 9.0).sqrt()).abs() < 1e-12, "{found:?}");
        assert_eq!((found.runs, found.measured_ratio, found.simulated_ratio), (3, 2.0, 2.0 * e));
        // Ranks 1, 0, 2 and 0.5, 0.5, 2.
        assert!((found.spearman - 1.5 / (2.0f64 * 1.5).sqrt()).abs() < 1e-12, "{found:?}");
        assert_eq!(Agreement::of(&[3.0, 2.0, 1.0], &[1.0, 5.0, 7.0]).spearman, -1.0);
        assert_eq!(Agreement::of(&[3.0, 3.0], &[1.0, 5.0]).spearman, 0.0);
    }
}
