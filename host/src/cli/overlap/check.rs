//! What of a submission is against the contest's rules.

use serde::Serialize;
use warpsmith::overlap::{
    contest::{BOUND, Check, MOST_TREES, Meeting},
    io::PoseLayout,
};

use super::{input::Loaded, total::area};
use crate::cli::{failure::Failure, format, terminal};

/// This many pairs are shown where not all are wanted.
const WORST: usize = 10;

/// What was found. Packings are named as in all results: in a submission by their numbers of trees.
#[derive(Debug, Serialize)]
pub struct Checked {
    pub valid: bool,
    /// Sizes of which a submission has no packing.
    missing: Vec<usize>,
    /// Packings of no trees, or of too many.
    sizes: Vec<usize>,
    outside: Vec<Outside>,
    /// Those that have the largest area in common first.
    overlaps: Vec<Pair>,
    /// So near to touching that the contest's rounding decides.
    touching: Vec<Pair>,
}

/// A coordinate beyond the bounds.
#[derive(Debug, Serialize)]
struct Outside {
    packing: usize,
    pose: usize,
    field: String,
    value: f64,
}

/// Two trees.
#[derive(Debug, Serialize)]
struct Pair {
    packing: usize,
    first: usize,
    second: usize,
    area: f64,
    depth: f64,
}

impl Checked {
    pub fn of(loaded: &Loaded) -> Self {
        let check = Check::of(&loaded.packings, &loaded.shapes);
        let label = |packing: usize| loaded.label(packing);
        let pair = |meeting: &Meeting| {
            let Meeting { packing, poses: [first, second], area, depth } = *meeting;
            Pair { packing: label(packing), first, second, area, depth }
        };
        let there: Vec<usize> = loaded.packings.offsets().windows(2).map(|pair| pair[1] - pair[0]).collect();
        let missing: Vec<usize> = match loaded.layout {
            PoseLayout::Submission => (1..=MOST_TREES).filter(|size| !there.contains(size)).collect(),
            PoseLayout::Single | PoseLayout::Ensembles => Vec::new(),
        };
        Checked {
            valid: check.is_valid() && missing.is_empty(),
            missing,
            sizes: check.sizes.iter().map(|&packing| label(packing)).collect(),
            outside: check
                .outside
                .iter()
                .map(|found| Outside {
                    packing: label(found.packing),
                    pose: found.pose,
                    field: found.field.to_string(),
                    value: found.value,
                })
                .collect(),
            overlaps: check.overlaps.iter().map(pair).collect(),
            touching: check.touching.iter().map(pair).collect(),
        }
    }

    /// What is against the rules, as clauses; none where nothing is.
    pub fn broken(&self) -> Option<String> {
        let mut clauses = Vec::new();
        if !self.overlaps.is_empty() {
            let mut packings: Vec<usize> = self.overlaps.iter().map(|pair| pair.packing).collect();
            packings.sort_unstable();
            packings.dedup();
            let pairs = format::counted(self.overlaps.len(), "pair of trees overlaps", "pairs of trees overlap");
            clauses.push(format!(
                "{pairs}, in {} ({})",
                format::counted(packings.len(), "packing", "packings"),
                ranges(&packings)
            ));
        }
        if let Some(first) = self.outside.first() {
            let Outside { packing, pose, field, value } = first;
            let trees = format::counted(self.outside.len(), "tree is", "trees are");
            clauses.push(format!("{trees} beyond {BOUND} (packing {packing}, tree {pose}: {field} = {value})"));
        }
        if !self.sizes.is_empty() {
            let packings = format::counted(self.sizes.len(), "packing has", "packings have");
            clauses.push(format!("{packings} no trees or more than {MOST_TREES} ({})", ranges(&self.sizes)));
        }
        if !self.missing.is_empty() {
            let packings = format::counted(self.missing.len(), "packing is", "packings are");
            clauses.push(format!("{packings} missing ({})", ranges(&self.missing)));
        }
        (!clauses.is_empty()).then(|| clauses.join("; "))
    }

    /// Prints a line on it, and the worst pairs, or all.
    pub fn print(&self, all: bool) -> Result<(), Failure> {
        let shown = &self.overlaps[..if all { self.overlaps.len() } else { self.overlaps.len().min(WORST) }];
        if !shown.is_empty() {
            let what = match (shown.len(), self.overlaps.len()) {
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
        if !self.touching.is_empty() {
            let pairs = format::counted(self.touching.len(), "pair of trees touches", "pairs of trees touch");
            terminal::print(terminal::paragraph(&format!(
                "{pairs} to within rounding: whether they overlap is for the contest's own rounding to say."
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
