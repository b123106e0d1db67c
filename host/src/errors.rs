//! Errors as sentences.

use std::io;

/// An error as a whole sentence: its text and those of its sources, of the system's without their numbers.
#[cfg(any(feature = "files", feature = "list-rank"))]
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

/// The system's text for an error, as a clause and without the number.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error").or_else(|| text.find(" at path")).unwrap_or(text.len());
    let mut text = text[..end].to_owned();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    text
}
