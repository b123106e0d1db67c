//! Choice of the tree's size: by cross-validation, or by the training error (the paper's Algorithm 1).

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};
use serde::Serialize;

use super::decision::{DecisionTree, Limits, Node, TreeOptions};
use super::growth::Growth;
use crate::design_rules::error::RulesError;
use crate::design_rules::learn::columns::BitColumns;
use crate::design_rules::learn::labels::Class;

/// Number of additional leaves that Algorithm 1 tries before it gives up.
const MORE: usize = 5;
/// Number of folds of the cross-validation.
const FOLDS: usize = 10;
/// Most leaves that cross-validation tries: nobody reads a larger tree.
const MOST: usize = 24;

/// How large the tree of a model gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// As large as cross-validation says that the samples carry: [`validate`].
    #[default]
    Validated,
    /// As large as lowers the training error: the paper's Algorithm 1, [`search`].
    Paper,
    /// With this many leaves, if the samples differ enough for so many.
    Leaves(usize),
}

impl Size {
    /// Trains a tree of this size.
    ///
    /// # Errors
    /// As [`DecisionTree::train`].
    pub fn train(self, columns: &BitColumns, classes: &[Class], options: TreeOptions) -> Result<TreeSearch, RulesError> {
        match self {
            Size::Validated => validate(columns, classes, options),
            Size::Paper => search(columns, classes, options),
            Size::Leaves(leaves) => {
                let tree = DecisionTree::train(columns, classes, options, Limits::leaves(leaves))?;
                let trial = Trial { max_leaf_nodes: leaves, error: tree.training_error(), depth: tree.depth(), better: true };
                Ok(TreeSearch { tree, max_leaf_nodes: leaves, trials: vec![trial], validated: false })
            }
        }
    }
}

/// A size of the tree that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// The most leaves that it might have.
    pub max_leaf_nodes: usize,
    /// The share of the samples that it gives another class than they have: of those that it was trained with, or, by
    /// cross-validation, of those that were left out.
    pub error: f64,
    /// Its depth.
    pub depth: usize,
    /// Whether it was better than those before.
    pub better: bool,
}

/// What a search for the tree's size found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TreeSearch {
    /// The tree.
    pub tree: DecisionTree,
    /// The most leaves that it might have.
    pub max_leaf_nodes: usize,
    /// All sizes that were tried, in their order (the paper's Figure 5).
    pub trials: Vec<Trial>,
    /// Whether their errors are by cross-validation.
    pub validated: bool,
}

/// Trains trees of more and more leaves until the training error does not get smaller (the paper's Algorithm 1).
///
/// From a tree of as many leaves as there are classes, and two at least, it goes on to the first of up to five more
/// leaves that is better, and ends where none is. The paper's text starts at the number of classes, its listing at two;
/// a tree of fewer leaves than classes can't tell them apart. The depth may be one less than the leaves, which every
/// such tree keeps to: so the tree of one more leaf is the same tree with one more split, and it grows only once.
///
/// # Errors
/// As [`DecisionTree::train`].
fn search(columns: &BitColumns, classes: &[Class], options: TreeOptions) -> Result<TreeSearch, RulesError> {
    let mut growth = Growth::new(columns, classes, options, usize::MAX)?;
    let present = growth.nodes()[0].counts.iter().filter(|&&count| count > 0).count();
    // Of the trees of 1, 2, ... leaves: how many samples they get wrong, and their depths.
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

/// The node that was split last.
fn parent(nodes: &[Node]) -> &Node {
    let last = nodes.len() - 1;
    let found = nodes.iter().find(|node| node.split.is_some_and(|split| split.children[1] == last));
    found.expect("children are made by a split")
}

/// Trains the tree that has as few leaves as the samples carry, as CART's rule of one standard error chooses it
/// (Breiman, Friedman, Olshen and Stone, section 3.4.3).
///
/// Trees of 1 to 24 leaves are trained on nine tenths of the samples and tested on the last tenth, ten times over. Of
/// all sizes that err for no more of the samples than the best one does and a standard error on top of it, the smallest
/// is taken; that tree is trained on all samples. [`Trial::error`] is the share of the left out samples that trees of
/// the size get wrong.
///
/// # Errors
/// As [`DecisionTree::train`](super::DecisionTree::train).
fn validate(columns: &BitColumns, classes: &[Class], options: TreeOptions) -> Result<TreeSearch, RulesError> {
    let mut growth = Growth::new(columns, classes, options, usize::MAX)?;
    while growth.leaves() < MOST && growth.split_best() {}
    let samples = classes.len();
    let folds = FOLDS.min(samples);
    // Samples that follow each other are alike: each fold gets some of everywhere.
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let mut order: Vec<usize> = (0..samples).collect();
    for last in (1..samples).rev() {
        order.swap(last, (random.next_u64() % (last as u64 + 1)) as usize);
    }
    let mut wrong = vec![0; growth.leaves()];
    // One sample alone can't be left out.
    for fold in (0..folds).filter(|_| samples > 1) {
        let (tested, trained): (Vec<usize>, Vec<usize>) = (0..samples).partition(|&place| place % folds == fold);
        let rows: Vec<usize> = trained.into_iter().map(|place| order[place]).collect();
        let mut part = BitColumns::new(rows.len());
        (0..columns.columns()).for_each(|column| part.push(|row| columns.get(rows[row], column)));
        let own: Vec<Class> = rows.iter().map(|&row| classes[row]).collect();
        let mut grown = Growth::new(&part, &own, options, usize::MAX)?;
        while grown.leaves() < wrong.len() && grown.split_best() {}
        for (leaves, wrong) in (1..).zip(&mut wrong) {
            let tree = grown.tree_of(grown.leaves().min(leaves));
            let errs = |&&place: &&usize| tree.predict(|column| columns.get(order[place], column)) != classes[order[place]];
            *wrong += tested.iter().filter(errs).count();
        }
    }
    let share = |wrong: usize| wrong as f64 / samples as f64;
    let least = share(wrong.iter().copied().min().expect("there is a tree of one leaf"));
    let enough = least + (least * (1.0 - least) / samples as f64).sqrt();
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
