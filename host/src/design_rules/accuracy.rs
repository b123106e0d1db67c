//! How well rules from part of a space hold in all of it (the paper's section V, Table V).

use serde::Serialize;

use super::RulesError;
use super::model::{Model, check_times};
use super::table::TraversalTable;

/// How many schedules take a time that is within the bounds of the class that the tree gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Accuracy {
    /// This many do.
    pub within: usize,
    /// Of this many.
    pub schedules: usize,
}

impl Accuracy {
    /// The class accuracy of a model over a measured space, `times` in seconds: each schedule is given a class, and its
    /// time has to be within its [bounds](super::Labels::bounds): as in the paper, from the least to the greatest of those
    /// that the model learned this class from; by density, on its side of the valleys. Bounds are widened by 1e-12 of
    /// themselves, since simulated times may differ by the order of their terms alone.
    ///
    /// # Errors
    /// [`RulesError::Learning`] without schedules, and unless there is a time for each.
    pub fn of(model: &Model, table: &TraversalTable, times: &[f64]) -> Result<Self, RulesError> {
        check_times(table, times)?;
        if times.is_empty() {
            return Err(RulesError::Learning("there are no schedules to classify".to_owned()));
        }
        let bounds: Vec<[f64; 2]> = model.labels.all().map(|class| model.labels.bounds(class)).collect();
        let within = model.classify(table).into_iter().zip(times).filter(|&(class, &time)| {
            let [least, greatest] = bounds[class.index()];
            (least * (1.0 - 1e-12)..=greatest * (1.0 + 1e-12)).contains(&time)
        });
        Ok(Accuracy { within: within.count(), schedules: times.len() })
    }

    /// The share of the schedules, from 0 to 1.
    pub fn share(self) -> f64 {
        self.within as f64 / self.schedules as f64
    }
}
