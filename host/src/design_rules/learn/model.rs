//! From times to rules in one go (the paper's section IV).

use serde::Serialize;

use super::features::{FeatureSet, LookedUp};
use super::labels::{Class, LabelOptions, Labels};
use super::rules::{Advice, MeasuredRows, Rules};
use super::table::TraversalTable;
use super::tree::{ClassWeight, Criterion, Size, TreeOptions, TreeSearch};
use crate::design_rules::error::RulesError;

/// How to learn. By default as much as the data carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LearnOptions {
    /// How runs are classed.
    pub labels: LabelOptions,
    /// How trees are grown.
    pub tree: TreeOptions,
    /// How large the tree gets.
    pub size: Size,
}

impl LearnOptions {
    /// The paper's.
    pub const PAPER: Self = LearnOptions {
        labels: LabelOptions::PAPER,
        tree: TreeOptions { criterion: Criterion::Gini, class_weight: ClassWeight::Balanced },
        size: Size::Paper,
    };
}

/// What some measured schedules teach.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Model {
    /// Their classes, in the order of the schedules that it was learned from.
    pub labels: Labels,
    /// What tells them apart.
    pub features: FeatureSet,
    /// The tree, and how it was found.
    pub search: TreeSearch,
    /// The rules.
    pub rules: Rules,
    /// What sets the fastest class apart, in short; none where nothing does.
    pub advice: Option<Advice>,
}

impl Model {
    /// Learns from some rows of a table of schedules; `times` has the seconds that each of the table's schedules took.
    /// A row that is given twice counts twice.
    ///
    /// # Errors
    /// [`RulesError::Learning`] unless there is a time for each schedule, for a row that isn't in the table, and as
    /// [`Labels::with`].
    pub fn learn(table: &TraversalTable, times: &[f64], rows: &[usize], options: &LearnOptions) -> Result<Self, RulesError> {
        check_times(table, times)?;
        if let Some(row) = rows.iter().find(|&&row| row >= table.len()) {
            return Err(RulesError::Learning(format!("there is no schedule {row}: there are {}", table.len())));
        }
        let own: Vec<f64> = rows.iter().map(|&row| times[row]).collect();
        let labels = Labels::with(&own, &options.labels)?;
        let (features, columns) = FeatureSet::learn(table, rows);
        let search = options.size.train(&columns, labels.classes(), options.tree)?;
        let rules = Rules::of(&search.tree, &features);
        let advice = Advice::of(&rules, &labels, &MeasuredRows::new(table, rows, &own));
        Ok(Model { labels, features, search, rules, advice })
    }

    /// Learns from all schedules of a table.
    ///
    /// # Errors
    /// As [`learn`](Self::learn).
    pub fn learn_all(table: &TraversalTable, times: &[f64], options: &LearnOptions) -> Result<Self, RulesError> {
        let rows: Vec<usize> = (0..table.len()).collect();
        Self::learn(table, times, &rows, options)
    }

    /// The class that the tree gives each schedule of a table, also of another than it was learned from.
    pub fn classify(&self, table: &TraversalTable) -> Vec<Class> {
        let features: Vec<_> = self.features.features().iter().map(|feature| LookedUp::of(feature, table)).collect();
        (0..table.len()).map(|row| self.search.tree.predict(|feature| features[feature].holds(row))).collect()
    }
}

pub(super) fn check_times(table: &TraversalTable, times: &[f64]) -> Result<(), RulesError> {
    if times.len() == table.len() {
        return Ok(());
    }
    Err(RulesError::Learning(format!("there are {} schedules and times of {}", table.len(), times.len())))
}
