//! Writes markup that is HTML and XML at once.

use std::fmt::{Display, Write as _};

/// Attributes: names and values, which are escaped.
pub(super) type Attributes<'a> = &'a [(&'a str, &'a dyn Display)];

/// A page as it is being written. What is opened must be closed; what is shown is escaped.
#[derive(Debug, Default)]
pub(super) struct Markup {
    text: String,
    open: Vec<&'static str>,
}

impl Markup {
    /// Opens an element.
    pub fn open(&mut self, name: &'static str, attributes: Attributes<'_>) -> &mut Self {
        self.tag(name, attributes);
        self.text.push('>');
        self.open.push(name);
        self
    }

    /// Closes the element opened last.
    pub fn close(&mut self) -> &mut Self {
        let name = self.open.pop().expect("every close has its open");
        let _ = write!(self.text, "</{name}>");
        // Lines keep a page readable to whoever looks at its source. Inside of text they would be spaces.
        if matches!(
            name,
            "p" | "div" | "section" | "tr" | "li" | "g" | "svg" | "figure" | "table" | "ol" | "ul" | "details" | "header"
        ) {
            self.text.push('\n');
        }
        self
    }

    /// An element that holds text alone.
    pub fn leaf(&mut self, name: &'static str, attributes: Attributes<'_>, text: impl Display) -> &mut Self {
        self.open(name, attributes).say(text).close()
    }

    /// An element without content. In HTML, only some may be, and all of SVG's.
    pub fn empty(&mut self, name: &'static str, attributes: Attributes<'_>) -> &mut Self {
        self.tag(name, attributes);
        self.text.push_str("/>");
        self
    }

    /// Text.
    pub fn say(&mut self, text: impl Display) -> &mut Self {
        escape(&text.to_string(), &mut self.text);
        self
    }

    /// Text of the page's own, as it is: markup, or what stands in a style.
    pub fn raw(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    /// The whole text.
    pub fn finish(self) -> String {
        debug_assert!(self.open.is_empty(), "{:?} are open", self.open);
        self.text
    }

    fn tag(&mut self, name: &str, attributes: Attributes<'_>) {
        let _ = write!(self.text, "<{name}");
        for (attribute, value) in attributes {
            let _ = write!(self.text, " {attribute}=\"");
            escape(&value.to_string(), &mut self.text);
            self.text.push('"');
        }
    }
}

/// Appends text so that it stands for itself, in attributes, too. Characters that XML hasn't become a replacement
/// character.
fn escape(text: &str, to: &mut String) {
    for character in text.chars() {
        match character {
            '&' => to.push_str("&amp;"),
            '<' => to.push_str("&lt;"),
            '>' => to.push_str("&gt;"),
            '"' => to.push_str("&quot;"),
            '\'' => to.push_str("&#39;"),
            '\t' | '\n' | '\r' => to.push(character),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => to.push('\u{fffd}'),
            _ => to.push(character),
        }
    }
}

/// A coordinate, to a hundredth.
pub(super) fn px(value: f64) -> String {
    let mut text = format!("{value:.2}");
    while text.ends_with('0') {
        text.pop();
    }
    if text.ends_with('.') {
        text.pop();
    }
    if text == "-0" { "0".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_escaped() {
        let mut markup = Markup::default();
        markup.open("p", &[("title", &"\"a\" & 'b'")]).say("<b>\u{1}").empty("br", &[]).leaf("b", &[], 7).close();
        assert_eq!(markup.finish(), "<p title=\"&quot;a&quot; &amp; &#39;b&#39;\">&lt;b&gt;\u{fffd}<br/><b>7</b></p>\n");
    }

    #[test]
    fn coordinates() {
        assert_eq!([0.0, -0.001, 1.5, 2.0, 1.0 / 3.0, 120.0].map(px), ["0", "0", "1.5", "2", "0.33", "120"]);
    }
}
