//! A schedule as a list of its steps.

use super::super::NamedStep;
use super::super::Traversal;
use super::markup::Markup;

/// Writes a table of the steps. `caption` says which schedule it is.
pub(super) fn write(to: &mut Markup, caption: &str, traversal: &Traversal) {
    to.open("div", &[("class", &"scroll"), ("tabindex", &0), ("role", &"group"), ("aria-label", &caption)]);
    to.open("table", &[]).leaf("caption", &[], caption).open("thead", &[]).open("tr", &[]);
    to.leaf("th", &[("scope", &"col"), ("class", &"n")], "no.");
    for name in ["step", "what it does"] {
        to.leaf("th", &[("scope", &"col")], name);
    }
    to.close().close().open("tbody", &[]);
    for (index, step) in traversal.steps().iter().enumerate() {
        to.open("tr", &[]).leaf("td", &[("class", &"n")], index + 1);
        to.open("td", &[("class", &"w")]).leaf("code", &[], &step.name).close();
        to.leaf("td", &[], explain(step)).close();
    }
    to.close().close().close();
}

/// What a step does, as its name tells.
fn explain(step: &NamedStep) -> String {
    let NamedStep { name, stream } = step;
    if let Some(after) = name.strip_prefix("CER-after-") {
        return format!("event behind {after}");
    }
    let stream = stream.map(|stream| format!("stream {stream}"));
    let place = stream.as_deref().unwrap_or("host");
    match name.strip_prefix("CES-b4-").or_else(|| name.strip_prefix("CSWE-b4-")) {
        Some(rest) => match rest.split_once("-after-") {
            Some((_, after)) => format!("{place} waits for {after}"),
            None => format!("{place} waits"),
        },
        None => place.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_in_words() {
        let traversal: Traversal = "a@1;CER-after-a;CES-b4-b;CSWE-b4-c-after-a@0;c@0;b".parse().unwrap();
        let words: Vec<_> = traversal.steps().iter().map(explain).collect();
        assert_eq!(words, ["stream 1", "event behind a", "host waits", "stream 0 waits for a", "stream 0", "host"]);
    }
}
