//! The arrangement of the paper's Tables VI to VIII.

use std::fmt;

use comfy_table::{Table, presets::UTF8_FULL};
use serde::Serialize;

use super::super::labels::Class;
use super::{Comparison, Mark, Rules, Ruleset, Space};

/// The rulesets of one class as learned from parts of a space: a column for each part, and in it a cell for each
/// ruleset, those that most training samples heed first.
///
/// As text, each rule has a line. `+` is before extraneous ones, `!` before contradictory ones, and `-` before those
/// that are missing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Arrangement {
    /// The class.
    pub class: Class,
    /// What stands above each column.
    pub titles: Vec<String>,
    /// The cells of each column, from the top.
    pub columns: Vec<Vec<Cell>>,
}

/// A ruleset, and how it compares with the canonical ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// The ruleset.
    pub ruleset: Ruleset,
    /// How it compares, where there are canonical ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
}

impl Arrangement {
    /// The first `most` rulesets of a class in each of the columns, which have a title and all rulesets. The paper
    /// shows three.
    pub fn new(
        class: Class,
        columns: &[(&str, &Rules)],
        most: usize,
        canonical: Option<&Rules>,
        space: Option<&Space>,
    ) -> Arrangement {
        let cell = |ruleset: &Ruleset| Cell {
            ruleset: ruleset.clone(),
            comparison: canonical.map(|canonical| ruleset.compare(canonical, space)),
        };
        Arrangement {
            class,
            titles: columns.iter().map(|(title, _)| (*title).to_owned()).collect(),
            columns: columns.iter().map(|(_, rules)| rules.of_class(class).take(most).map(cell).collect()).collect(),
        }
    }
}

impl fmt::Display for Arrangement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(UTF8_FULL).set_header(&self.titles);
        let rows = self.columns.iter().map(Vec::len).max().unwrap_or(0);
        for row in 0..rows {
            table.add_row(self.columns.iter().map(|cells| cells.get(row).map(Cell::to_string).unwrap_or_default()));
        }
        table.fmt(f)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cell { ruleset, comparison } = self;
        let mut lines: Vec<String> = Vec::new();
        for (index, rule) in ruleset.rules.iter().enumerate() {
            let mark = comparison.as_ref().map(|comparison| comparison.marks[index]);
            let sign = match mark {
                Some(Mark::Extraneous) => "+ ",
                Some(Mark::Contradictory) => "! ",
                Some(Mark::Canonical) | None => "",
            };
            lines.push(format!("{sign}{rule}"));
        }
        if ruleset.rules.is_empty() {
            lines.push("any schedule".to_owned());
        }
        lines.extend(comparison.iter().flat_map(|comparison| &comparison.missing).map(|rule| format!("- {rule}")));
        if !ruleset.is_sufficient() {
            lines.push("insufficient rules".to_owned());
        }
        f.write_str(&lines.join("\n"))
    }
}
