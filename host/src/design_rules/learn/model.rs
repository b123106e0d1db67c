//! Learning in one call (the paper's section IV).
//!
//! In: a table of schedules and their times. Out: a [`Model`].

use serde::Serialize;

use super::features::FeatureSet;
use super::labels::{Class, LabelOptions, Labels};
use super::rules::{Advice, MeasuredRows, Rules, indistinct};
use super::table::TraversalTable;
use super::tree::{Criterion, Size, TreeSearch};
use crate::design_rules::error::RulesError;

/// Options for learning. By default, the model is as detailed as the data support.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LearnOptions {
    /// Method that assigns runs to classes.
    pub labels: LabelOptions,
    /// Impurity that trees minimize.
    pub criterion: Criterion,
    /// Choice of the tree's size.
    pub size: Size,
}

impl LearnOptions {
    /// The paper's options.
    pub const PAPER: Self = LearnOptions { labels: LabelOptions::PAPER, criterion: Criterion::Gini, size: Size::Paper };
}

/// A model of measured schedules.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Model {
    /// The classes, in the order of the schedules.
    pub labels: Labels,
    /// The features that tell the schedules apart.
    pub features: FeatureSet,
    /// The tree and the search for its size; `None` if there is only one class.
    pub search: Option<TreeSearch>,
    /// The rules; none if there is only one class.
    pub rules: Rules,
    /// Short advice on the fastest class; `None` if no rules are certain to be faster.
    pub advice: Option<Advice>,
}

impl Model {
    /// Learns from some rows of a table of schedules. `times` has the time of each schedule of the
    /// table, in seconds. A row that is given twice counts twice.
    ///
    /// # Errors
    /// [`RulesError::Learning`] unless there is a time for each schedule, for a row that isn't in the table, for a single
    /// run, for runs of one schedule or with equal times, and as [`Labels::with`].
    pub fn learn(table: &TraversalTable, times: &[f64], rows: &[usize], options: &LearnOptions) -> Result<Self, RulesError> {
        check_times(table, times)?;
        if let Some(row) = rows.iter().find(|&&row| row >= table.len()) {
            return Err(RulesError::Learning(format!("there is no schedule {row}: there are {}", table.len())));
        }
        let own: Vec<f64> = rows.iter().map(|&row| times[row]).collect();
        match own[..] {
            [] => return Err(RulesError::Learning("there are no runs".to_owned())),
            [_] => return Err(RulesError::Learning("there is a single run".to_owned())),
            [first, ..] if own.iter().all(|&time| time == first) => {
                let runs = own.len();
                return Err(RulesError::Learning(format!(
                    "all {runs} runs took {first:e} s, so that there are no fast and slow ones"
                )));
            }
            _ => {}
        }
        let labels = Labels::with(&own, &options.labels)?;
        let (features, columns) = FeatureSet::learn(table, rows);
        if features.features().is_empty() {
            return Err(RulesError::Learning("all runs are of one schedule".to_owned()));
        }
        let train = || options.size.train(&columns, labels.classes(), options.criterion);
        let search = (labels.count() > 1).then(train).transpose()?;
        let rules = search.as_ref().map_or_else(Rules::default, |search| Rules::of(&search.tree, &features));
        let advice = Advice::of(&rules, labels.classes(), &MeasuredRows::new(table, rows, &own));
        Ok(Model { labels, features, search, rules, advice })
    }

    /// Learns from all schedules of a table.
    pub fn learn_all(table: &TraversalTable, times: &[f64], options: &LearnOptions) -> Result<Self, RulesError> {
        let rows: Vec<usize> = (0..table.len()).collect();
        Self::learn(table, times, &rows, options)
    }

    /// Predicts the class of each schedule of a table, which may be another table than that of the
    /// training data. Without a tree, it is the first.
    pub fn classify(&self, table: &TraversalTable) -> Vec<Class> {
        let Some(TreeSearch { tree, .. }) = &self.search else { return vec![Class::from_index(0); table.len()] };
        let leaves = self.features.leaves(tree, table).into_iter();
        leaves.map(|leaf| tree.nodes()[leaf].class).collect()
    }

    /// Returns why there is no advice, or `None` if there is. `noise` is the relative standard error of
    /// the times, if it is known.
    pub fn without_advice(&self, noise: Option<f64>) -> Option<String> {
        match &self.advice {
            Some(_) => None,
            None if self.labels.count() == 1 => Some(indistinct(noise)),
            None => Some("No rules of the fastest class are faster with 95 % confidence.".to_owned()),
        }
    }
}

pub(super) fn check_times(table: &TraversalTable, times: &[f64]) -> Result<(), RulesError> {
    if times.len() == table.len() {
        return Ok(());
    }
    Err(RulesError::Learning(format!("there are {} schedules and times of {}", table.len(), times.len())))
}
