//! Submissions to Kaggle's Santa 2025, packed or made smaller: `overlap pack --submission` and
//! `overlap improve`.

use std::path::Path;

use serde::Serialize;
use warpsmith::{
    common::chain,
    io::files::is_standard,
    overlap::{
        OverlapError, Shape,
        contest::MOST_TREES,
        pack::{Copies, Packing, Settings, Submission},
    },
};

use super::search::{SearchArgs, Searched};
use crate::{Global, failure::Failure, format, output::Files, terminal};

/// Numbers of trees, ascending.
#[derive(Clone, Debug, PartialEq)]
pub struct Counts(Vec<usize>);

/// The submission to pack.
pub struct Plan<'a> {
    pub command: &'static str,
    pub file: &'a Path,
    /// Set if the file must exist.
    pub exists: bool,
    /// Numbers of trees; by default those of the file.
    pub counts: Option<&'a Counts>,
    pub from: Option<&'a Path>,
    pub search: &'a SearchArgs,
}

#[derive(Serialize)]
struct Report {
    system: &'static str,
    command: &'static str,
    device: String,
    seed: u64,
    steps: usize,
    seconds: f64,
    /// The sum of side^2 / n over the file's packings.
    score: f64,
    /// The score before the search; none if the file lacked a packing.
    before: Option<f64>,
    packings: Vec<Row>,
    cancelled: bool,
    /// steps, seconds, score of the packings that were searched for.
    history: Vec<(usize, f64, f64)>,
    output: String,
}

#[derive(Serialize)]
struct Row {
    count: usize,
    side: f64,
    /// side^2 / count.
    score: f64,
    improved: bool,
}

/// Searches, and writes the result.
pub fn pack(global: &Global, plan: &Plan<'_>) -> Result<(), Failure> {
    if is_standard(plan.file) {
        return Err(Failure::error("-: a submission is written again each time that a packing becomes smaller; name a file"));
    }
    let mut files = Files::reading(plan.from);
    let destination = files.write(plan.file)?;
    let shape = Shape::tree();
    let read = |path: &Path| Submission::read(path, shape.clone());
    let mut submission = if plan.exists || plan.file.exists() { read(plan.file)? } else { Submission::new(shape.clone()) };
    let there = || submission.packings().map(|packing| packing.poses.len()).collect();
    let counts: Vec<usize> = plan.counts.map_or_else(there, |counts| counts.0.clone());
    if counts.is_empty() {
        return Err(Failure::error(format_args!("{}: holds no packings", plan.file.display())));
    }
    let before = counts.iter().all(|count| submission.get(*count).is_some()).then(|| submission.score());
    let from = plan.from.map(read).transpose()?;
    let mut changed = from.map(|from| submission.take_lines(from, |count| counts.contains(&count))).unwrap_or_default();
    let copies = |&count: &usize| {
        let from = submission.get(count).map(|packing| packing.poses.clone());
        Copies { from, ..Copies::new([count]) }
    };
    let settings = Settings { shapes: vec![shape.clone()], packings: counts.iter().map(copies).collect(), ..Settings::default() };
    let mut take = |packings: &[Packing]| -> Result<(), OverlapError> {
        let taken = submission.take(packings);
        changed.extend(&taken);
        if taken.is_empty() { Ok(()) } else { submission.write(&destination) }
    };
    let state = |reached: &warpsmith::overlap::pack::Progress| format!("score {:.6}", reached.score);
    let failure = |error| Failure::error(chain(&error));
    let Some(Searched { packed, device }) = plan.search.search(global, settings, failure, state, &mut take)? else {
        return Ok(());
    };
    changed.extend(submission.take(&packed.packings));
    if !changed.is_empty() {
        submission.write(&destination)?;
        tracing::info!("wrote {}", plan.file.display());
    }
    let row = |Packing { poses, side, .. }: &Packing| {
        let count = poses.len();
        Row { count, side: *side, score: side * side / count as f64, improved: changed.contains(&count) }
    };
    let report = Report {
        system: "overlap",
        command: plan.command,
        device,
        seed: plan.search.seed,
        steps: packed.steps,
        seconds: packed.seconds,
        score: submission.score(),
        before,
        packings: submission.packings().map(row).collect(),
        cancelled: packed.cancelled,
        history: packed.history.iter().map(|reached| (reached.steps, reached.seconds, reached.score)).collect(),
        output: plan.file.display().to_string(),
    };
    if plan.search.json { terminal::print_json(&report) } else { report.print() }?;
    if packed.cancelled { Err(Failure::Cancelled) } else { Ok(()) }
}

impl Report {
    fn print(&self) -> Result<(), Failure> {
        let header = ["trees", "packings", "smaller now", "sum of side^2 / n", "mean"];
        let mut table = terminal::table(header, 0..header.len());
        // One row for every twenty numbers of trees.
        for rows in self.packings.chunk_by(|a, b| (a.count - 1) / 20 == (b.count - 1) / 20) {
            let score: f64 = rows.iter().map(|row| row.score).sum();
            let trees = match rows {
                [one] => one.count.to_string(),
                _ => format!("{} to {}", rows[0].count, rows[rows.len() - 1].count),
            };
            let improved = rows.iter().filter(|row| row.improved).count();
            table.add_row([
                trees,
                rows.len().to_string(),
                improved.to_string(),
                format!("{score:.9}"),
                format!("{:.6}", score / rows.len() as f64),
            ]);
        }
        terminal::print(table)?;
        let before = self.before.map(|before| format!(", before {before:.9}")).unwrap_or_default();
        terminal::print(format_args!("Score: {:.9}{before}; no two trees overlap.", self.score))?;
        terminal::print(format_args!(
            "{} of every packing in {} on {}.",
            format::counted(self.steps, "step", "steps"),
            format::time(1e3 * self.seconds),
            self.device
        ))?;
        terminal::print(format_args!("Written: {}", self.output))
    }
}

/// Reads numbers of trees: `1..200` (with both ends), `7`, `10..20,50`.
pub fn parse_counts(text: &str) -> Result<Counts, String> {
    let mut counts = Vec::new();
    for part in text.split(',') {
        let number = |text: &str| {
            let number = text.trim().parse::<usize>().ok().filter(|number| (1..=MOST_TREES).contains(number));
            number.ok_or_else(|| format!("`{}` is not a number of trees from 1 to {MOST_TREES}", text.trim()))
        };
        match part.split_once("..") {
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                if first > last {
                    return Err(format!("{first}..{last} has no numbers: the first must not be above the last"));
                }
                counts.extend(first..=last);
            }
            None => counts.push(number(part)?),
        }
    }
    counts.sort_unstable();
    counts.dedup();
    Ok(Counts(counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_as_written() {
        for (text, counts) in [("7", vec![7]), ("1..3", vec![1, 2, 3]), ("9,2..4, 3", vec![2, 3, 4, 9]), ("200", vec![200])] {
            assert_eq!(parse_counts(text), Ok(Counts(counts)), "{text}");
        }
        for text in ["", "0", "201", "1..", "3..2", "1-5", "1,,2", "x"] {
            assert!(parse_counts(text).is_err(), "{text}");
        }
    }
}
