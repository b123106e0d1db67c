//! Text that a terminal doesn't obey.

use std::fmt::Display;

/// Escapes the control characters of a text, which may be quoted from a file: a terminal would obey
/// them. Keeps line breaks and tabs.
pub fn printable(text: impl Display) -> String {
    let text = text.to_string();
    if !text.chars().any(obeyed) {
        return text;
    }
    text.chars().map(|c| if obeyed(c) { c.escape_debug().to_string() } else { c.to_string() }).collect()
}

/// Control characters, and those that reorder a line (Unicode's bidirectional controls).
pub fn obeyed(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
