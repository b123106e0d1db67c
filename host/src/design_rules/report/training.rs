//! How the tree was chosen: the paper's Figure 5.

use super::super::tree::{Search, Trial};
use super::chart::{Axis, Chart};
use super::markup::Markup;
use super::units::{counted, percent};

/// Training error and depth against the most leaves allowed.
pub(super) fn write(to: &mut Markup, search: &Search) {
    // Some sizes are trained again, which gives the same tree.
    let mut trials: Vec<&Trial> = search.trials.iter().collect();
    trials.sort_by_key(|trial| trial.max_leaf_nodes);
    trials.dedup_by_key(|trial| trial.max_leaf_nodes);
    let (first, last) = (trials[0].max_leaf_nodes as f64, trials[trials.len() - 1].max_leaf_nodes as f64);
    let chosen = search.max_leaf_nodes as f64;
    let error = search.tree.training_error();
    let axis = || Axis { ticks: 8, ..Axis::new(first.min(last - 1.0), last, "leaves allowed").whole() };

    to.open("figure", &[]);
    to.leaf("figcaption", &[], "Share of the training runs that the tree puts into another class than theirs.");
    let points: Vec<_> = trials.iter().map(|trial| (trial.max_leaf_nodes as f64, 100.0 * trial.error)).collect();
    let highest = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let description = format!("From {} with {first} leaves to {} with {chosen}.", percent(trials[0].error), percent(error));
    let y = Axis { ticks: 4, ..Axis::new(0.0, if highest > 0.0 { 1.1 * highest } else { 1.0 }, "training error (%)") };
    let mut chart = Chart::start(to, "error", 190, "Training error", &description, axis(), y);
    chart.line(&points, "curve");
    chart.dots(&points, "peaks");
    chart.dots(&[(chosen, 100.0 * error)], "chosen");
    chart.note((chosen, 100.0 * error + 0.05 * highest.max(1.0)), format!("chosen: {}", percent(error)));
    chart.finish();
    to.close();

    to.open("figure", &[]);
    to.leaf("figcaption", &[], "The tree's depth.");
    let points: Vec<_> = trials.iter().map(|trial| (trial.max_leaf_nodes as f64, trial.depth as f64)).collect();
    let deepest = points.iter().map(|point| point.1).fold(1.0, f64::max);
    let description = format!("{} of depth with {chosen} leaves.", search.tree.depth());
    let y = Axis { ticks: 4, ..Axis::new(0.0, 1.15 * deepest, "depth").whole() };
    let mut chart = Chart::start(to, "depth", 140, "Depth of the tree", &description, axis(), y);
    chart.line(&points, "curve");
    chart.dots(&points, "peaks");
    chart.dots(&[(chosen, search.tree.depth() as f64)], "chosen");
    chart.finish();
    to.close();
    to.leaf(
        "p",
        &[],
        format!(
            "The tree is allowed more leaves as long as one of the next five sizes lowers the training error. It ended with {}, a depth \
             of {} and an error of {}.",
            counted(search.tree.leaves(), "leaf").replace("leafs", "leaves"),
            search.tree.depth(),
            percent(error)
        ),
    );
}
