//! Schedules as code: streams, events and calls of the program's operations, or the graph that they come to.

mod cuda;
mod dot;
mod svg;

use std::fmt;

use crate::design_rules::{Dag, Kind, OpId, Schedule, Step};

/// A language to write schedules in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Language {
    /// C++17 with CUDA's runtime: a structure whose function `run` calls the operations
    Cuda,
    /// A graph of the operations in Graphviz's language, as a CUDA graph would have it
    Dot,
}

/// A schedule as a text in this language, with a function to be filled in for each operation.
///
/// ```
/// use warpsmith::design_rules::{Dag, Schedule, emit::{Language, emit}};
///
/// let dag = Dag::builder("exchange").gpu("Pack").cpu("Send").edge("Pack", "Send").build()?;
/// let code = emit(&dag, &Schedule::textbook(&dag), Language::Cuda);
/// assert!(code.contains("op.Pack(streams[0]);"));
/// # Ok::<(), warpsmith::design_rules::RulesError>(())
/// ```
pub fn emit(dag: &Dag, schedule: &Schedule, language: Language) -> String {
    match language {
        Language::Cuda => written(|text| cuda::write(dag, schedule, text)),
        Language::Dot => written(|text| dot::schedule(dag, schedule, text)),
    }
}

/// Draws a program in Graphviz's language: boxes are operations of the GPU, ellipses those of the host; a choice has a
/// frame around its alternatives.
pub fn program(dag: &Dag) -> String {
    written(|text| dot::program(dag, text))
}

/// Draws a program as SVG: boxes are operations of the GPU, ellipses those of the host; a choice has a frame around its
/// alternatives.
pub fn picture(dag: &Dag) -> String {
    written(|text| svg::program(dag, text))
}

/// Returns the text that `build` writes.
fn written(build: impl FnOnce(&mut String) -> fmt::Result) -> String {
    let mut text = String::new();
    build(&mut text).expect("writing to a string doesn't fail");
    text
}

/// A name in one line.
fn printable(name: &str) -> String {
    name.replace(char::is_control, " ")
}

/// For each of a schedule's operations, those that are done before it starts, whatever takes how long; as sets.
fn before(dag: &Dag, schedule: &Schedule) -> Vec<u64> {
    let mut before = vec![0; dag.len()];
    let mut home = vec![0; dag.len()];
    let mut events = vec![0; dag.len()];
    let mut streams = vec![0; schedule.streams()];
    let mut host = 0;
    for &step in schedule.steps() {
        match step {
            Step::Cpu(op) => {
                before[op.index()] = host;
                host |= op.bit();
            }
            Step::Gpu { op, stream } => {
                let stream = usize::from(stream);
                home[op.index()] = stream;
                before[op.index()] = streams[stream] | host;
                streams[stream] |= host | op.bit();
            }
            Step::EventRecord { after } => events[after.index()] = streams[home[after.index()]],
            Step::EventSync { after, .. } => host |= events[after.index()],
            Step::StreamWait { after, stream, .. } => streams[usize::from(stream)] |= events[after.index()],
            Step::Choose { .. } => {}
        }
    }
    before
}

/// A schedule's operations in order, without the end.
fn operations(dag: &Dag, schedule: &Schedule) -> Vec<OpId> {
    let placed = |step: &Step| match *step {
        Step::Cpu(op) | Step::Gpu { op, .. } if op != dag.end() => Some(op),
        _ => None,
    };
    schedule.steps().iter().filter_map(placed).collect()
}

/// Pairs of a schedule's operations that may be under way at once, by their names: neither is done before the other
/// starts, whatever takes how long. The first of a pair is earlier in the schedule.
pub fn overlaps(dag: &Dag, schedule: &Schedule) -> Vec<(String, String)> {
    let before = before(dag, schedule);
    let all = operations(dag, schedule);
    let pairs = all.iter().enumerate().flat_map(|(index, &a)| all[index + 1..].iter().map(move |&b| (a, b)));
    let beside = pairs.filter(|&(a, b)| before[b.index()] & a.bit() == 0);
    beside.map(|(a, b)| (dag.name_of(a).to_owned(), dag.name_of(b).to_owned())).collect()
}

