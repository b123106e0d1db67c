//! Comparison of rulesets from part of a space with those from all of it (the paper's section V,
//! Tables VI to VIII).
//!
//! In: the rules of both, and the [`Space`]. Out: the verdict on each ruleset.

use serde::Serialize;

use super::ruleset::{Rules, Ruleset};
use crate::design_rules::error::RulesError;
use crate::design_rules::learn::features::{Rule, heed};
use crate::design_rules::learn::labels::Class;
use crate::design_rules::learn::table::TraversalTable;

/// All schedules of a program and their classes.
#[derive(Clone, Debug)]
pub struct Space<'a> {
    table: &'a TraversalTable,
    rows: Vec<usize>,
    classes: &'a [Class],
}

impl<'a> Space<'a> {
    /// Creates a space from traversals and the class of each.
    ///
    /// # Errors
    /// [`RulesError::Learning`] unless there is a class for each.
    pub fn new(table: &'a TraversalTable, classes: &'a [Class]) -> Result<Self, RulesError> {
        if classes.len() != table.len() {
            let (rows, classes) = (table.len(), classes.len());
            return Err(RulesError::Learning(format!("there are {rows} schedules and classes of {classes}")));
        }
        Ok(Space { table, rows: (0..table.len()).collect(), classes })
    }

    /// Returns the schedules that follow a ruleset, as rows of the table.
    fn followers(&self, ruleset: &Ruleset) -> Vec<usize> {
        let heeded = heed(self.table, &self.rows, &ruleset.rules);
        self.rows.iter().copied().filter(|&row| heeded[row]).collect()
    }
}

/// The fit of a ruleset over a whole space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Fit {
    /// Number of schedules that follow it.
    pub heeding: usize,
    /// Number of these that are in the class.
    pub in_class: usize,
}

impl Fit {
    /// Returns the share of these schedules that is in the class, or 1 if no schedule follows the
    /// ruleset.
    pub fn share(self) -> f64 {
        if self.heeding == 0 { 1.0 } else { self.in_class as f64 / self.heeding as f64 }
    }
}

/// The relation of a rule to the canonical ruleset that matches best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// It is, or implies, one of the canonical rules.
    Canonical,
    /// It has no canonical counterpart: a needless restriction.
    Extraneous,
    /// It contradicts a canonical rule.
    Contradictory,
}

/// The relation of a ruleset to the canonical one that matches best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It has all canonical rules.
    Consistent,
    /// It has all canonical rules, and harmless further ones.
    Overconstrained,
    /// It lacks canonical rules.
    Underconstrained,
    /// It contradicts every canonical ruleset in some rule.
    Contradictory,
    /// The class has no canonical ruleset.
    Unmatched,
}

/// A ruleset compared with the canonical ones of its class.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// The verdict.
    pub verdict: Verdict,
    /// Index of the best match among the canonical rulesets of the class, from 0.
    pub canonical: Option<usize>,
    /// Relation of each of its rules to the best match.
    pub marks: Vec<Mark>,
    /// Canonical rules of the best match that it lacks.
    pub missing: Vec<Rule>,
    /// Fit over the whole space, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fit: Option<Fit>,
}

impl Ruleset {
    /// Compares the ruleset with the canonical ones of the same class.
    ///
    /// The best match is the canonical ruleset with the fewest contradicted rules, then the fewest
    /// missing rules, then the fewest additional rules, then the first. A canonical rule is not
    /// missing if one of the ruleset's own rules [implies](Rule::implies) it, or if all schedules
    /// of the known space that follow the ruleset follow the rule.
    pub fn compare(&self, canonical: &Rules, space: Option<&Space>) -> Comparison {
        let candidates = canonical.of_class(self.class).enumerate();
        let followers = space.map_or(Vec::new(), |space| space.followers(self));
        let entails = |rule: &Rule| space.is_some_and(|space| heed(space.table, &followers, [rule]).iter().all(|heeds| *heeds));
        let compared = candidates.map(|(index, canonical)| self.beside(index, canonical, entails));
        let count = |comparison: &Comparison, mark: Mark| comparison.marks.iter().filter(|&&other| other == mark).count();
        let best = compared.min_by_key(|comparison| {
            (count(comparison, Mark::Contradictory), comparison.missing.len(), count(comparison, Mark::Extraneous))
        });
        let mut best = best.unwrap_or_else(|| Comparison {
            verdict: Verdict::Unmatched,
            canonical: None,
            marks: vec![Mark::Extraneous; self.rules.len()],
            missing: Vec::new(),
            fit: None,
        });
        let in_class = |space: &Space| followers.iter().filter(|&&row| space.classes[row] == self.class).count();
        best.fit = space.map(|space| Fit { heeding: followers.len(), in_class: in_class(space) });
        best
    }

    fn beside(&self, index: usize, canonical: &Ruleset, entails: impl Fn(&Rule) -> bool) -> Comparison {
        let mark = |rule: &Rule| {
            if canonical.rules.iter().any(|other| rule.contradicts(other)) {
                Mark::Contradictory
            } else if canonical.rules.iter().any(|other| rule.implies(other)) {
                Mark::Canonical
            } else {
                Mark::Extraneous
            }
        };
        let marks: Vec<Mark> = self.rules.iter().map(mark).collect();
        let has = |rule: &Rule| self.rules.iter().any(|own| own.implies(rule)) || entails(rule);
        let missing: Vec<Rule> = canonical.rules.iter().filter(|rule| !has(rule)).cloned().collect();
        let verdict = if marks.contains(&Mark::Contradictory) {
            Verdict::Contradictory
        } else if !missing.is_empty() {
            Verdict::Underconstrained
        } else if marks.contains(&Mark::Extraneous) {
            Verdict::Overconstrained
        } else {
            Verdict::Consistent
        };
        Comparison { verdict, canonical: Some(index), marks, missing, fit: None }
    }
}

/// The rulesets of one class: a column for each model, and in it a cell for each ruleset, those that
/// most training samples follow first (the paper's Tables VI to VIII).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Arrangement {
    /// The class.
    pub class: Class,
    /// Title of each column.
    pub titles: Vec<String>,
    /// Cells of each column, from the top.
    pub columns: Vec<Vec<Cell>>,
}

/// A ruleset and its verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Cell {
    /// The ruleset.
    pub ruleset: Ruleset,
    /// The ruleset compared with the canonical ones.
    pub comparison: Comparison,
}

impl Arrangement {
    /// Arranges the rulesets of a class. Each column has a title and the rules of all classes.
    pub fn new(class: Class, columns: &[(&str, &Rules)], canonical: &Rules, space: &Space) -> Arrangement {
        let cell = |ruleset: &Ruleset| Cell { ruleset: ruleset.clone(), comparison: ruleset.compare(canonical, Some(space)) };
        Arrangement {
            class,
            titles: columns.iter().map(|(title, _)| (*title).to_owned()).collect(),
            columns: columns.iter().map(|(_, rules)| rules.of_class(class).map(cell).collect()).collect(),
        }
    }
}
