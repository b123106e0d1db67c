//! Comparison of rulesets from part of a space with those from all of it (the paper's section V,
//! Tables VI to VIII).
//!
//! In: the rules of both, and the table of all schedules. Out: the verdict on each ruleset.

use serde::Serialize;

use super::ruleset::{Rules, Ruleset};
use crate::design_rules::learn::features::{Rule, heed};
use crate::design_rules::learn::table::TraversalTable;

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
    /// The ruleset.
    pub ruleset: Ruleset,
    /// The verdict.
    pub verdict: Verdict,
    /// Index of the best match among the canonical rulesets of the class, from 0.
    pub canonical: Option<usize>,
    /// Relation of each of its rules to the best match.
    pub marks: Vec<Mark>,
    /// Canonical rules of the best match that it lacks.
    pub missing: Vec<Rule>,
}

impl Ruleset {
    /// Compares the ruleset with the canonical ones of the same class.
    ///
    /// The best match is the canonical ruleset with the fewest contradicted rules, then the fewest
    /// missing rules, then the fewest additional rules, then the first. A canonical rule is not
    /// missing if one of the ruleset's own rules [implies](Rule::implies) it, or if schedules of the
    /// table follow the ruleset, and all that do follow the rule.
    pub fn compare(&self, canonical: &Rules, table: &TraversalTable) -> Comparison {
        let candidates = canonical.of_class(self.class).enumerate();
        let rows: Vec<usize> = (0..table.len()).collect();
        let followers: Vec<usize> =
            rows.iter().copied().zip(heed(table, &rows, &self.rules)).filter(|row| row.1).map(|row| row.0).collect();
        let entails = |rule: &Rule| !followers.is_empty() && heed(table, &followers, [rule]).iter().all(|heeds| *heeds);
        let compared = candidates.map(|(index, canonical)| self.beside(index, canonical, entails));
        let count = |comparison: &Comparison, mark: Mark| comparison.marks.iter().filter(|&&other| other == mark).count();
        let best = compared.min_by_key(|comparison| {
            (count(comparison, Mark::Contradictory), comparison.missing.len(), count(comparison, Mark::Extraneous))
        });
        best.unwrap_or_else(|| Comparison {
            ruleset: self.clone(),
            verdict: Verdict::Unmatched,
            canonical: None,
            marks: vec![Mark::Extraneous; self.rules.len()],
            missing: Vec::new(),
        })
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
        Comparison { ruleset: self.clone(), verdict, canonical: Some(index), marks, missing }
    }
}