/// Describes how one schedule differs from another of the same program, as sentences: choices, the
/// least number of steps that moved, streams that are shared, and operations that may overlap.
/// Equal schedules have no sentences.
pub fn differences(dag: &Dag, schedule: &Schedule, other: &Schedule) -> Vec<String> {
    let mut said = Vec::new();
    for (index, choice) in dag.choices().iter().enumerate() {
        let [ours, theirs] = [schedule, other].map(|schedule| schedule.steps()[index]);
        if ours != theirs {
            let name = theirs.name(dag);
            let theirs = name.split_once('=').map_or("", |(_, alternative)| alternative);
            let name = ours.name(dag);
            let ours = name.split_once('=').map_or("", |(_, alternative)| alternative);
            said.push(format!("{} as {ours}, not as {theirs}", choice.name()));
        }
    }
    let list = |schedule: &Schedule| -> Vec<String> {
        let steps = schedule.steps().iter();
        steps.filter(|step| !matches!(step, Step::Choose { .. })).map(|step| step.name(dag)).collect()
    };
    let (ours, theirs) = (list(schedule), list(other));
    let kept = common(&ours, &theirs);
    let after = |steps: &[String], place: usize| match place.checked_sub(1) {
        Some(place) => format!("after {}", steps[place]),
        None => "at the start".to_owned(),
    };
    for (place, name) in ours.iter().enumerate().filter(|(_, name)| !kept.contains(name)) {
        match theirs.iter().position(|other| other == name) {
            Some(there) => said.push(format!("{name} {}, not {}", after(&ours, place), after(&theirs, there))),
            None => said.push(format!("{name} {}, which the other doesn't have", after(&ours, place))),
        }
    }
    said.extend(theirs.iter().filter(|name| !ours.contains(name)).map(|name| format!("no {name}")));
    let shared = |schedule: &Schedule| -> Vec<(String, String)> {
        let bound: Vec<_> = schedule.steps().iter().filter_map(|step| Some((step.name(dag), step.bound()?))).collect();
        let pairs = bound.iter().enumerate().flat_map(|(index, a)| bound[index + 1..].iter().map(move |b| (a, b)));
        pairs.filter(|(a, b)| a.1 == b.1).map(|(a, b)| sorted(&a.0, &b.0)).collect()
    };
    let beside = |schedule: &Schedule| overlaps(dag, schedule).iter().map(|(a, b)| sorted(a, b)).collect::<Vec<_>>();
    for (ours, theirs, has, lacks) in [
        (shared(schedule), shared(other), "share a stream", "don't share a stream"),
        (beside(schedule), beside(other), "may overlap", "don't overlap"),
    ] {
        let is_there = |name: &String, steps: &[String]| steps.contains(name);
        said.extend(ours.iter().filter(|pair| !theirs.contains(pair)).map(|(a, b)| format!("{a} and {b} {has}")));
        let lost = theirs.iter().filter(|pair| !ours.contains(pair));
        let lost = lost.filter(|(a, b)| is_there(a, &list(schedule)) && is_there(b, &list(schedule)));
        said.extend(lost.map(|(a, b)| format!("{a} and {b} {lacks}")));
    }
    said
}

fn sorted(a: &str, b: &str) -> (String, String) {
    if a <= b { (a.to_owned(), b.to_owned()) } else { (b.to_owned(), a.to_owned()) }
}

/// A longest common subsequence of two lists without duplicates.
fn common<'a>(a: &'a [String], b: &[String]) -> Vec<&'a String> {
    let mut longest = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            longest[i][j] = if a[i] == b[j] { longest[i + 1][j + 1] + 1 } else { longest[i + 1][j].max(longest[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut found) = (0, 0, Vec::new());
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            found.push(&a[i]);
            (i, j) = (i + 1, j + 1);
        } else if longest[i + 1][j] >= longest[i][j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    found
}

/// Returns whether the GPU runs an operation.
fn is_gpu(dag: &Dag, op: OpId) -> bool {
    dag.kind(op) == Kind::Gpu
}
