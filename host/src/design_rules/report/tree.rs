//! Draws a decision tree.

use super::super::Model;
use super::markup::{Markup, px};
use super::units::{counted, percent};

/// Width of a node, in pixels.
const WIDTH: f64 = 172.0;
/// Between neighbours.
const GAP: f64 = 14.0;
/// Between rows: room for the word beside a link.
const ROW: f64 = 44.0;
/// Height of a line of text.
const LINE: f64 = 15.0;
/// Characters that fit a line.
const CHARACTERS: usize = 23;
/// Of a tree with more leaves, a part is drawn first.
const LEAVES: usize = 10;
/// Above, below and beside a node's text.
const PAD: f64 = 9.0;

/// A node to draw; the root is the first of them.
#[derive(Clone, Debug)]
struct Node {
    /// The question that it asks, as a sentence that is true or not; a leaf asks none.
    question: Option<String>,
    /// How many training samples came to it.
    samples: usize,
    /// The share of each class among them.
    shares: Vec<f64>,
    /// The class that it stands for.
    class: usize,
    /// Those who say yes, and those who say no.
    children: Option<[usize; 2]>,
    /// Whether it is drawn as a leaf, but asks on.
    goes_on: bool,
}

impl Node {
    /// Its text: the question or the class, how many, and what they are.
    fn lines(&self) -> Vec<(String, &'static str)> {
        let class = self.class;
        let mut lines: Vec<_> = match &self.question {
            Some(question) => wrap(&format!("{question}?"), CHARACTERS).into_iter().map(|line| (line, "")).collect(),
            None => vec![(format!("class {}", class + 1), "strong")],
        };
        lines.push((counted(self.samples, "sample"), "small"));
        let share = self.shares.get(class).copied().unwrap_or(1.0);
        lines.push(match (&self.question, share < 1.0) {
            (None, true) if self.goes_on => (format!("{} of them; goes on", percent(share)), "small"),
            (None, true) => (format!("insufficient: {}", percent(share)), "small"),
            (None, false) => ("all of one class".to_owned(), "small"),
            _ => (format!("class {}: {}", class + 1, percent(share)), "small"),
        });
        lines
    }

    fn height(&self) -> f64 {
        2.0 * PAD + LINE * self.lines().len() as f64 + 12.0
    }
}

/// Where nodes go: the middle of each, and how far it is from the root.
struct Places {
    middle: Vec<f64>,
    depth: Vec<usize>,
    width: f64,
}

/// The model's tree. Of a large one its first splits, and then all of it.
pub(super) fn write(to: &mut Markup, model: &Model) {
    let leaves = model.search.tree.leaves();
    let nodes = nodes(model, leaves);
    to.leaf(
        "p",
        &[],
        "From the top: where the sentence of a node holds, go to the left, else to the right. A node has how many runs come to it and, as \
         a bar, their classes. Round ones are leaves. Classes weigh the same as a whole, so that a leaf of a rare class may have more \
         runs of a common one.",
    );
    if leaves <= LEAVES {
        return draw(to, "tree", "The decision tree", &nodes);
    }
    to.leaf("p", &[], format!("These are the first {} splits, which tell most; dashed nodes go on.", LEAVES - 1));
    draw(to, "first", "The decision tree's first splits", &self::nodes(model, LEAVES));
    to.open("details", &[]).leaf("summary", &[], format!("The whole tree, of {leaves} leaves"));
    draw(to, "tree", "The decision tree", &nodes);
    to.close();
}

/// The nodes of the model's tree, as far as it had this many leaves: it grew a split at a time.
fn nodes(model: &Model, leaves: usize) -> Vec<Node> {
    let nodes = model.search.tree.nodes();
    let len = (2 * leaves - 1).min(nodes.len());
    let node = |node: &super::super::tree::Node| {
        let split = node.split.filter(|split| split.children.iter().all(|&child| child < len));
        let most = (0..node.counts.len()).rev().max_by_key(|&class| node.counts[class]).unwrap_or(0);
        Node {
            question: split.map(|split| model.features.rule(split.feature, true).to_string()),
            samples: node.samples,
            shares: node.counts.iter().map(|&count| count as f64 / node.samples.max(1) as f64).collect(),
            class: if node.split.is_some() { most } else { node.class.index() },
            children: split.map(|split| [split.children[1], split.children[0]]),
            goes_on: node.split.is_some() && split.is_none(),
        }
    };
    nodes[..len].iter().map(node).collect()
}

