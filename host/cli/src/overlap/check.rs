//! The verdict on packings by the contest's rules, in words.

use serde::Serialize;
use warpsmith::overlap::{
    contest::{BOUND, Check, MOST_TREES, OutOfBounds},
    io::PoseLayout,
};

use super::{evaluate::area, input::Loaded};
use crate::{failure::Failure, format, terminal};

/// Number of pairs shown unless all are wanted.
const WORST: usize = 10;

/// Violations of the rules.
#[derive(Debug, Serialize)]
pub struct Checked {
    pub valid: bool,
    #[serde(flatten)]
    check: Check,
}

impl Checked {
    pub fn of(loaded: &Loaded) -> Self {
        let check = match loaded.layout {
            PoseLayout::Submission => Check::of_submission(&loaded.packings, &loaded.shapes),
            PoseLayout::Single | PoseLayout::Ensembles => Check::of(&loaded.packings, &loaded.shapes),
        };
        Checked { valid: check.is_valid(), check }
    }

    /// The violations as clauses, if there are any.
    pub fn broken(&self) -> Option<String> {
        let Check { missing, sizes, outside, overlaps, .. } = &self.check;
        let mut clauses = Vec::new();
        if !overlaps.is_empty() {
            let mut packings: Vec<usize> = overlaps.iter().map(|pair| pair.packing).collect();
            packings.sort_unstable();
            packings.dedup();
            let pairs = format::counted(overlaps.len(), "pair of trees overlaps", "pairs of trees overlap");
            clauses.push(format!(
                "{pairs}, in {} ({})",
                format::counted(packings.len(), "packing", "packings"),
                ranges(&packings)
            ));
        }
        if let Some(first) = outside.first() {
            let OutOfBounds { packing, pose, field, value } = first;
            let trees = format::counted(outside.len(), "tree is", "trees are");
            clauses.push(format!("{trees} beyond {BOUND} (packing {packing}, tree {pose}: {field} = {value})"));
        }
        if !sizes.is_empty() {
            let packings = format::counted(sizes.len(), "packing has", "packings have");
            clauses.push(format!("{packings} no trees or more than {MOST_TREES} ({})", ranges(sizes)));
        }
        if !missing.is_empty() {
            let packings = format::counted(missing.len(), "packing is", "packings are");
            clauses.push(format!("{packings} missing ({})", ranges(missing)));
        }
        (!clauses.is_empty()).then(|| clauses.join("; "))
    }

    /// Prints the worst pairs, or all, and the verdict.
    pub fn print(&self, all: bool) -> Result<(), Failure> {
        let Check { overlaps, touching, .. } = &self.check;
        let shown = &overlaps[..if all { overlaps.len() } else { overlaps.len().min(WORST) }];
        if !shown.is_empty() {
            let what = match (shown.len(), overlaps.len()) {
                (1, 1) => "The pair of trees that overlaps:".to_owned(),
                (shown, of) if shown == of => format!("The {} pairs of trees that overlap:", format::grouped(of)),
                (shown, of) => {
                    format!("The worst {shown} of {} pairs of trees that overlap (--all shows all):", format::grouped(of))
                }
            };
            terminal::print(format_args!("\n{what}"))?;
            let mut table = terminal::table(["packing", "first", "second", "area", "depth (length)"], 0..5);
            for pair in shown {
                let numbers = [pair.packing, pair.first, pair.second].map(|number| number.to_string());
                table.add_row(numbers.into_iter().chain([area(pair.area), format!("{:.6e}", pair.depth)]));
            }
            terminal::print(table)?;
        }
        if !touching.is_empty() {
            let pairs = format::counted(touching.len(), "pair of trees touches", "pairs of trees touch");
            terminal::print(terminal::paragraph(&format!(
                "{pairs} to within rounding: the contest's own rounding decides whether they overlap."
            )))?;
        }
        terminal::print(terminal::paragraph(&match self.broken() {
            Some(what) => format!("Not valid by the contest's rules: {what}."),
            None => format!(
                "Valid by the contest's rules: 1 to {MOST_TREES} trees per packing, |x| and |y| at most {BOUND}, no two trees overlap."
            ),
        }))
    }
}

/// Ascending numbers in few words: `1 to 3, 7, 9 to 200`.
fn ranges(numbers: &[usize]) -> String {
    const MOST: usize = 6;
    let runs: Vec<_> = numbers.chunk_by(|a, b| a + 1 == *b).collect();
    let mut words: Vec<String> = runs
        .iter()
        .take(MOST)
        .map(|run| match run {
            [one] => one.to_string(),
            [first, .., last] => format!("{first} to {last}"),
            [] => String::new(),
        })
        .collect();
    if runs.len() > MOST {
        words.push("...".to_owned());
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_few_words() {
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1 to 3, 7, 9 to 10");
        assert_eq!(ranges(&[5]), "5");
        assert_eq!(ranges(&[1, 3, 5, 7, 9, 11, 13, 15]), "1, 3, 5, 7, 9, 11, ...");
    }
}
