//! The page's head, and its last section.

use super::super::{Model, Runs};
use super::SECTIONS;
use super::markup::Markup;
use super::units::{counted, grouped, percent, short, time};

/// The title, the headline figures and the links to the sections.
pub(super) fn write(to: &mut Markup, runs: &Runs, model: &Model) {
    let about = &runs.about;
    let sorted = model.labels.sorted();
    let (fastest, slowest) = (sorted[0], sorted[sorted.len() - 1]);
    to.open("header", &[]).leaf("p", &[("class", &"over-title")], "Design rules");
    to.leaf("h1", &[], &about.program);
    for line in [&about.input, &about.platform] {
        if !line.is_empty() {
            to.leaf("p", &[("class", &"meta")], line);
        }
    }
    to.open("dl", &[("class", &"figures")]);
    figure(to, "fastest", &time(fastest), "");
    figure(to, "slowest", &time(slowest), "");
    if fastest > 0.0 {
        figure(to, "slowest / fastest", &format!("{:.3}", slowest / fastest), "");
    }
    let space = about.space.as_deref().map(|space| {
        let share = space.parse::<f64>().ok().filter(|all| *all > 0.0).map(|all| runs.runs.len() as f64 / all);
        let share = share.map_or(String::new(), |share| match share {
            1.0 => ": all".to_owned(),
            // Of this many, the share says nothing that the number doesn't.
            0.0..5e-5 => String::new(),
            share => format!(": {}", percent(share)),
        });
        format!("of {}{share}", short(space))
    });
    figure(to, "schedules measured", &grouped(runs.runs.len()), &space.unwrap_or_default());
    figure(to, "classes", &model.labels.count().to_string(), "");
    let seed = if about.search == "dfs" { String::new() } else { format!("seed {}", about.seed) };
    figure(to, "search", search(&about.search), &seed);
    figure(to, "ranks", &grouped(about.ranks), "");
    figure(to, "streams", &about.streams.to_string(), "at most");
    to.close();
    to.open("nav", &[("aria-label", &"Sections")]).open("ul", &[]);
    for (id, heading) in SECTIONS {
        to.open("li", &[]).leaf("a", &[("href", &format!("#{id}"))], heading).close();
    }
    to.close().close().close();
}

fn figure(to: &mut Markup, name: &str, value: &str, more: &str) {
    to.open("div", &[]).leaf("dt", &[], name).open("dd", &[]).say(value);
    if !more.is_empty() {
        to.leaf("small", &[], more);
    }
    to.close().close();
}

/// A search's name, for people.
fn search(name: &str) -> &str {
    match name {
        "mcts" => "tree search",
        "random" => "random",
        "dfs" => "depth first",
        "survey" => "all, shuffled",
        name => name,
    }
}

/// What the words and drawings mean.
pub(super) fn write_reading(to: &mut Markup) {
    let entries = [
        (
            "Schedules",
            "A schedule is an order of the program's operations, with a stream for each operation of the GPU. All schedules do the same \
             work; only their order, their streams and the synchronisation that follows from these differ.",
        ),
        (
            "Synchronisation",
            "It is inserted where streams need it, and counts as steps. CER-after-u records an event behind u; at CES-b4-v the host \
             waits for the event that v needs, and at CSWE-b4-v the stream of v waits. Where v needs several, the name says which: \
             CES-b4-v-after-u.",
        ),
        (
            "Classes",
            "Runs are sorted by time, and classed where their times take a large step. Class 1 is the fastest. Bounds come from the data, \
             not from anybody's choice of a number.",
        ),
        (
            "Rules",
            "A set of rules is a way through the decision tree to a class. \u{201c}u before v\u{201d} is about the order in which the \
             host does or launches steps; \u{201c}same stream as\u{201d} is about two operations of the GPU. A schedule that follows all \
             rules of a set is in its class, as far as the runs tell; other choices are free. Sets of one class are alternatives, and may \
             contradict each other.",
        ),
        (
            "Insufficient rules",
            "Some runs that follow the set are of another class: the features don't tell them apart, or too few leaves were allowed.",
        ),
        (
            "What to make of it",
            "Take a set of the class that is wanted, the largest first, and write the program so that it holds; or read off what the fast \
             sets have in common. Rules of a part of the space may say more than is needed, or too little. They hold for this program, \
             input and platform.",
        ),
    ];
    to.open("dl", &[("class", &"reading")]);
    for (name, text) in entries {
        to.leaf("dt", &[], name).leaf("dd", &[], text);
    }
    to.close();
}

/// `1 sample`, `412 samples`.
pub(super) fn samples(number: usize) -> String {
    counted(number, "sample")
}
