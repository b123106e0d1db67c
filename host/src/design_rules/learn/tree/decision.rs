//! The decision tree and the criterion that it is grown by.

use serde::Serialize;

use crate::design_rules::learn::labels::Class;

/// Impurity that the leaves should minimize (the paper's Table IV). All classes that occur have equal weights: a sample
/// of class `c` weighs `n / (k n_c)`, with `k` classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Criterion {
    /// Probability that two samples of a node differ in class
    #[default]
    Gini,
    /// Entropy of the classes in a node, in bits
    Entropy,
}

/// Maximum size of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of leaves, at least 1.
    pub max_leaf_nodes: usize,
    /// The most splits between the root and a leaf.
    pub max_depth: usize,
}

impl Limits {
    /// Limits the number of leaves. The depth is limited only by that number (the paper's
    /// `max_leaf_nodes - 1`).
    pub fn leaves(max_leaf_nodes: usize) -> Self {
        Limits { max_leaf_nodes, max_depth: max_leaf_nodes.saturating_sub(1) }
    }
}

/// A node of a tree.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Node {
    /// The split; `None` for a leaf.
    pub split: Option<Split>,
    /// Number of splits between the root and the node.
    pub depth: usize,
    /// Weighted impurity of its training samples.
    pub impurity: f64,
    /// Number of its training samples.
    pub samples: usize,
    /// Number of its training samples of each class.
    pub counts: Vec<usize>,
    /// The class with the greatest weight, and the fastest of equal ones.
    pub class: Class,
}

/// The question of an inner node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Split {
    /// The feature.
    pub feature: usize,
    /// Child nodes: first of the samples without the feature, then of those with it.
    pub children: [usize; 2],
}

impl Node {
    /// Returns the number of training samples whose class differs from the prediction.
    pub fn wrong(&self) -> usize {
        self.samples - self.counts[self.class.index()]
    }
}

/// A decision tree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DecisionTree {
    pub(super) nodes: Vec<Node>,
}

impl DecisionTree {
    /// Returns the nodes in the order of their creation. The root is first, and the two children of
    /// a node are adjacent.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the number of leaves.
    pub fn leaves(&self) -> usize {
        self.nodes.len().div_ceil(2)
    }

    /// The most splits between the root and a leaf.
    pub fn depth(&self) -> usize {
        self.nodes.iter().map(|node| node.depth).max().unwrap_or(0)
    }

    /// Returns the share of training samples whose class differs from the prediction. Samples are
    /// not weighted.
    pub fn training_error(&self) -> f64 {
        let leaves = self.nodes.iter().filter(|node| node.split.is_none());
        leaves.map(Node::wrong).sum::<usize>() as f64 / self.nodes[0].samples as f64
    }

    /// Returns the leaf of a sample with these features, as an index of [`nodes`](Self::nodes).
    pub fn leaf(&self, mut has: impl FnMut(usize) -> bool) -> usize {
        let mut at = 0;
        while let Some(Split { feature, children }) = self.nodes[at].split {
            at = children[usize::from(has(feature))];
        }
        at
    }

    /// Predicts the class of a sample with these features.
    pub fn predict(&self, has: impl FnMut(usize) -> bool) -> Class {
        self.nodes[self.leaf(has)].class
    }

    /// Returns each leaf, in the order of the nodes, with the features and values on the path from
    /// the root to it.
    pub fn paths(&self) -> Vec<(usize, Vec<(usize, bool)>)> {
        let mut paths = vec![Vec::new(); self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            if let Some(Split { feature, children }) = node.split {
                for (child, value) in children.into_iter().zip([false, true]) {
                    paths[child] = [&paths[index][..], &[(feature, value)]].concat();
                }
            }
        }
        let leaves = paths.into_iter().enumerate().filter(|&(index, _)| self.nodes[index].split.is_none());
        leaves.collect()
    }
}
