//! Reading runs and learning from them.

use std::path::Path;

use clap::{Args, ValueEnum};
use serde::Serialize;
use warpsmith::design_rules::{
    Class, LabelOptions, Labels, LearnOptions, Model, Rules, Runs, TraversalTable, Tree, TreeOptions,
    tree::{Criterion, Limits, Search, Trial},
};

use crate::cli::failure::Failure;

/// How to learn.
#[derive(Args, Clone, Debug)]
pub struct Learning {
    /// The measure of impurity that the tree minimizes
    #[arg(long, value_enum, default_value_t = Impurity::Gini)]
    criterion: Impurity,
    /// Grow a tree of N leaves, if the runs differ enough for so many [default: as many as lower the training error]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_leaf_nodes: Option<u32>,
    /// Percentile of the prominences, 0 to 100, that a step in the sorted times has to reach to be a bound between
    /// classes
    #[arg(long, value_name = "P", default_value_t = 98.0)]
    percentile: f64,
    /// Radius in runs of the step function that finds the steps [default: 0.5 % of the runs]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..))]
    radius: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Impurity {
    /// The chance that two samples differ in class
    Gini,
    /// The classes' entropy
    Entropy,
}

impl Learning {
    /// The same for the library.
    pub fn options(&self) -> LearnOptions {
        let criterion = match self.criterion {
            Impurity::Gini => Criterion::Gini,
            Impurity::Entropy => Criterion::Entropy,
        };
        LearnOptions {
            labels: LabelOptions { radius: self.radius.map(|radius| radius as usize), percentile: self.percentile },
            tree: TreeOptions { criterion, ..TreeOptions::default() },
        }
    }

    /// Learns from these runs, which are in this file.
    pub fn learn(&self, path: &Path, runs: &Runs) -> Result<(TraversalTable, Model), Failure> {
        let in_file = |error: &dyn std::fmt::Display| Failure::error(format_args!("{}: {error}", path.display()));
        let (Some(fastest), Some(slowest)) = (runs.fastest(), runs.slowest()) else {
            return Err(in_file(&"it has no runs"));
        };
        if fastest.seconds == slowest.seconds && runs.runs.len() > 1 {
            let text =
                format!("all {} runs took {:e} s, so that there are no fast and slow ones", runs.runs.len(), fastest.seconds);
            return Err(in_file(&text));
        }
        let table = TraversalTable::new(runs.runs.iter().map(|run| &run.traversal));
        let options = self.options();
        let mut model = Model::learn_all(&table, &runs.times(), &options).map_err(|error| in_file(&error))?;
        if let Some(leaves) = self.max_leaf_nodes {
            let leaves = leaves as usize;
            let columns = model.features.columns(&table);
            let tree = Tree::train(&columns, model.labels.classes(), options.tree, Limits::leaves(leaves))?;
            let trial = Trial { max_leaf_nodes: leaves, error: tree.training_error(), depth: tree.depth(), better: true };
            model.rules = Rules::of(&tree, &model.features);
            model.search = Search { tree, max_leaf_nodes: leaves, trials: vec![trial] };
        }
        Ok((table, model))
    }
}

/// A class's runs and times.
#[derive(Serialize)]
pub struct ClassRow {
    pub class: Class,
    pub runs: usize,
    /// The least and the greatest time, in seconds.
    pub fastest: f64,
    pub slowest: f64,
}

impl ClassRow {
    /// Of all classes.
    pub fn all(labels: &Labels) -> Vec<Self> {
        let row = |class: Class| {
            let [fastest, slowest] = labels.range(class);
            ClassRow { class, runs: labels.places(class).len(), fastest, slowest }
        };
        labels.all().map(row).collect()
    }
}

/// What runs are of, without the steps in time.
#[derive(Serialize)]
pub struct Origin<'a> {
    pub program: &'a str,
    pub input: &'a str,
    pub platform: &'a str,
    pub ranks: usize,
    pub streams: usize,
    pub search: &'a str,
    pub seed: u64,
    pub space: Option<&'a str>,
}

impl<'a> Origin<'a> {
    pub fn of(runs: &'a Runs) -> Self {
        let about = &runs.about;
        Origin {
            program: &about.program,
            input: &about.input,
            platform: &about.platform,
            ranks: about.ranks,
            streams: about.streams,
            search: &about.search,
            seed: about.seed,
            space: about.space.as_deref(),
        }
    }
}
