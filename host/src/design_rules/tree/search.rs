//! How large the tree gets: the paper's Algorithm 1.

use serde::Serialize;

use super::super::RulesError;
use super::super::columns::BitColumns;
use super::super::labels::Class;
use super::growth::Growth;
use super::{Node, Tree, TreeOptions};

/// How many more leaves are tried.
const MORE: usize = 5;

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
pub struct Search {
    /// The tree.
    pub tree: Tree,
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
/// As [`Tree::train`].
pub fn search(columns: &BitColumns, classes: &[Class], options: TreeOptions) -> Result<Search, RulesError> {
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
    Ok(Search { tree, max_leaf_nodes, trials, validated: false })
}

/// The node that was split last.
fn parent(nodes: &[Node]) -> &Node {
    let last = nodes.len() - 1;
    let found = nodes.iter().find(|node| node.split.is_some_and(|split| split.children[1] == last));
    found.expect("children are made by a split")
}
