//! `--repeat`: a warm-up, and the run of median time.

use super::format;

/// One run, or a warm-up and as many as are asked for, at least one: what that of median time has made.
pub fn median<T, E>(runs: Option<usize>, mut run: impl FnMut() -> Result<T, E>, ms: impl Fn(&T) -> f64) -> Result<T, E> {
    let first = run()?;
    let Some(runs) = runs else { return Ok(first) };
    let mut all = (0..runs).map(|_| run()).collect::<Result<Vec<_>, _>>()?;
    all.sort_by(|a, b| ms(a).total_cmp(&ms(b)));
    Ok(all.swap_remove((runs - 1) / 2))
}

/// So many runs, in words.
pub fn in_words(runs: usize) -> String {
    if runs == 1 { "One run".to_owned() } else { format!("The median of {} runs", format::grouped(runs)) }
}
