//! JSON that others have written.

use std::{fmt, marker::PhantomData};

use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use serde_json::error::Category;

use crate::io::brief;

/// A value that is an object in JSON. Without this, the derived readers of structs would take arrays, too.
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_map(Fields(PhantomData)).map(Object)
    }
}

/// Reads a field that is an object.
pub fn object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    Object::deserialize(deserializer).map(|Object(value)| value)
}

/// Reads a text as an object of JSON.
///
/// # Errors
/// A clause that names the field and the place, such as `` `operations[2].kind`: unknown variant `tpu` ``.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let mut source = serde_json::Deserializer::from_str(text);
    let Object(value) = serde_path_to_error::deserialize(&mut source).map_err(|error| {
        let field = error.path().to_string();
        let reason = error.into_inner();
        // Text that is not JSON has no field, nor has a field that the whole lacks.
        let is_whole = field == "." || reason.classify() != Category::Data;
        brief(if is_whole { reason.to_string() } else { format!("`{field}`: {reason}") })
    })?;
    source.end().map_err(brief)?;
    Ok(value)
}
