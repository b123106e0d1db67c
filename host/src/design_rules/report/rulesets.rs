//! The rules of each class.

use super::super::{Model, Ruleset};
use super::markup::Markup;
use super::summary::samples;
use super::units::percent;

/// This many rulesets of a class are in sight; the others are folded.
const SHOWN: usize = 9;

/// The rulesets of each class, those that most runs follow first.
pub(super) fn write(to: &mut Markup, model: &Model) {
    to.leaf(
        "p",
        &[],
        "A schedule that follows all rules of one set is in its class. Sets of one class are alternatives; those that most runs follow \
         come first.",
    );
    for class in model.labels.all() {
        let sets: Vec<_> = model.rules.of_class(class).collect();
        to.open("h3", &[]).open("span", &[("class", &format!("swatch k{}", class.index())), ("aria-hidden", &"true")]).close();
        to.say(format!("Class {class}"));
        let last = model.labels.count() - 1;
        to.say(match class.index() {
            _ if last == 0 => ", the only one",
            0 => ", the fastest",
            index if index == last => ", the slowest",
            _ => "",
        });
        to.close();
        if sets.is_empty() {
            to.leaf("p", &[("class", &"meta")], "No rules lead to it: the tree puts its runs into other classes.");
            continue;
        }
        let (shown, folded) = sets.split_at(sets.len().min(SHOWN));
        list(to, shown, model.labels.places(class).len());
        if !folded.is_empty() {
            to.open("details", &[]).leaf("summary", &[], format!("{} more, which fewer runs follow", folded.len()));
            list(to, folded, model.labels.places(class).len());
            to.close();
        }
    }
}

/// Sets of one class, which has so many runs.
fn list(to: &mut Markup, sets: &[&Ruleset], of_class: usize) {
    to.open("ul", &[("class", &"sets")]);
    for set in sets {
        let right = set.counts.get(set.class.index()).copied().unwrap_or(0);
        to.open("li", &[("class", &format!("k{}", set.class.index()))]);
        to.leaf(
            "p",
            &[("class", &"meta")],
            format!("{}, {} of the class", samples(set.samples), percent(right as f64 / of_class.max(1) as f64)),
        );
        to.open("ul", &[]);
        if set.rules.is_empty() {
            to.leaf("li", &[], "any schedule");
        }
        for rule in &set.rules {
            to.leaf("li", &[], rule);
        }
        to.close();
        if !set.is_sufficient() {
            let others = percent(1.0 - set.purity);
            to.leaf("span", &[("class", &"mark")], format!("insufficient rules: {others} are of other classes"));
        }
        to.close();
    }
    to.close();
}
