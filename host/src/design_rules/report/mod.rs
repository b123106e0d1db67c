//! The runs of a program, their classes, the rules and the best schedule as one page of HTML.
//!
//! The page stands by itself: styles and drawings are inside, and nothing is loaded. It is well-formed XML, too.

mod chart;
mod markup;
mod palette;
mod rulesets;
mod schedules;
mod steps;
mod summary;
mod timeline;
mod times;
mod training;
mod tree;
mod units;

use super::{Model, Runs};
use markup::Markup;

/// Its sections: what links name them, and their headings.
const SECTIONS: [(&str, &str); 7] = [
    ("times", "Times"),
    ("schedules", "Fastest and slowest schedule"),
    ("rules", "Rules"),
    ("tree", "Decision tree"),
    ("labelling", "How the classes came about"),
    ("training", "How the tree was chosen"),
    ("reading", "How to read this"),
];

/// Has the root in sight, where a tree is wider than its box.
const CENTRE: &str = "const centre = place => { for (const svg of place.querySelectorAll('svg.tree')) \
    svg.parentElement.scrollLeft = svg.dataset.root - svg.parentElement.clientWidth / 2; }; \
    centre(document); document.addEventListener('toggle', event => centre(event.target), true);";

/// The page about these runs, and what was learnt from them: HTML that is well-formed XML.
///
/// Sections: headline figures, sorted times (the paper's Figure 1), the fastest and the slowest schedule in time and as
/// steps, rules by class, the tree (Figure 6), how classes came about (Figure 4), how the tree was chosen (Figure 5),
/// how to read it all. Lines are thinned, so that large spaces don't make a large page. Schedules are drawn in time
/// where [`About`](super::About) has timelines.
pub fn page(runs: &Runs, model: &Model) -> String {
    let mut to = Markup::default();
    to.raw("<!DOCTYPE html>\n");
    to.open("html", &[("lang", &"en"), ("xmlns", &"http://www.w3.org/1999/xhtml")]).open("head", &[]);
    to.empty("meta", &[("charset", &"utf-8")]);
    to.empty("meta", &[("name", &"viewport"), ("content", &"width=device-width, initial-scale=1")]);
    to.empty("meta", &[("name", &"generator"), ("content", &"warpsmith")]);
    to.leaf("title", &[], format!("Design rules: {}", runs.about.program));
    to.open("style", &[]).raw(include_str!("style.css")).raw(&palette::style(model.labels.count())).close();
    to.close().open("body", &[]);
    summary::write(&mut to, runs, model);
    to.open("main", &[]);
    for (id, heading) in SECTIONS {
        to.open("section", &[("id", &id), ("aria-labelledby", &format!("{id}-heading"))]);
        to.leaf("h2", &[("id", &format!("{id}-heading"))], heading);
        match id {
            "times" => times::write(&mut to, &model.labels),
            "schedules" => schedules::write(&mut to, runs),
            "rules" => rulesets::write(&mut to, model),
            "tree" => tree::write(&mut to, model),
            "labelling" => times::write_labelling(&mut to, &model.labels),
            "training" => training::write(&mut to, &model.search),
            _ => summary::write_reading(&mut to),
        }
        to.close();
    }
    to.open("footer", &[]).say("Made by warpsmith ").say(env!("CARGO_PKG_VERSION"));
    to.say(". The method is that of C. Pearson, A. Javeed and K. Devine, Machine Learning for CUDA+MPI Design Rules (2022).");
    to.close().close();
    to.open("script", &[]).raw(CENTRE).close();
    to.close().close();
    to.finish()
}
