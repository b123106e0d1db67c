//! Choice of the tree's size: by cross-validation, or by the training error (the paper's Algorithm 1).

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use serde::Serialize;

use super::decision::{Criterion, DecisionTree, Limits, Node};
use super::growth::Growth;
use crate::design_rules::error::RulesError;
use crate::design_rules::learn::columns::BitColumns;
use crate::design_rules::learn::labels::Class;
use crate::design_rules::statistics::shuffled;

/// Number of additional leaves that Algorithm 1 tries before it gives up.
const MORE: usize = 5;
/// Number of folds of the cross-validation.
const FOLDS: usize = 10;
/// Most leaves that cross-validation tries: nobody reads a larger tree.
const MOST: usize = 24;

/// Choice of the tree's size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// The size that ten-fold cross-validation supports. Trees of 1 to 24 leaves are trained on
    /// nine tenths of the samples and tested on the rest. The smallest tree whose error is within
    /// one standard error of the least is chosen (CART's rule: Breiman, Friedman, Olshen and Stone,
    /// section 3.4.3), and is then trained on all samples. Samples of one group are left out together,
    /// and the standard error is that of the groups' errors.
    #[default]
    Validated,
    /// The size that the paper's Algorithm 1 finds: leaves are added while they lower the training
    /// error.
    Paper,
    /// This many leaves, if the samples differ enough.
    Leaves(usize),
}

impl Size {
    /// Trains a tree of this size.
    pub fn train(self, columns: &BitColumns, classes: &[Class], criterion: Criterion) -> Result<TreeSearch, RulesError> {
        self.train_groups(columns, classes, &(0..classes.len()).collect::<Vec<_>>(), criterion)
    }

    /// Trains a tree of this size from samples in groups, which are numbered from 0.
    pub(in crate::design_rules::learn) fn train_groups(
        self,
        columns: &BitColumns,
        classes: &[Class],
        groups: &[usize],
        criterion: Criterion,
    ) -> Result<TreeSearch, RulesError> {
        match self {
            Size::Validated => validate(columns, classes, groups, criterion),
            Size::Paper => search(columns, classes, criterion),
            Size::Leaves(leaves) => {
                let tree = DecisionTree::train(columns, classes, criterion, Limits::leaves(leaves))?;
                let trial = Trial { max_leaf_nodes: leaves, error: tree.training_error(), depth: tree.depth(), better: true };
                Ok(TreeSearch { tree, max_leaf_nodes: leaves, trials: vec![trial], validated: false })
            }
        }
    }
}

/// A trained size of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// Maximum number of leaves.
    pub max_leaf_nodes: usize,
    /// Share of wrong predictions: among the left-out samples by cross-validation, and otherwise
    /// among the training samples.
    pub error: f64,
    /// Depth of the tree.
    pub depth: usize,
    /// True if the error is less than for all trials before.
    pub better: bool,
}

/// The result of a search for the tree's size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TreeSearch {
    /// The tree.
    pub tree: DecisionTree,
    /// Maximum number of leaves.
    pub max_leaf_nodes: usize,
    /// All trials, in order (the paper's Figure 5).
    pub trials: Vec<Trial>,
    /// True if the errors of the trials are by cross-validation.
    pub validated: bool,
}

/// Trains larger and larger trees until the training error stops decreasing (the paper's Algorithm
/// 1).
///
/// The first tree has one leaf per class, and at least two. Each step takes the first of up to five
/// more leaves that lowers the error; the search ends if none does. (The paper's text starts at the
/// number of classes, its listing at two. A tree with fewer leaves than classes can't separate
/// them.) The depth may be one less than the number of leaves, which holds for every tree. So each
/// tree is the previous one with one more split, and the tree grows only once.
fn search(columns: &BitColumns, classes: &[Class], criterion: Criterion) -> Result<TreeSearch, RulesError> {
    let mut growth = Growth::new(columns, classes, criterion, usize::MAX)?;
    let present = growth.nodes()[0].counts.iter().filter(|&&count| count > 0).count();
    // For the trees of 1, 2, ... leaves: the number of wrong predictions, and the depth.
    let mut grown = vec![(growth.nodes()[0].wrong(), 0)];
    let mut trials: Vec<Trial> = Vec::new();
    let mut train = |max_leaf_nodes: usize, least: usize| {
        while growth.leaves() < max_leaf_nodes && growth.split_best() {
            let (wrong, depth) = grown[grown.len() - 1];
            let nodes = growth.nodes();
            let children = &nodes[nodes.len() - 2..];
            let now = children.iter().map(Node::wrong).sum::<usize>();
            grown.push((wrong + now - parent(nodes).wrong(), depth.max(children[0].depth)));
        }
        let (wrong, depth) = grown[max_leaf_nodes.min(grown.len()) - 1];
        let error = wrong as f64 / classes.len() as f64;
        trials.push(Trial { max_leaf_nodes, error, depth, better: wrong < least });
        wrong
    };

    let mut max_leaf_nodes = present.max(2);
    let mut least = train(max_leaf_nodes, usize::MAX);
    while let Some((more, wrong)) = (1..=MORE).find_map(|more| {
        let wrong = train(max_leaf_nodes + more, least);
        (wrong < least).then_some((more, wrong))
    }) {
        max_leaf_nodes += more;
        least = wrong;
    }
    let tree = growth.tree_of(max_leaf_nodes.min(growth.leaves()));
    Ok(TreeSearch { tree, max_leaf_nodes, trials, validated: false })
}

