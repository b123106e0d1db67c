//! Growth of a tree, split by split.

use super::decision::{Criterion, DecisionTree, Limits, Node, Split};
use crate::design_rules::error::RulesError;
use crate::design_rules::learn::columns::{BitColumns, count_ones};
use crate::design_rules::learn::labels::Class;

/// Gains that differ by less than this count as equal. They are at most 1 for Gini, and log2 of the
/// number of classes for entropy.
const SAME: f64 = 1e-12;

/// Maximum number of classes, because each class has a mask of all samples.
const MAX_CLASSES: usize = 1 << 12;

/// A growing tree.
pub(super) struct Growth<'a> {
    columns: &'a BitColumns,
    criterion: Criterion,
    max_depth: usize,
    /// Mask of the samples of each class.
    masks: Vec<Vec<u64>>,
    weights: Weights,
    nodes: Vec<Node>,
    /// Nodes that can be split, in order.
    frontier: Vec<Open>,
}

/// A node that can be split.
struct Open {
    node: usize,
    /// Mask of its samples.
    mask: Vec<u64>,
    /// For each feature, the number of its samples of each class that have it.
    ones: Vec<u32>,
    feature: usize,
    gain: f64,
}

/// Weights of samples, by class.
struct Weights {
    /// Number of samples of each class.
    totals: Vec<usize>,
    each: Vec<f64>,
    /// Total weight of the samples.
    whole: f64,
}

impl Weights {
    fn new(totals: Vec<usize>) -> Self {
        let samples: usize = totals.iter().sum();
        let present = totals.iter().filter(|&&total| total > 0).count();
        let weight = |&total: &usize| if total == 0 { 0.0 } else { samples as f64 / (present as f64 * total as f64) };
        let each = totals.iter().map(weight).collect();
        Weights { totals, each, whole: samples as f64 }
    }

    /// Returns the weight of samples with these counts per class, and their impurity times that
    /// weight.
    fn impurity(&self, criterion: Criterion, counts: impl Iterator<Item = usize> + Clone) -> (f64, f64) {
        let weighted = counts.zip(&self.each).map(|(count, weight)| count as f64 * weight);
        let sum: f64 = weighted.clone().sum();
        let impurity = match criterion {
            Criterion::Gini => sum - weighted.map(|weight| weight * weight).sum::<f64>() / sum,
            Criterion::Entropy => {
                weighted.filter(|&weight| weight > 0.0).map(|weight| -weight * (weight / sum).log2()).sum::<f64>()
            }
        };
        (sum, impurity.max(0.0))
    }

    /// Returns the class with the greatest weight, and the first of equal ones.
    fn heaviest(&self, counts: &[usize]) -> Class {
        // In integers, so that rounding does not settle ties. A class without samples has no weight.
        let total = |class: usize| self.totals[class].max(1) as u128;
        let heavier = |a: usize, b: usize| counts[a] as u128 * total(b) > counts[b] as u128 * total(a);
        Class::from_index((1..counts.len()).fold(0, |best, class| if heavier(class, best) { class } else { best }))
    }
}

impl DecisionTree {
    /// Trains a tree from the samples' features (`columns`) and classes.
    ///
    /// The tree grows best first: the next node to split is the one whose best split lowers the
    /// weighted impurity of the whole tree most. A node is a leaf if it is pure, if no feature
    /// separates its samples, or if the limits are reached. A split that lowers nothing is made all
    /// the same, as in scikit-learn. If gains are equal within 1e-12, the first feature and the
    /// earliest node win, so nothing is random.
    ///
    /// # Errors
    /// [`RulesError::Learning`] without samples, and unless there is a class for each.
    pub fn train(columns: &BitColumns, classes: &[Class], criterion: Criterion, limits: Limits) -> Result<Self, RulesError> {
        let mut growth = Growth::new(columns, classes, criterion, limits.max_depth)?;
        while growth.leaves() < limits.max_leaf_nodes && growth.split_best() {}
        Ok(growth.into_tree())
    }
}

impl<'a> Growth<'a> {
    /// Creates a tree of one node.
    pub(super) fn new(
        columns: &'a BitColumns,
        classes: &[Class],
        criterion: Criterion,
        max_depth: usize,
    ) -> Result<Self, RulesError> {
        let samples = classes.len();
        if samples != columns.rows() {
            return Err(RulesError::Learning(format!(
                "there are {} samples with features and {samples} with classes",
                columns.rows()
            )));
        }
        let Some(count) = classes.iter().max().map(|class| class.index().saturating_add(1)) else {
            return Err(RulesError::Learning("there are no samples".to_owned()));
        };
        if count > MAX_CLASSES {
            return Err(RulesError::Learning(format!("there is a class {count}, and there may be {MAX_CLASSES}")));
        }
        let words = samples.div_ceil(64);
        let mut masks = vec![vec![0; words]; count];
        for (sample, class) in classes.iter().enumerate() {
            masks[class.index()][sample / 64] |= 1 << (sample % 64);
        }
        let totals: Vec<usize> = masks.iter().map(|mask| count_ones(mask)).collect();
        let weights = Weights::new(totals.clone());
        let mut growth = Growth { columns, criterion, max_depth, masks, weights, nodes: Vec::new(), frontier: Vec::new() };
        growth.push_node(totals, 0);
        if growth.can_split(0) {
            let all = growth.masks.iter().fold(vec![0; words], |all, mask| all.iter().zip(mask).map(|(a, b)| a | b).collect());
            let ones = growth.count(&all);
            growth.open(0, all, ones);
        }
        Ok(growth)
    }

