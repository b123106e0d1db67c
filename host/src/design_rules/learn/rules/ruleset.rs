//! The rules of each class, read off a decision tree.

use serde::Serialize;

use crate::design_rules::learn::features::{FeatureSet, Rule};
use crate::design_rules::learn::labels::Class;
use crate::design_rules::learn::tree::DecisionTree;

/// Rules that together put a schedule into a class: a path from the root of the tree to a leaf.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ruleset {
    /// The class that the leaf predicts.
    pub class: Class,
    /// The rules, from the root on, without those that another rule implies.
    pub rules: Vec<Rule>,
    /// Number of training samples that follow them.
    pub samples: usize,
    /// Number of these samples in each class.
    pub counts: Vec<usize>,
    /// Share of these samples that is of the class.
    pub purity: f64,
    /// Index of the leaf in [`DecisionTree::nodes`].
    pub leaf: usize,
}

impl Ruleset {
    /// Returns true if all training samples that follow the rules are of one class. Otherwise they
    /// are marked `insufficient rules`, as in the paper: the tree may have had too few leaves, or
    /// its features don't separate the classes.
    pub fn is_sufficient(&self) -> bool {
        self.counts.contains(&self.samples)
    }
}

/// The rulesets of all classes, one for each leaf of a tree.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Rules {
    rulesets: Vec<Ruleset>,
}

impl Rules {
    /// Reads the rulesets off a tree, whose features are those of the set.
    ///
    /// # Panics
    /// If the tree was trained with more features than there are.
    pub fn of(tree: &DecisionTree, features: &FeatureSet) -> Self {
        let ruleset = |(leaf, path): (usize, Vec<(usize, bool)>)| {
            let node = &tree.nodes()[leaf];
            let rules: Vec<Rule> = path.into_iter().map(|(feature, value)| features.rule(feature, value)).collect();
            let implied = |rule: &&Rule| rules.iter().any(|other| other != *rule && other.implies(rule));
            Ruleset {
                class: node.class,
                rules: rules.iter().filter(|rule| !implied(rule)).cloned().collect(),
                samples: node.samples,
                purity: (node.samples - node.wrong()) as f64 / node.samples as f64,
                counts: node.counts.clone(),
                leaf,
            }
        };
        tree.paths().into_iter().map(ruleset).collect()
    }

    /// Returns all rulesets by class, and within a class by the number of training samples,
    /// descending.
    pub fn all(&self) -> &[Ruleset] {
        &self.rulesets
    }

    /// Iterates over the rulesets of a class.
    pub fn of_class(&self, class: Class) -> impl Iterator<Item = &Ruleset> {
        self.rulesets.iter().filter(move |ruleset| ruleset.class == class)
    }
}

impl FromIterator<Ruleset> for Rules {
    fn from_iter<I: IntoIterator<Item = Ruleset>>(rulesets: I) -> Self {
        let mut rulesets: Vec<Ruleset> = rulesets.into_iter().collect();
        rulesets.sort_by_key(|ruleset| (ruleset.class, std::cmp::Reverse(ruleset.samples)));
        Rules { rulesets }
    }
}
