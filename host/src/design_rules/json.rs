//! JSON that others have written.

use serde::de::DeserializeOwned;
use serde_json::error::Category;

use crate::io::brief;

/// Reads a text as JSON.
///
/// # Errors
/// A clause that names the field and the place, such as `` `operations[2].kind`: unknown variant `tpu` ``.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let mut source = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut source).map_err(|error| {
        let field = error.path().to_string();
        let reason = error.into_inner();
        // Text that is not JSON has no field, nor has a field that the whole lacks.
        let is_whole = field == "." || reason.classify() != Category::Data;
        brief(if is_whole { reason.to_string() } else { format!("`{field}`: {reason}") })
    })?;
    source.end().map_err(brief)?;
    Ok(value)
}