/// Draws the tree of these nodes, of which the first is the root.
fn draw(to: &mut Markup, id: &str, title: &str, nodes: &[Node]) {
    let places = place(nodes);
    let rows = places.depth.iter().max().map_or(0, |depth| depth + 1);
    let mut heights = vec![0.0f64; rows];
    for (node, &depth) in nodes.iter().zip(&places.depth) {
        heights[depth] = heights[depth].max(node.height());
    }
    let tops: Vec<f64> = (0..rows).map(|row| 4.0 + heights[..row].iter().map(|height| height + ROW).sum::<f64>()).collect();
    let height = tops.last().zip(heights.last()).map_or(0.0, |(top, height)| top + height + 4.0);

    to.open("div", &[("class", &"scroll"), ("tabindex", &0), ("role", &"group"), ("aria-label", &title)]).open(
        "svg",
        &[
            ("xmlns", &"http://www.w3.org/2000/svg"),
            ("class", &"tree"),
            ("width", &px(places.width)),
            ("height", &px(height)),
            ("viewBox", &format!("0 0 {} {}", px(places.width), px(height))),
            ("role", &"img"),
            ("aria-labelledby", &format!("{id}-title {id}-desc")),
            ("data-root", &px(places.middle.first().copied().unwrap_or(0.0))),
        ],
    );
    to.leaf("title", &[("id", &format!("{id}-title"))], title);
    to.leaf("desc", &[("id", &format!("{id}-desc"))], describe(nodes));
    for (index, node) in nodes.iter().enumerate() {
        for (&child, word) in node.children.iter().flatten().zip(["yes", "no"]) {
            let (from, until) = (places.middle[index], places.middle[child]);
            let (top, bottom) = (tops[places.depth[index]] + node.height(), tops[places.depth[child]]);
            let bend = bottom - 0.62 * ROW;
            let path = format!("M{} {}V{}H{}V{}", px(from), px(top), px(bend), px(until), px(bottom));
            to.empty("path", &[("class", &"link"), ("d", &path)]);
            let y = bottom - 0.22 * ROW;
            to.leaf("text", &[("class", &"way"), ("x", &px(until)), ("y", &px(y))], word);
        }
    }
    for (index, node) in nodes.iter().enumerate() {
        draw_node(to, node, places.middle[index] - 0.5 * WIDTH, tops[places.depth[index]]);
    }
    to.close().close();
}

/// A node whose corner is there.
fn draw_node(to: &mut Markup, node: &Node, left: f64, top: f64) {
    let (class, height) = (node.class, node.height());
    to.open("g", &[("class", &format!("k{class}"))]);
    let shares = node.shares.iter().enumerate().filter(|(_, share)| **share > 0.0);
    let shares: Vec<_> = shares.map(|(class, &share)| format!("class {}: {}", class + 1, percent(share))).collect();
    to.leaf("title", &[], format!("{}; {}", counted(node.samples, "sample"), shares.join(", ")));
    for face in ["node", "face"] {
        let radius = if node.question.is_some() { 4 } else { 12 };
        let class = if face == "face" && node.goes_on { "face on" } else { face };
        to.empty(
            "rect",
            &[
                ("class", &class),
                ("x", &px(left)),
                ("y", &px(top)),
                ("width", &px(WIDTH)),
                ("height", &px(height)),
                ("rx", &radius),
            ],
        );
    }
    let mut y = top + PAD;
    for (text, class) in node.lines() {
        y += LINE;
        to.leaf("text", &[("class", &class), ("x", &px(left + 10.0)), ("y", &px(y - 3.5))], text);
    }
    let (mut x, whole) = (left + 10.0, WIDTH - 20.0);
    for (class, share) in node.shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
        to.empty(
            "rect",
            &[
                ("class", &format!("part k{class}")),
                ("x", &px(x)),
                ("y", &px(y + 5.0)),
                ("width", &px(share * whole)),
                ("height", &7),
            ],
        );
        x += share * whole;
    }
    to.close();
}

/// Puts nodes side by side, subtrees as near to each other as they go, and parents above the middle of their children.
fn place(nodes: &[Node]) -> Places {
    let mut places = Places { middle: vec![0.0; nodes.len()], depth: vec![0; nodes.len()], width: 0.0 };
    if nodes.is_empty() {
        return places;
    }
    // From the children to the root: where children are, relative to their parents.
    let order = from_the_root(nodes, &mut places.depth);
    let mut outlines: Vec<Vec<[f64; 2]>> = vec![Vec::new(); nodes.len()];
    let mut relative = vec![0.0; nodes.len()];
    for &index in order.iter().rev() {
        let mut outline = vec![[-0.5 * WIDTH, 0.5 * WIDTH]];
        if let Some([yes, no]) = nodes[index].children {
            let (left, right) = (std::mem::take(&mut outlines[yes]), std::mem::take(&mut outlines[no]));
            let apart = left.iter().zip(&right).map(|(left, right)| left[1] - right[0] + GAP).fold(0.0, f64::max);
            (relative[yes], relative[no]) = (-0.5 * apart, 0.5 * apart);
            for row in 0..left.len().max(right.len()) {
                let at = |outline: &Vec<[f64; 2]>, offset: f64| outline.get(row).map(|ends| ends.map(|end| end + offset));
                let both = (at(&left, relative[yes]), at(&right, relative[no]));
                outline.push(match both {
                    (Some(left), Some(right)) => [left[0], right[1]],
                    (left, right) => left.or(right).unwrap_or_default(),
                });
            }
        }
        outlines[index] = outline;
    }
    let first = outlines[0].iter().map(|ends| ends[0]).fold(f64::INFINITY, f64::min);
    let last = outlines[0].iter().map(|ends| ends[1]).fold(f64::NEG_INFINITY, f64::max);
    places.width = last - first + 4.0;
    places.middle[0] = 2.0 - first;
    for &index in &order {
        for &child in nodes[index].children.iter().flatten() {
            places.middle[child] = places.middle[index] + relative[child];
        }
    }
    places
}

