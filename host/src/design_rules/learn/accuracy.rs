//! Rules from part of a space, judged by all of it (the paper's section V, Tables V to VIII).

use serde::Serialize;

use super::labels::ClassSummary;
use super::model::{Model, check_times};
use super::rules::{Comparison, Rules};
use super::table::TraversalTable;
use crate::design_rules::error::RulesError;

/// Class accuracy: the number of schedules whose time is within the bounds of their predicted class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Accuracy {
    /// Number of schedules within the bounds.
    pub within: usize,
    /// Number of all schedules.
    pub schedules: usize,
}

impl Accuracy {
    /// Computes the class accuracy of a model over a measured space, with `times` in seconds. Returns
    /// `None` if the model has only one class, which would be right by itself.
    ///
    /// The model predicts the class of each schedule, whose time must lie within the
    /// [bounds](super::Labels::bounds) of that class. Bounds are widened by a factor of 1e-12, because
    /// simulated times may differ by the order of summation.
    ///
    /// # Errors
    /// [`RulesError::Learning`] if there are no schedules, or not one time per schedule.
    pub fn of(model: &Model, table: &TraversalTable, times: &[f64]) -> Result<Option<Self>, RulesError> {
        check_times(table, times)?;
        if times.is_empty() {
            return Err(RulesError::Learning("there are no schedules to classify".to_owned()));
        }
        if model.labels.count() == 1 {
            return Ok(None);
        }
        let bounds: Vec<[f64; 2]> = model.labels.all().map(|class| model.labels.bounds(class)).collect();
        let within = model.classify(table).into_iter().zip(times).filter(|&(class, &time)| {
            let [least, greatest] = bounds[class.index()];
            (least * (1.0 - 1e-12)..=greatest * (1.0 + 1e-12)).contains(&time)
        });
        Ok(Some(Accuracy { within: within.count(), schedules: times.len() }))
    }

    /// Returns the share of the schedules, from 0 to 1.
    pub fn share(self) -> f64 {
        self.within as f64 / self.schedules as f64
    }
}

/// A model of part of a space, compared with the model of all of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SpaceComparison {
    /// Number of schedules of the space.
    pub runs: usize,
    /// Class accuracy, from 0 to 1.
    pub accuracy: f64,
    /// Number of schedules within the bounds of their predicted class.
    pub within: usize,
    /// Classes of the space.
    pub classes: Vec<ClassSummary>,
    /// Rules of the space.
    pub rules: Rules,
    /// Rulesets of the part beside those of the space.
    pub compared: Vec<Comparison>,
}

impl SpaceComparison {
    /// Compares the model of a part with the `canonical` model of the space, whose schedules and times
    /// in seconds are given. Returns `None` if one of them has only one class.
    ///
    /// # Errors
    /// As [`Accuracy::of`].
    pub fn of(model: &Model, canonical: &Model, table: &TraversalTable, times: &[f64]) -> Result<Option<Self>, RulesError> {
        let accuracy = Accuracy::of(model, table, times)?.filter(|_| canonical.labels.count() > 1);
        let Some(accuracy) = accuracy else { return Ok(None) };
        Ok(Some(SpaceComparison {
            runs: times.len(),
            accuracy: accuracy.share(),
            within: accuracy.within,
            classes: canonical.labels.summary(),
            rules: canonical.rules.clone(),
            compared: model.rules.all().iter().map(|ruleset| ruleset.compare(&canonical.rules, table)).collect(),
        }))
    }
}
