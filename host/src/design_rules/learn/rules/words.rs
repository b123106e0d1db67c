//! Rules as imperative sentences, and the answer where there are none.

use crate::design_rules::learn::features::{Feature, Rule};
use crate::design_rules::program::{Dag, Kind};

/// Returns a rule as a sentence: `launch y_L before the host waits for Pack`. Without the program,
/// the sentence can't tell GPU operations from others, nor name an operation that a step's name
/// omits.
pub fn imperative(rule: &Rule, dag: Option<&Dag>) -> String {
    match (&rule.feature, rule.value) {
        (Feature::Order { before, after }, value) => {
            let not = if value { "" } else { "don't " };
            let ([action, _], [_, event]) = (said(before, dag), said(after, dag));
            format!("{not}{action} before {event}")
        }
        (Feature::SameStream { a, b }, true) => format!("put {a} and {b} into one stream"),
        (Feature::SameStream { a, b }, false) => format!("put {a} and {b} into different streams"),
        (Feature::AtMost { .. }, _) => format!("where {rule}"),
        (Feature::Chosen { choice, alternative }, value) => {
            let is_setting = |dag: &Dag| dag.choices().iter().any(|other| other.name() == choice && other.is_setting());
            let action = if dag.is_some_and(is_setting) { "set" } else { "do" };
            format!("{}{action} {choice} as {alternative}", if value { "" } else { "don't " })
        }
    }
}

/// Returns the answer where all runs are of one class. `noise` is the relative standard error of their
/// times, if it is known.
pub(in crate::design_rules::learn) fn indistinct(noise: Option<f64>) -> String {
    let noise = match noise {
        None => "the noise is unknown".to_owned(),
        Some(0.0) => "the times have no noise, and no steps".to_owned(),
        Some(noise) => format!("the noise is {:.2} %", 100.0 * noise),
    };
    format!(
        "No classes could be told apart: {noise}. Measure more (`--iterations`, `--repeats-at-most`, `--passes`) or differently."
    )
}

/// Returns a step in words: as what to do, and as what happens.
fn said(name: &str, dag: Option<&Dag>) -> [String; 2] {
    if let Some(op) = name.strip_prefix("CER-after-") {
        return [format!("record {op}'s event"), format!("{op}'s event is recorded")];
    }
    let (waits, rest) = match (name.strip_prefix("CES-b4-"), name.strip_prefix("CSWE-b4-")) {
        (Some(rest), _) => (false, rest),
        (None, Some(rest)) => (true, rest),
        (None, None) => {
            let kind = dag.and_then(|dag| Some(dag.kind(dag.find(name)?)));
            let is_launched = kind == Some(Kind::Gpu);
            let event = if is_launched { format!("{name} is launched") } else { name.to_owned() };
            return [format!("{} {name}", if is_launched { "launch" } else { "do" }), event];
        }
    };
    let (before, after) = match rest.split_once("-after-") {
        Some((before, after)) => (before, Some(after)),
        None => (rest, None),
    };
    // The name omits the operation if only one operation of the GPU can be waited for.
    let only = || {
        let dag = dag?;
        let mut all = dag.predecessors(dag.find(before)?).filter(|&op| dag.kind(op) == Kind::Gpu);
        all.next().map(|op| dag.name_of(op))
    };
    let what = after.or_else(only).map_or_else(|| format!("what {before} needs"), str::to_owned);
    let who = if waits { format!("{before}'s stream") } else { "the host".to_owned() };
    [format!("have {who} wait for {what}"), format!("{who} waits for {what}")]
}