/// All nodes, parents before their children; sets how far they are from the root.
fn from_the_root(nodes: &[Node], depth: &mut [usize]) -> Vec<usize> {
    let mut order = vec![0];
    let mut next = 0;
    while let Some(&index) = order.get(next) {
        for &child in nodes[index].children.iter().flatten() {
            depth[child] = depth[index] + 1;
            order.push(child);
        }
        next += 1;
    }
    order
}

/// Breaks a text into lines of this many characters; words that are longer are broken, too.
fn wrap(text: &str, characters: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let letters: Vec<char> = word.chars().collect();
        for (index, piece) in letters.chunks(characters).enumerate() {
            let piece: String = piece.iter().collect();
            match lines.last_mut() {
                Some(line) if index == 0 && line.chars().count() + 1 + piece.chars().count() <= characters => {
                    line.push(' ');
                    line.push_str(&piece);
                }
                _ => lines.push(piece),
            }
        }
    }
    lines
}

/// The tree in words.
fn describe(nodes: &[Node]) -> String {
    let leaves = nodes.iter().filter(|node| node.children.is_none()).count();
    let leaves = if leaves == 1 { "one of them a leaf".to_owned() } else { format!("{leaves} of them leaves") };
    let root = nodes.first().and_then(|node| node.question.as_deref());
    let root = root.map_or(String::new(), |question| format!(" At the root: {question}?"));
    format!("{}, {}.{root} The rules above say the same in words.", counted(nodes.len(), "node"), leaves)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(children: Option<[usize; 2]>) -> Node {
        Node {
            question: children.map(|_| "u before v".to_owned()),
            samples: 3,
            shares: vec![0.25, 0.75],
            class: 1,
            children,
            goes_on: false,
        }
    }

    #[test]
    fn nodes_dont_overlap_and_parents_are_in_the_middle() {
        // 0 -> (1 -> (3, 4 -> (5, 6)), 2 -> (7, 8)).
        let children = [Some([1, 2]), Some([3, 4]), Some([7, 8]), None, Some([5, 6]), None, None, None, None];
        let nodes = children.map(node);
        let places = place(&nodes);
        assert_eq!(places.depth, [0, 1, 1, 2, 2, 3, 3, 2, 2]);
        for (a, own) in children.iter().enumerate() {
            for b in 0..a {
                let apart = (places.middle[a] - places.middle[b]).abs();
                assert!(places.depth[a] != places.depth[b] || apart >= WIDTH + GAP - 1e-9, "{a} {b}");
            }
            if let &Some([yes, no]) = own {
                let middle = 0.5 * (places.middle[yes] + places.middle[no]);
                assert!((places.middle[a] - middle).abs() < 1e-9 && places.middle[yes] < places.middle[no]);
            }
        }
        let least = places.middle.iter().copied().fold(f64::INFINITY, f64::min);
        let most = places.middle.iter().copied().fold(0.0, f64::max);
        assert!((least - 0.5 * WIDTH - 2.0).abs() < 1e-9 && (most + 0.5 * WIDTH + 2.0 - places.width).abs() < 1e-9);
        // Four leaves and a half beside each other: 5 and 6 are below 3 and 4, so that they take no room of their own.
        assert!(places.width < 5.0 * (WIDTH + GAP), "{}", places.width);
        let alone = place(&[node(None)]);
        assert_eq!((alone.middle[0], alone.width), (0.5 * WIDTH + 2.0, WIDTH + 4.0));
    }

    #[test]
    fn long_sentences() {
        assert_eq!(wrap("CES-b4-PostSend before y_L?", 23), ["CES-b4-PostSend before", "y_L?"]);
        assert_eq!(wrap("abcdefgh ij", 5), ["abcde", "fgh", "ij"]);
        assert_eq!(node(None).lines()[0].0, "class 2");
    }
}
