//! Rules as imperative sentences.

use crate::design_rules::learn::features::{Feature, Rule};
use crate::design_rules::program::{Dag, Kind};

/// Returns a rule as a sentence: `launch y_L before the host waits for Pack`. Without the program,
/// the sentence can't tell GPU operations from others, nor name an operation that a step's name
/// omits.
pub fn imperative(rule: &Rule, dag: Option<&Dag>) -> String {
    match (&rule.feature, rule.value) {
        (Feature::Order { before, after }, value) => {
            let not = if value { "" } else { "don't " };
            format!("{not}{} before {}", action(before, dag), event(after, dag))
        }
        (Feature::SameStream { a, b }, true) => format!("put {a} and {b} into one stream"),
        (Feature::SameStream { a, b }, false) => format!("put {a} and {b} into different streams"),
        (Feature::Chosen { choice, alternative }, true) => format!("do {choice} as {alternative}"),
        (Feature::Chosen { choice, alternative }, false) => format!("don't do {choice} as {alternative}"),
    }
}

/// The meaning of a step's name.
enum Named<'a> {
    Launch(&'a str),
    Call(&'a str),
    Record(&'a str),
    /// The operation whose stream waits (`None` for the host), and the operation waited for.
    Wait(Option<&'a str>, String),
}

fn named<'a>(name: &'a str, dag: Option<&'a Dag>) -> Named<'a> {
    if let Some(after) = name.strip_prefix("CER-after-") {
        return Named::Record(after);
    }
    let (waits, rest) = match (name.strip_prefix("CES-b4-"), name.strip_prefix("CSWE-b4-")) {
        (Some(rest), _) => (false, rest),
        (None, Some(rest)) => (true, rest),
        (None, None) => {
            let kind = dag.and_then(|dag| Some(dag.kind(dag.find(name)?)));
            return if kind == Some(Kind::Gpu) { Named::Launch(name) } else { Named::Call(name) };
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
    Named::Wait(waits.then_some(before), what)
}

fn action(name: &str, dag: Option<&Dag>) -> String {
    match named(name, dag) {
        Named::Launch(op) => format!("launch {op}"),
        Named::Call(op) => format!("do {op}"),
        Named::Record(op) => format!("record {op}'s event"),
        Named::Wait(None, what) => format!("have the host wait for {what}"),
        Named::Wait(Some(op), what) => format!("have {op}'s stream wait for {what}"),
    }
}

fn event(name: &str, dag: Option<&Dag>) -> String {
    match named(name, dag) {
        Named::Launch(op) => format!("{op} is launched"),
        Named::Call(op) => op.to_owned(),
        Named::Record(op) => format!("{op}'s event is recorded"),
        Named::Wait(None, what) => format!("the host waits for {what}"),
        Named::Wait(Some(op), what) => format!("{op}'s stream waits for {what}"),
    }
}
