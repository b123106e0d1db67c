//! `--repeat`: a warm-up, and the run of median time.

use super::format;

/// The most runs.
pub const MOST: usize = 100_000;

/// Runs once, or with `runs` once to warm up and then that often; returns the result of the run of median time (of two
/// such runs, the shorter).
pub fn median<T, E>(runs: Option<usize>, mut run: impl FnMut() -> Result<T, E>, ms: impl Fn(&T) -> f64) -> Result<T, E> {
    let first = run()?;
    let Some(runs) = runs else { return Ok(first) };
    tracing::info!(ms = ms(&first), "warm-up");
    let mut all = Vec::new();
    for number in 1..=runs {
        let result = run()?;
        tracing::info!(ms = ms(&result), "run {number}");
        all.push(result);
    }
    all.sort_by(|a, b| ms(a).total_cmp(&ms(b)));
    Ok(all.swap_remove((runs - 1) / 2))
}

/// Says of how many runs the times are, the time, and how many of `n` things (as in "elements") are done per second.
pub fn in_words(runs: usize, n: usize, ms: f64, things: &str) -> String {
    let runs = if runs == 1 { "One run".to_owned() } else { format!("The median of {} runs", format::grouped(runs)) };
    let (time, rate) = (format::time(ms), format::rate(n, ms, things));
    format!("{runs} after a warm-up: {}.", if rate.is_empty() { time } else { format!("{time}, {rate}") })
}
