//! Reads styles of drawings (CSS), as far as they say what is drawn and where.

use std::{collections::HashMap, rc::Rc};

use roxmltree::Node;

/// Properties that are read.
const PROPERTIES: &[&str] = &["display", "visibility", "transform", "transform-origin", "translate", "rotate", "scale"];

/// A declared value with what decides between several: whether it is important, and its place.
type Declared = (bool, usize, Rc<str>);

/// The rules of a drawing by selectors (a class, an id or the name of an element) and properties.
pub struct Styles(HashMap<String, HashMap<&'static str, Declared>>);

impl Styles {
    /// Reads the style sheets of a drawing. Notes name the rules that are left out.
    pub fn of(root: Node<'_, '_>, notes: &mut Vec<String>) -> Self {
        let mut rules: HashMap<String, HashMap<_, Declared>> = HashMap::new();
        let mut place = 0;
        let sheets = root.descendants().filter(|node| node.tag_name().name() == "style").flat_map(|sheet| sheet.children());
        for (sheet, text) in sheets.filter(Node::is_text).filter_map(|sheet| Some((sheet, sheet.text()?))) {
            let text = without_comments(text);
            let (mut start, mut lines) = (0, 0);
            while let Some(open) = text[start..].find('{').map(|open| start + open) {
                let end = open + block(&text[open..]);
                let body = &text[open + 1..end];
                let prelude = text[start..open].rsplit(';').next().unwrap_or_default();
                lines += text[start..open].matches('\n').count();
                // Important ones come last, and the last one counts.
                let mut declared: Vec<_> = declarations(body).collect();
                declared.sort_by_key(|(_, important, _)| *important);
                let declared: HashMap<_, (bool, Rc<str>)> =
                    declared.into_iter().map(|(property, important, value)| (property, (important, value.into()))).collect();
                let (simple, other): (Vec<_>, Vec<_>) = prelude.split(',').map(str::trim).partition(|text| is_simple(text));
                for selector in simple {
                    let of = rules.entry(selector.to_owned()).or_default();
                    for (property, (important, value)) in &declared {
                        place += 1;
                        if *important || of.get(property).is_none_or(|(important, ..)| !important) {
                            of.insert(*property, (*important, place, Rc::clone(value)));
                        }
                    }
                }
                if !other.is_empty() && body.split(['{', '}']).flat_map(declarations).next().is_some() {
                    let line = sheet.document().text_pos_at(sheet.range().start).row as usize + lines;
                    notes.push(format!("the style rule on line {line} is left out: its selector is no class, id or element"));
                }
                lines += body.matches('\n').count();
                start = (end + 1).min(text.len());
            }
        }
        Styles(rules)
    }

    /// Returns the value of a property that an element has by its own style or by a rule.
    pub fn get<'a>(&'a self, node: Node<'a, '_>, property: &str) -> Option<&'a str> {
        let own = declarations(node.attribute("style").unwrap_or_default());
        let own = own.filter(|(name, ..)| *name == property).map(|(_, important, value)| (important, 3, 0, value));
        let classes = node.attribute("class").unwrap_or_default().split_whitespace().map(|class| (1, format!(".{class}")));
        let id = node.attribute("id").map(|id| (2, format!("#{id}")));
        let selectors = [(0, node.tag_name().name().to_owned())].into_iter().chain(classes).chain(id);
        let rules = selectors.filter_map(|(kind, selector)| {
            let (important, place, value) = self.0.get(&selector)?.get(property)?;
            Some((*important, kind, *place, &**value))
        });
        own.chain(rules).max_by_key(|&(important, kind, place, _)| (important, kind, place)).map(|(.., value)| value)
    }
}

/// The declarations of [`PROPERTIES`] in a block or an attribute: the property, whether it is important, and the value.
fn declarations(text: &str) -> impl Iterator<Item = (&'static str, bool, &str)> {
    text.split(';').filter_map(|declaration| {
        let (name, value) = declaration.split_once(':')?;
        let property = PROPERTIES.iter().find(|property| property.eq_ignore_ascii_case(name.trim()))?;
        let plain = value.trim_end().strip_suffix("important").and_then(|value| value.trim_end().strip_suffix('!'));
        Some((*property, plain.is_some(), plain.unwrap_or(value).trim()))
    })
}

/// Returns true for the selector of a class, an id or the name of an element.
fn is_simple(selector: &str) -> bool {
    let name = selector.strip_prefix(['.', '#']).unwrap_or(selector);
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
}

/// Returns the place of the brace that closes the block at the start of a text, or the text's length.
fn block(text: &str) -> usize {
    let mut depth = 0;
    let closes = |(_, byte): &(usize, u8)| {
        depth += i32::from(*byte == b'{') - i32::from(*byte == b'}');
        depth == 0
    };
    text.bytes().enumerate().find(closes).map_or(text.len(), |(place, _)| place)
}

/// Returns a text without comments, but with their line breaks.
fn without_comments(text: &str) -> String {
    let mut parts = text.split("/*");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (comment, rest) = part.split_once("*/").unwrap_or((part, ""));
        out.extend(comment.matches('\n'));
        out.push_str(rest);
    }
    out
}