    pub(super) fn leaves(&self) -> usize {
        self.nodes.len().div_ceil(2)
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub(super) fn into_tree(self) -> DecisionTree {
        DecisionTree { nodes: self.nodes }
    }

    /// Returns the tree as it was when it had this many leaves, at most its current number.
    pub(super) fn tree_of(&self, leaves: usize) -> DecisionTree {
        let mut nodes = self.nodes[..2 * leaves - 1].to_vec();
        let len = nodes.len();
        for node in &mut nodes {
            node.split = node.split.filter(|split| split.children[0] < len);
        }
        DecisionTree { nodes }
    }

    /// Splits the node with the greatest gain. Returns false if no node can be split.
    pub(super) fn split_best(&mut self) -> bool {
        let mut best: Option<usize> = None;
        for (place, open) in self.frontier.iter().enumerate() {
            if best.is_none_or(|best| open.gain > self.frontier[best].gain + SAME) {
                best = Some(place);
            }
        }
        let Some(place) = best else { return false };
        let Open { node, mask, ones, feature, .. } = self.frontier.remove(place);

        let classes = self.masks.len();
        let with: Vec<usize> = ones[feature * classes..(feature + 1) * classes].iter().map(|&count| count as usize).collect();
        let without = self.nodes[node].counts.iter().zip(&with).map(|(all, with)| all - with).collect();
        let depth = self.nodes[node].depth + 1;
        let children = [self.push_node(without, depth), self.push_node(with, depth)];
        self.nodes[node].split = Some(Split { feature, children });

        if children.iter().any(|&child| self.can_split(child)) {
            let column = self.columns.column(feature);
            let masks = [
                mask.iter().zip(column).map(|(mask, column)| mask & !column).collect::<Vec<_>>(),
                mask.iter().zip(column).map(|(mask, column)| mask & column).collect(),
            ];
            // Only the samples of the smaller child are counted; the other child has the rest.
            let counted = usize::from(self.nodes[children[1]].samples < self.nodes[children[0]].samples);
            let fewer = self.count(&masks[counted]);
            let rest = ones.iter().zip(&fewer).map(|(all, fewer)| all - fewer).collect();
            let ones = if counted == 0 { [fewer, rest] } else { [rest, fewer] };
            for ((child, mask), ones) in children.into_iter().zip(masks).zip(ones) {
                if self.can_split(child) {
                    self.open(child, mask, ones);
                }
            }
        }
        true
    }

    fn push_node(&mut self, counts: Vec<usize>, depth: usize) -> usize {
        let (weight, impurity) = self.weights.impurity(self.criterion, counts.iter().copied());
        let class = self.weights.heaviest(&counts);
        let samples = counts.iter().sum();
        self.nodes.push(Node { split: None, depth, impurity: impurity / weight, samples, counts, class });
        self.nodes.len() - 1
    }

    fn can_split(&self, node: usize) -> bool {
        let node = &self.nodes[node];
        node.depth < self.max_depth && !node.counts.contains(&node.samples)
    }

    /// Adds a node to the frontier if a feature separates its samples.
    fn open(&mut self, node: usize, mask: Vec<u64>, ones: Vec<u32>) {
        let counts = &self.nodes[node].counts;
        let samples = self.nodes[node].samples;
        let (_, all) = self.weights.impurity(self.criterion, counts.iter().copied());
        let mut best: Option<(usize, f64)> = None;
        for (feature, ones) in ones.chunks_exact(counts.len()).enumerate() {
            let with = ones.iter().map(|&count| count as usize);
            if [0, samples].contains(&with.clone().sum()) {
                continue;
            }
            let without = counts.iter().zip(ones).map(|(all, &with)| all - with as usize);
            let parts = self.weights.impurity(self.criterion, with).1 + self.weights.impurity(self.criterion, without).1;
            let gain = (all - parts) / self.weights.whole;
            if best.is_none_or(|(_, best)| gain > best + SAME) {
                best = Some((feature, gain));
            }
        }
        if let Some((feature, gain)) = best {
            self.frontier.push(Open { node, mask, ones, feature, gain });
        }
    }

    /// For each feature, the number of these samples of each class that have it.
    fn count(&self, mask: &[u64]) -> Vec<u32> {
        // Skips words without samples. There are many once nodes are small, or if the samples of a
        // class are adjacent.
        let samples: Vec<Vec<(usize, u64)>> = self
            .masks
            .iter()
            .map(|class| {
                let words = mask.iter().zip(class).map(|(mask, class)| mask & class).enumerate();
                words.filter(|&(_, word)| word != 0).collect()
            })
            .collect();
        let mut ones = Vec::with_capacity(self.columns.columns() * samples.len());
        for feature in 0..self.columns.columns() {
            let column = self.columns.column(feature);
            ones.extend(
                samples.iter().map(|words| words.iter().map(|&(at, word)| (word & column[at]).count_ones()).sum::<u32>()),
            );
        }
        ones
    }
}
