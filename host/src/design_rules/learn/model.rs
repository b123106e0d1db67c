//! Learning in one call (the paper's section IV).
//!
//! In: a table of schedules and their times. Out: a [`Model`].

use serde::Serialize;

use super::features::{FeatureSet, LookedUp};
use super::labels::{Class, LabelOptions, Labels};
use super::rules::{Advice, MeasuredRows, Rules};
use super::table::TraversalTable;
use super::tree::{ClassWeight, Criterion, Size, TreeOptions, TreeSearch};
use crate::design_rules::error::RulesError;

/// Options for learning. By default, the model is as detailed as the data support.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LearnOptions {
    /// Method that assigns runs to classes.
    pub labels: LabelOptions,
    /// Options for growing trees.
    pub tree: TreeOptions,
    /// Choice of the tree's size.
    pub size: Size,
}

impl LearnOptions {
    /// The paper's options.
    pub const PAPER: Self = LearnOptions {
        labels: LabelOptions::PAPER,
        tree: TreeOptions { criterion: Criterion::Gini, class_weight: ClassWeight::Balanced },
        size: Size::Paper,
    };
}

/// A model of measured schedules.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Model {
    /// The classes, in the order of the schedules.
    pub labels: Labels,
    /// The features that tell the schedules apart.
    pub features: FeatureSet,
    /// The tree and the search for its size.
    pub search: TreeSearch,
    /// The rules.
    pub rules: Rules,
    /// Short advice on the fastest class; `None` if no rules lead to it.
    pub advice: Option<Advice>,
}

impl Model {
    /// Learns from some rows of a table of schedules. `times` has the time of each schedule of the
    /// table, in seconds. A row that is given twice counts twice.
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

    /// Predicts the class of each schedule of a table, which may be another table than that of the
    /// training data.
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
