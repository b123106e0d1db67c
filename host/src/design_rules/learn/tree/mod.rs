//! Decision trees over binary features (the paper's section IV-C), grown as scikit-learn's
//! `DecisionTreeClassifier` grows them.
//!
//! In: the features of the samples and their classes. Out: a [`DecisionTree`], or a [`TreeSearch`] with
//! the tree of the best [`Size`].

mod decision;
mod growth;
mod size;

pub use decision::{Criterion, DecisionTree, Limits, Node, Split};
pub use size::{Size, TreeSearch, Trial};
