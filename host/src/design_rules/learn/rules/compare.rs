//! Rulesets from part of a space against those from all of it (the paper's section V, Tables VI to VIII).

use serde::Serialize;

use super::ruleset::{Rules, Ruleset, and_not, in_common};
use crate::design_rules::error::RulesError;
use crate::design_rules::learn::columns::{count_ones, pack};
use crate::design_rules::learn::features::Rule;
use crate::design_rules::learn::labels::Class;
use crate::design_rules::learn::table::TraversalTable;

/// All schedules of a program, and their classes.
#[derive(Clone, Debug)]
pub struct Space<'a> {
    table: &'a TraversalTable,
    /// For each class, the traversals of it, packed.
    members: Vec<Vec<u64>>,
}

impl<'a> Space<'a> {
    /// These traversals, and the class of each.
    ///
    /// # Errors
    /// [`RulesError::Learning`] unless there is a class for each.
    pub fn new(table: &'a TraversalTable, classes: &[Class]) -> Result<Self, RulesError> {
        if classes.len() != table.len() {
            let (rows, classes) = (table.len(), classes.len());
            return Err(RulesError::Learning(format!("there are {rows} schedules and classes of {classes}")));
        }
        let count = classes.iter().max().map_or(0, |class| class.index() + 1);
        let members = (0..count).map(|class| pack(classes.len(), |row| classes[row].index() == class)).collect();
        Ok(Space { table, members })
    }

    fn fit(&self, ruleset: &Ruleset) -> Fit {
        let heeded = ruleset.bits(self.table);
        let members = self.members.get(ruleset.class.index());
        let in_class = members.map_or(0, |members| in_common(&heeded, members));
        Fit { heeding: count_ones(&heeded), in_class }
    }

    /// Whether all schedules that heed the ruleset heed the rule.
    fn entails(&self, ruleset: &Ruleset, rule: &Rule) -> bool {
        count_ones(&and_not(&ruleset.bits(self.table), &rule.bits(self.table))) == 0
    }
}

/// How well a ruleset does over a whole space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Fit {
    /// How many schedules heed it.
    pub heeding: usize,
    /// How many of them are in the class.
    pub in_class: usize,
}

impl Fit {
    /// The share of the schedules that heed the ruleset that is in the class; 1 where none does.
    pub fn share(self) -> f64 {
        if self.heeding == 0 { 1.0 } else { self.in_class as f64 / self.heeding as f64 }
    }
}

/// What a rule is, beside the canonical ruleset that its ruleset matches best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// One of its rules, or one that implies one.
    Canonical,
    /// None of its rules: a restriction without need.
    Extraneous,
    /// The opposite of one of its rules.
    Contradictory,
}

/// What a ruleset is, beside the canonical one that it matches best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It has its rules.
    Consistent,
    /// It has its rules and more, which do no harm.
    Overconstrained,
    /// It does not have all its rules.
    Underconstrained,
    /// It demands the opposite of one of its rules, and so it is with all canonical rulesets.
    Contradictory,
    /// There is no canonical ruleset of the class.
    Unmatched,
}

/// A ruleset beside the canonical ones of its class.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// What it is.
    pub verdict: Verdict,
    /// The canonical ruleset that it matches best, counted from 0 among those of the class.
    pub canonical: Option<usize>,
    /// What each of its rules is.
    pub marks: Vec<Mark>,
    /// That one's rules that it lacks.
    pub missing: Vec<Rule>,
    /// How it does over the whole space, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fit: Option<Fit>,
}

impl Ruleset {
    /// Compares the ruleset with the canonical ones of the class of the same number.
    ///
    /// The best match is the one that it contradicts in the fewest rules; of these the one of which it lacks the
    /// fewest; of these the one to which it adds the fewest; of these the first. It has a rule if one of its own
    /// [implies](Rule::implies) it, or, where the space is known, if all schedules that heed the ruleset heed the rule.
    pub fn compare(&self, canonical: &Rules, space: Option<&Space>) -> Comparison {
        let candidates = canonical.of_class(self.class).enumerate();
        let compared = candidates.map(|(index, canonical)| self.beside(index, canonical, space));
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
        best.fit = space.map(|space| space.fit(self));
        best
    }

    fn beside(&self, index: usize, canonical: &Ruleset, space: Option<&Space>) -> Comparison {
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
        let has =
            |rule: &Rule| self.rules.iter().any(|own| own.implies(rule)) || space.is_some_and(|space| space.entails(self, rule));
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
