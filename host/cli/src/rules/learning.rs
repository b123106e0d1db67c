//! Options of the commands that learn from runs.

use std::path::Path;

use clap::{Args, ValueEnum};
use warpsmith::design_rules::{
    LabelOptions, LearnOptions, Model, Runs, TraversalTable,
    learn::tree::{Criterion, Size},
};

use crate::failure::Failure;

/// Options of commands that learn.
#[derive(Args, Clone, Debug)]
pub struct Learning {
    /// Impurity that the tree minimizes
    #[arg(long, value_enum, default_value_t = Criterion::Gini)]
    criterion: Criterion,
    /// Grow a tree of N leaves, if the runs differ enough [default: chosen by cross-validation]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_leaf_nodes: Option<u32>,
    /// Grow full trees, with as many leaves as lower the training error, as in the paper; implied by --labels paper and tenzing
    #[arg(long, conflicts_with = "max_leaf_nodes")]
    full: bool,
    /// Method that assigns runs to classes
    #[arg(long, value_enum, default_value_t = LabelMethod::Density)]
    labels: LabelMethod,
    /// With --labels density, relative difference below which times count as equal, in percent [default: the noise that the
    /// file states, and at least 1]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    resolution: Option<f64>,
    /// With --labels paper or tenzing, percentile, 0 to 100, that the prominence of a step in the sorted times must reach
    /// to be a boundary between classes [default: 98]
    #[arg(long, value_name = "P", value_parser = parse_percentile)]
    percentile: Option<f64>,
    /// With --labels paper, radius of the step function that finds the steps, in runs [default: 0.5 % of the runs]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..))]
    radius: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LabelMethod {
    /// Peaks of the density of the times, with the valleys between them as boundaries
    Density,
    /// As in the paper: the largest steps of the sorted times, by a percentile of their prominences
    Paper,
    /// As in the program of the paper's authors: by a percentile of the convolution
    Tenzing,
}

impl Learning {
    /// Returns the library's options for these runs.
    pub fn options(&self, runs: &Runs) -> Result<LearnOptions, Failure> {
        let labels = match self.labels {
            LabelMethod::Density if self.percentile.is_some() || self.radius.is_some() => {
                let its = if self.percentile.is_some() {
                    "--percentile is for --labels paper and tenzing"
                } else {
                    "--radius is for --labels paper"
                };
                return Err(Failure::error(its));
            }
            LabelMethod::Tenzing if self.radius.is_some() => return Err(Failure::error("--radius is for --labels paper")),
            LabelMethod::Paper | LabelMethod::Tenzing if self.resolution.is_some() => {
                return Err(Failure::error("--resolution is for --labels density"));
            }
            LabelMethod::Density => LabelOptions::density(runs.about.noise, self.resolution.map(|percent| percent / 100.0)),
            LabelMethod::Paper => LabelOptions::Paper {
                radius: self.radius.map(|radius| radius as usize),
                percentile: self.percentile.unwrap_or(98.0),
            },
            LabelMethod::Tenzing => LabelOptions::Tenzing { percentile: self.percentile.unwrap_or(98.0) },
        };
        let size = match self.max_leaf_nodes {
            Some(leaves) => Size::Leaves(leaves as usize),
            None if self.is_full() => Size::Paper,
            None => Size::Validated,
        };
        Ok(LearnOptions { labels, criterion: self.criterion, size })
    }

    /// Returns true if all rulesets are to be shown.
    pub fn is_full(&self) -> bool {
        self.full || self.labels != LabelMethod::Density
    }

    /// Learns from the runs of the file `path`.
    pub fn learn(&self, path: &Path, runs: &Runs) -> Result<(TraversalTable, Model), Failure> {
        let table = TraversalTable::new(runs.runs.iter().map(|run| &run.traversal));
        let options = self.options(runs)?;
        let model = Model::learn_all(&table, &runs.times(), &options);
        let model = model.map_err(|error| Failure::error(format_args!("{}: {error}", path.display())))?;
        Ok((table, model))
    }
}

fn parse_percentile(text: &str) -> Result<f64, String> {
    let percentile = text.parse().ok().filter(|percentile| (0.0..=100.0).contains(percentile));
    percentile.ok_or_else(|| "not a number from 0 to 100".to_owned())
}

/// Reads a percentage above 0.
pub fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim_end().parse();
    number
        .ok()
        .filter(|&percent: &f64| percent > 0.0 && percent <= 100.0)
        .ok_or_else(|| "not a percentage above 0, and at most 100".to_owned())
}
