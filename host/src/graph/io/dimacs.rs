//! The formats of DIMACS and PACE: a line for the problem and one for each edge.

use super::{MOST, Wanted, add, keep, none, numbered, shown, too_many, vertex};
use crate::{
    graph::Graph,
    io::{Lines, Reason, declared, number, words},
};

/// Reads `p sp N M` with lines `a U V WEIGHT`, `p edge N M` with lines `e U V`, or `p tw N M` with lines `U V`.
pub(super) fn read(mut lines: Lines, mut weights: Wanted<'_>) -> Result<Graph, Reason> {
    let mut announced = None;
    let mut edges = Vec::new();
    while lines.next_filled()? {
        let mut words = words(lines.line());
        let mut word = || words.next().unwrap_or_default();
        match (word(), announced) {
            (b"p", None) => {
                let (problem, vertices, arcs) = (word(), number(word()), number(word()));
                let kind = match problem {
                    b"sp" => Some(&b"a"[..]),
                    b"edge" | b"col" => Some(&b"e"[..]),
                    b"tw" => Some(&b""[..]),
                    _ => None,
                };
                let (Some(kind), Some(vertices), Some(arcs), b"") = (kind, vertices, arcs, word()) else {
                    return Err(lines.error("the problem must be `p sp VERTICES ARCS`, or one of edges: `p edge` or `p tw`"));
                };
                if vertices > MOST as u64 {
                    return Err(lines.error(too_many("vertices", vertices)));
                }
                if kind != b"a" {
                    none(&weights, "its edges have").map_err(|reason| lines.error(reason))?;
                }
                announced = Some((kind, vertices, arcs));
            }
            (first, Some((kind, vertices, arcs))) if first == kind || kind.is_empty() && number(first).is_some() => {
                if edges.len() as u64 == arcs {
                    return Err(lines.error(format_args!("there is more after the {arcs} arcs that were announced")));
                }
                let end = |word: &[u8]| vertex(&lines, word, 1, vertices).map(|vertex| vertex - 1);
                let arc = if kind.is_empty() { [end(first)?, end(word())?] } else { [end(word())?, end(word())?] };
                let is_weighted = kind == b"a";
                let weight = if is_weighted { word() } else { b"" };
                if is_weighted && weight.is_empty() || !word().is_empty() {
                    let wanted =
                        if is_weighted { "an arc is `a U V WEIGHT`" } else { "an edge has two vertices, and here is more" };
                    return Err(lines.error(wanted));
                }
                keep(&mut weights, std::str::from_utf8(weight).ok(), |reason| lines.error(reason))?;
                add(&mut edges, arc)?;
            }
            (b"p", Some(_)) => return Err(lines.error("there is a second problem")),
            (b"a" | b"e", None) => return Err(lines.error("there is an arc before the problem, `p sp VERTICES ARCS`")),
            (b"n", Some(_)) => {}
            (first, _) if first.starts_with(b"c") => {}
            (first, _) => {
                return Err(lines.error(format_args!("a line starts with `c`, `p` or `a`, and this one with {}", shown(first))));
            }
        }
    }
    let Some((kind, vertices, arcs)) = announced else { return Err("ends before the problem, `p sp VERTICES ARCS`".into()) };
    if (edges.len() as u64) < arcs {
        return Err(format!("ends after {} of {arcs} arcs", edges.len()).into());
    }
    let most = declared(lines.bytes());
    if vertices > most {
        return Err(format!("declares {vertices} vertices, but in a file of this size there may be {most} at most").into());
    }
    Ok(numbered(vertices as usize, edges, kind == b"a", 1))
}
