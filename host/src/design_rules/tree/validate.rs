//! How large the tree gets: by cross-validation.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};

use super::super::RulesError;
use super::super::columns::BitColumns;
use super::super::labels::Class;
use super::growth::Growth;
use super::{Search, TreeOptions, Trial};

/// Parts of the samples, of which each is left out once.
const FOLDS: usize = 10;
/// The most leaves that are tried: more nobody reads.
const MOST: usize = 24;

/// Trains the tree that has as few leaves as the samples carry, as CART's rule of one standard error chooses it
/// (Breiman, Friedman, Olshen and Stone, section 3.4.3).
///
/// Trees of 1 to 24 leaves are trained on nine tenths of the samples and tested on the last tenth, ten times over. Of
/// all sizes that err for no more of the samples than the best one does and a standard error on top of it, the smallest
/// is taken; that tree is trained on all samples. [`Trial::error`] is the share of the left out samples that trees of
/// the size get wrong.
///
/// # Errors
/// As [`Tree::train`](super::Tree::train).
pub fn validate(columns: &BitColumns, classes: &[Class], options: TreeOptions) -> Result<Search, RulesError> {
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
    Ok(Search { tree: growth.tree_of(chosen), max_leaf_nodes: chosen, trials, validated: true })
}