/// Returns the node that was split last.
fn parent(nodes: &[Node]) -> &Node {
    let last = nodes.len() - 1;
    let found = nodes.iter().find(|node| node.split.is_some_and(|split| split.children[1] == last));
    found.expect("children are made by a split")
}

/// Trains the tree of [`Size::Validated`].
fn validate(columns: &BitColumns, classes: &[Class], groups: &[usize], criterion: Criterion) -> Result<TreeSearch, RulesError> {
    let mut growth = Growth::new(columns, classes, criterion, usize::MAX)?;
    while growth.leaves() < MOST && growth.split_best() {}
    let samples = classes.len();
    let mut sizes = vec![0_u32; groups.iter().max().map_or(0, |last| last + 1)];
    groups.iter().for_each(|&group| sizes[group] += 1);
    let folds = FOLDS.min(sizes.len());
    // Adjacent groups are alike, so each fold takes groups from everywhere.
    let order = shuffled(sizes.len(), &mut ChaCha8Rng::seed_from_u64(0));
    let mut fold_of = vec![0; sizes.len()];
    order.into_iter().enumerate().for_each(|(place, group)| fold_of[group] = place % folds);
    // For the trees of 1, 2, ... leaves: the number of wrong predictions in each group.
    let mut wrong = vec![vec![0_usize; sizes.len()]; growth.leaves()];
    // A single group can't be left out.
    for fold in (0..folds).filter(|_| sizes.len() > 1) {
        let (tested, rows): (Vec<usize>, Vec<usize>) = (0..samples).partition(|&sample| fold_of[groups[sample]] == fold);
        let mut part = BitColumns::new(rows.len());
        (0..columns.columns()).for_each(|column| part.push(|row| columns.get(rows[row], column)));
        let own: Vec<Class> = rows.iter().map(|&row| classes[row]).collect();
        let mut grown = Growth::new(&part, &own, criterion, usize::MAX)?;
        while grown.leaves() < wrong.len() && grown.split_best() {}
        for (leaves, wrong) in (1..).zip(&mut wrong) {
            let tree = grown.tree_of(grown.leaves().min(leaves));
            let errs = |&&sample: &&usize| tree.predict(|column| columns.get(sample, column)) != classes[sample];
            tested.iter().filter(errs).for_each(|&sample| wrong[groups[sample]] += 1);
        }
    }
    let share = |wrong: usize| wrong as f64 / samples as f64;
    let least = wrong.iter().min_by_key(|wrong| wrong.iter().sum::<usize>()).expect("there is a tree of one leaf");
    let of_group = |(&wrong, &size): (&usize, &u32)| wrong as f64 / f64::from(size);
    let squares: f64 = least.iter().zip(&sizes).map(|group| of_group(group).powi(2)).sum();
    let mean = least.iter().zip(&sizes).map(of_group).sum::<f64>() / sizes.len() as f64;
    let error = ((squares / sizes.len() as f64 - mean * mean).max(0.0) / sizes.len() as f64).sqrt();
    let enough = share(least.iter().sum()) + error;
    let wrong: Vec<usize> = wrong.iter().map(|wrong| wrong.iter().sum()).collect();
    let chosen = 1 + wrong.iter().position(|&wrong| share(wrong) <= enough).expect("the best one does");
    let mut best = usize::MAX;
    let trial = |(max_leaf_nodes, &wrong): (usize, &usize)| {
        let better = wrong < best;
        best = best.min(wrong);
        Trial { max_leaf_nodes, error: share(wrong), depth: growth.tree_of(max_leaf_nodes).depth(), better }
    };
    let trials = (1..).zip(&wrong).map(trial).collect();
    Ok(TreeSearch { tree: growth.tree_of(chosen), max_leaf_nodes: chosen, trials, validated: true })
}
