//! An HTML page about the runs of a program: classes, rules and the best schedule.
//!
//! In: runs and the model learned from them. Out: a self-contained page. `page.html` has its styles
//! and the script that draws it; this module adds the data, as JSON.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::design_rules::learn::labels::{Block, Convolution, Evidence, Labels};
use crate::design_rules::learn::rules::{Advice, Recommendation, imperative};
use crate::design_rules::learn::tree::TreeSearch;
use crate::design_rules::{Answer, Dag, Model, Run, Runs, Timeline, program_of};

/// Maximum number of points of a line. Longer lines keep the highest and the lowest point of half
/// as many sections.
const POINTS: usize = 1000;
/// Approximate maximum number of drawn peaks that are no boundaries.
const PEAKS: usize = 300;
/// Maximum number of ranks drawn per schedule; more would look alike.
const RANKS: usize = 8;

/// Writes the page about runs and the model that was learned from them.
///
/// The page has headline figures, advice, the fastest and the slowest schedule as steps and in
/// time, the sorted times (the paper's Figure 1), rules by class and the tree (Figure 6). It ends
/// with the evidence for the classes (Figure 4), the choice of the tree (Figure 5) and notes. Lines
/// are thinned, so a large space doesn't make a large page. Schedules are drawn in time if
/// [`About`](crate::design_rules::About) has timelines.
pub fn page(runs: &Runs, model: &Model) -> String {
    let about = &runs.about;
    let mut origin = json!(about.origin());
    // A JavaScript number has too few digits for it.
    origin["seed"] = about.seed.to_string().into();
    let data = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "runs": {
            "measured": runs.runs.len(),
            "known": Answer::of(runs, &model.labels),
            "noise": about.noise,
            "about": origin,
            "fastest": runs.fastest().map(|run| schedule(run, about.fastest.as_ref())),
            "slowest": runs.slowest().map(|run| schedule(run, about.slowest.as_ref())),
        },
        "labels": labels(&model.labels),
        "model": model.search.as_ref().map(|search| learnt(model, search)),
        "answer": model.advice.as_ref().map(|advice| answer(advice, program_of(about).ok().as_ref())),
        "without_advice": model.without_advice(about.noise),
    });
    // Text of the data must not end its element, or begin another.
    let data = data.to_string().replace('<', "\\u003c");
    include_str!("page.html").replacen("{{data}}", &data, 1)
}

/// Returns a schedule: its steps, and their timeline on the rank that finishes last and some
/// others.
fn schedule(run: &Run, timeline: Option<&Timeline>) -> Value {
    let spans = timeline.map_or(&[][..], |timeline| &timeline.spans);
    let ranks: BTreeSet<usize> = spans.iter().map(|span| span.rank).collect();
    let end = |rank: usize| spans.iter().filter(|span| span.rank == rank).map(|span| span.end).fold(0.0, f64::max);
    let last = ranks.iter().copied().rev().max_by(|&a, &b| end(a).total_cmp(&end(b)));
    let others = ranks.iter().copied().filter(|&rank| Some(rank) != last).take(RANKS - 1);
    let rank = |rank: usize| {
        let spans = spans.iter().filter(|span| span.rank == rank);
        json!({ "rank": rank, "spans": spans.collect::<Vec<_>>() })
    };
    let steps = run.traversal.steps().iter().map(|step| json!({ "name": step.name, "stream": step.stream }));
    json!({
        "seconds": run.seconds,
        "steps": steps.collect::<Vec<_>>(),
        "longest": last.map_or(0.0, end),
        "rank_count": ranks.len(),
        "ranks": last.into_iter().chain(others).map(rank).collect::<Vec<_>>(),
    })
}

