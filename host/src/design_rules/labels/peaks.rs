//! Peaks of a sequence and their prominences, as SciPy's `find_peaks` and `peak_prominences` define them.

/// The places of the values that are greater than their neighbours, ascending. Of equal values between lower ones it is
/// the middle, rounded down. The first and the last value don't count.
pub fn local_maxima(values: &[f64]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut start = 1;
    while start + 1 < values.len() {
        let mut end = start + 1;
        if values[start - 1] < values[start] {
            while end + 1 < values.len() && values[end] == values[start] {
                end += 1;
            }
            if values[end] < values[start] {
                found.push((start + end - 1) / 2);
            }
        }
        start = end;
    }
    found
}

/// How far peaks stand out: how far one has to descend from each, at the least, to come to a higher place, or to the
/// end on the side where it is higher.
///
/// # Panics
/// If a peak isn't the place of a value.
pub fn prominences(values: &[f64], peaks: &[usize]) -> Vec<f64> {
    let left = bases(values.iter());
    let mut right = bases(values.iter().rev());
    right.reverse();
    peaks.iter().map(|&peak| values[peak] - left[peak].max(right[peak])).collect()
}

/// For each value, the least between it and the last greater one before it, or the first of all.
fn bases<'a>(values: impl Iterator<Item = &'a f64>) -> Vec<f64> {
    // Values that descend, each with its base.
    let mut higher: Vec<(f64, f64)> = Vec::new();
    let base = |&value: &f64| {
        let mut base = value;
        while let Some((_, below)) = higher.pop_if(|(other, _)| *other <= value) {
            base = base.min(below);
        }
        higher.push((value, base));
        base
    };
    values.map(base).collect()
}
