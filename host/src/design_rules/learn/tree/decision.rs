//! The decision tree and the options that it is grown with.

use serde::Serialize;

use crate::design_rules::learn::labels::Class;

/// What is to be small in the leaves.
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

/// How much samples count in the criterion and in what a leaf predicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ClassWeight {
    /// A sample of class `c` counts `n / (k n_c)`: all `k` classes that occur count the same.
    #[default]
    Balanced,
    /// All samples count the same.
    Uniform,
}

/// How trees are grown. The default is the paper's (its Table IV).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct TreeOptions {
    /// What is to be small in the leaves.
    pub criterion: Criterion,
    /// How much samples count.
    pub class_weight: ClassWeight,
}

/// How large a tree may get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most leaves; one at least, which is the root's.
    pub max_leaf_nodes: usize,
    /// The most splits between the root and a leaf.
    pub max_depth: usize,
}

impl Limits {
    /// This many leaves, at any depth that such a tree can have (the paper's `max_leaf_nodes - 1`).
    pub fn leaves(max_leaf_nodes: usize) -> Self {
        Limits { max_leaf_nodes, max_depth: max_leaf_nodes.saturating_sub(1) }
    }
}

/// A node of a tree.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Node {
    /// What it asks for, unless it is a leaf.
    pub split: Option<Split>,
    /// How many splits there are between the root and it.
    pub depth: usize,
    /// The weighted criterion of the training samples in it.
    pub impurity: f64,
    /// How many training samples are in it.
    pub samples: usize,
    /// How many of them there are of each class.
    pub counts: Vec<usize>,
    /// The class that weighs most in it; of equal ones the fastest.
    pub class: Class,
}

/// What an inner node asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Split {
    /// The feature.
    pub feature: usize,
    /// The nodes of the samples that don't have it, and of those that do.
    pub children: [usize; 2],
}

impl Node {
    /// How many of its training samples are of another class than it predicts.
    pub fn wrong(&self) -> usize {
        self.samples - self.counts[self.class.index()]
    }

    /// Whether all of its training samples are of one class.
    pub fn is_pure(&self) -> bool {
        self.counts.contains(&self.samples)
    }
}

/// A decision tree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DecisionTree {
    pub(super) nodes: Vec<Node>,
}

impl DecisionTree {
    /// Its nodes in the order in which they came about; the root is the first, and children follow each other.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// How many leaves it has.
    pub fn leaves(&self) -> usize {
        self.nodes.len().div_ceil(2)
    }

    /// The most splits between the root and a leaf.
    pub fn depth(&self) -> usize {
        self.nodes.iter().map(|node| node.depth).max().unwrap_or(0)
    }

    /// The share of the training samples that it gives another class than they have. Samples count the same here.
    pub fn training_error(&self) -> f64 {
        let leaves = self.nodes.iter().filter(|node| node.split.is_none());
        leaves.map(Node::wrong).sum::<usize>() as f64 / self.nodes[0].samples as f64
    }

    /// The leaf that a sample falls into, by its features: an index of [`nodes`](Self::nodes).
    pub fn leaf(&self, mut has: impl FnMut(usize) -> bool) -> usize {
        let mut at = 0;
        while let Some(Split { feature, children }) = self.nodes[at].split {
            at = children[usize::from(has(feature))];
        }
        at
    }

    /// The class of a sample by its features.
    pub fn predict(&self, has: impl FnMut(usize) -> bool) -> Class {
        self.nodes[self.leaf(has)].class
    }

    /// Each leaf in the order of the nodes, with the features and values that lead from the root to it.
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
