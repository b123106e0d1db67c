//! Renders errors as sentences.

use std::io;

/// Returns an error as a whole sentence: its text followed by those of its sources. The numbers of system errors are
/// left out.
pub fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text += ": ";
        text += &source.downcast_ref::<io::Error>().map_or_else(|| source.to_string(), reason);
        next = source.source();
    }
    text
}

/// Returns the text of a system error as a clause, without the error number.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error").or_else(|| text.find(" at path")).unwrap_or(text.len());
    let mut text = text[..end].to_owned();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    text
}