/// Returns the times and the evidence for the classes. Points of lines are indices and seconds.
/// Blocks are their bounds in seconds and their densities.
fn labels(labels: &Labels) -> Value {
    let sorted = labels.sorted();
    let points = |values: &[f64], first: usize| -> Vec<(usize, f64)> {
        values.iter().enumerate().map(|(place, &seconds)| (first + place, seconds)).collect()
    };
    let mut object = json!({
        "count": sorted.len(),
        "fastest": sorted[0],
        "slowest": sorted[sorted.len() - 1],
        "sorted": thin(&points(sorted, 0), POINTS),
        "starts": labels.starts(),
        "ranges": labels.all().map(|class| labels.range(class)).collect::<Vec<_>>(),
    });
    match labels.evidence() {
        Evidence::Density(blocks) => {
            let block = |block: &Block| json!([block.range[0], block.range[1], block.density]);
            object["blocks"] = blocks.iter().map(block).collect();
        }
        Evidence::Paper(convolution) => {
            let Convolution { radius, values, peaks, threshold, .. } = convolution;
            let values = points(values, convolution.first_index());
            let those = |kept: bool| peaks.iter().filter(move |peak| peak.kept == kept).map(|peak| values[peak.at]);
            object["radius"] = json!(radius);
            object["threshold"] = json!(threshold);
            object["convolution"] = json!(thin(&values, POINTS));
            object["peak_count"] = json!(peaks.len());
            object["peaks"] =
                those(false).step_by(those(false).count().div_ceil(PEAKS).max(1)).map(|point| json!(point)).collect();
            object["kept"] = those(true).map(|point| json!(point)).collect();
        }
    }
    object
}

/// Returns the advice, in sentences.
fn answer(advice: &Advice, dag: Option<&Dag>) -> Value {
    let point = |point: &Recommendation| {
        let rules: Vec<String> = point.rules.iter().map(|rule| imperative(rule, dag)).collect();
        json!({ "rules": rules, "effect": point.effect })
    };
    json!({
        "shared": advice.shared.iter().map(point).collect::<Vec<_>>(),
        "alternatives": advice.alternatives.iter().map(point).collect::<Vec<_>>(),
        "all": advice.all,
    })
}

/// Returns the rules, their tree and the search for its size.
fn learnt(model: &Model, search: &TreeSearch) -> Value {
    let nodes = search.tree.nodes().iter().map(|node| {
        json!({
            "question": node.split.map(|split| model.features.rule(split.feature, true).to_string()),
            // The first child has the samples for which the answer is yes.
            "children": node.split.map(|split| [split.children[1], split.children[0]]),
            "samples": node.samples,
            "counts": node.counts,
            "class": node.class,
        })
    });
    // Some sizes are trained twice, with the same tree.
    let mut trials = search.trials.clone();
    trials.sort_by_key(|trial| trial.max_leaf_nodes);
    trials.dedup_by_key(|trial| trial.max_leaf_nodes);
    json!({
        "rules": model.rules,
        "nodes": nodes.collect::<Vec<_>>(),
        "search": {
            "trials": trials,
            "max_leaf_nodes": search.max_leaf_nodes,
            "validated": search.validated,
            "error": search.tree.training_error(),
            "depth": search.tree.depth(),
        },
    })
}

/// Thins points to about `wanted`: the ends, and the lowest and the highest point of each of half
/// as many sections.
fn thin(points: &[(usize, f64)], wanted: usize) -> Vec<(usize, f64)> {
    if points.len() <= wanted {
        return points.to_vec();
    }
    let inner = &points[1..points.len() - 1];
    let by_height = |a: &&(usize, f64), b: &&(usize, f64)| a.1.total_cmp(&b.1);
    let mut kept = vec![points[0], points[points.len() - 1]];
    for stretch in inner.chunks(inner.len().div_ceil(wanted / 2)) {
        kept.extend(stretch.iter().min_by(by_height));
        kept.extend(stretch.iter().max_by(by_height));
    }
    kept.sort_unstable_by_key(|point| point.0);
    kept.dedup();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinned_lines_keep_ends_and_peaks() {
        let mut points: Vec<_> = (0..100_000).map(|place| (place, 0.0)).collect();
        points[54_321].1 = 7.0;
        points[54_322].1 = -7.0;
        let kept = thin(&points, 1000);
        assert!(kept.len() <= 1002 && kept.windows(2).all(|pair| pair[0].0 < pair[1].0), "{}", kept.len());
        assert!(kept.contains(&points[54_321]) && kept.contains(&points[54_322]));
        assert_eq!((kept[0], kept[kept.len() - 1]), (points[0], points[99_999]));
        assert_eq!(thin(&points[..10], 10), &points[..10]);
    }
}
