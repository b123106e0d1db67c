//! Programs in files of JSON.

use std::path::Path;

use serde::Deserialize;

use super::super::RulesError;
use super::super::json::{Object, parse};
use super::{Dag, DagBuilder, Kind};
use crate::io::files::FileError;
use crate::io::text;

/// A program as JSON has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    /// For readers.
    #[serde(default, rename = "comment")]
    _comment: String,
    name: Option<String>,
    operations: Vec<Object<Item>>,
}

/// An operation, a choice, or a setting.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    /// For readers.
    #[serde(default, rename = "comment")]
    _comment: String,
    name: String,
    kind: Option<Kind>,
    alternatives: Option<Vec<Object<Way>>>,
    settings: Option<Vec<String>>,
    #[serde(default)]
    after: Vec<String>,
    #[serde(default)]
    reads: Vec<String>,
    #[serde(default)]
    writes: Vec<String>,
}

/// An alternative: one operation, or several.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Way {
    /// For readers.
    #[serde(default, rename = "comment")]
    _comment: String,
    name: String,
    kind: Option<Kind>,
    operations: Option<Vec<Object<Part>>>,
    #[serde(default)]
    reads: Vec<String>,
    #[serde(default)]
    writes: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    /// For readers.
    #[serde(default, rename = "comment")]
    _comment: String,
    name: String,
    kind: Kind,
    #[serde(default)]
    after: Vec<String>,
    #[serde(default)]
    reads: Vec<String>,
    #[serde(default)]
    writes: Vec<String>,
}

/// Adds what the operation added last reads and writes.
fn accessing(builder: DagBuilder, reads: Vec<String>, writes: Vec<String>) -> DagBuilder {
    let builder = reads.into_iter().fold(builder, DagBuilder::reads);
    writes.into_iter().fold(builder, DagBuilder::writes)
}

impl Dag {
    /// The JSON schema of a program's file, as [`read`](Self::read) takes it. The reader checks
    /// what a schema can't express, such as the absence of cycles.
    pub const SCHEMA: &str = include_str!("dag.schema.json");

    /// Reads a program from a file of JSON:
    ///
    /// ```json
    /// {"name": "exchange", "operations": [
    ///     {"name": "Pack", "kind": "gpu"},
    ///     {"name": "Send", "after": ["Pack"], "alternatives": [
    ///         {"name": "direct", "kind": "cpu"},
    ///         {"name": "staged", "operations": [
    ///             {"name": "Copy", "kind": "gpu"},
    ///             {"name": "SendCopy", "kind": "cpu", "after": ["Copy"]}
    ///         ]}
    ///     ]},
    ///     {"name": "Inner", "kind": "gpu"}
    /// ]}
    /// ```
    ///
    /// `reads` and `writes` of an operation name the data that it accesses, for
    /// [`orders`](Self::orders). `after` names the operations and choices that must be done before; within an alternative, it
    /// may also name others of the alternative's operations. An alternative's operations without
    /// such names come after whatever the choice comes after. `{"name": "Cores", "settings": ["near", "far"]}` among the
    /// operations is a [setting](DagBuilder::setting). A `comment` may be anywhere. Without `name`, the program has the
    /// file's name.
    ///
    /// # Errors
    /// [`RulesError::File`], which names the file: if it can't be read, is not such JSON (with line
    /// and column), or is refused by [`DagBuilder::build`].
    pub fn read(path: &Path) -> Result<Self, RulesError> {
        Self::parse(&text(path).map_err(|reason| FileError::new(path, reason))?, path)
    }

    /// Reads a program from the text that is or will be in a file, as [`read`](Self::read) does.
    pub fn parse(text: &str, path: &Path) -> Result<Self, RulesError> {
        let wrong = |reason: String| RulesError::from(FileError::new(path, reason));
        let Described { name, operations, .. } = parse(text).map_err(wrong)?;
        let name = name.unwrap_or_else(|| path.file_stem().unwrap_or_default().to_string_lossy().into_owned());
        let mut builder = Dag::builder(name);
        for Object(item) in operations {
            builder = item.add_to(builder).map_err(wrong)?;
        }
        builder.build().map_err(|error| wrong(error.to_string()))
    }
}

impl Item {
    fn add_to(self, mut builder: DagBuilder) -> Result<DagBuilder, String> {
        let Item { name, kind, alternatives, settings, after, reads, writes, .. } = self;
        if let Some(settings) = settings {
            if kind.is_some() || alternatives.is_some() || !(after.is_empty() && reads.is_empty() && writes.is_empty()) {
                return Err(format!("`{name}` has `settings`, and so nothing else but a name and a comment"));
            }
            if settings.is_empty() {
                return Err(format!("`settings` of `{name}` is empty"));
            }
            return Ok(settings.into_iter().fold(builder, |builder, setting| builder.setting(&name, setting)));
        }
        for before in after {
            builder = builder.edge(before, name.clone());
        }
        match (kind, alternatives) {
            (Some(kind), None) => Ok(accessing(builder.operation(name, kind), reads, writes)),
            (None, Some(_)) if !(reads.is_empty() && writes.is_empty()) => {
                Err(format!("`{name}` is a choice: its alternatives say what they read and write"))
            }
            (None, Some(ways)) if ways.is_empty() => Err(format!("`alternatives` of `{name}` is empty")),
            (None, Some(ways)) => {
                let mut names: Vec<_> = ways.iter().map(|Object(way)| &way.name).collect();
                names.sort_unstable();
                if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
                    return Err(format!("two alternatives of `{name}` have the name `{}`", pair[0]));
                }
                ways.into_iter().try_fold(builder, |builder, Object(way)| way.add_to(&name, builder))
            }
            (None, None) => Err(format!("`{name}` has none of `kind`, `alternatives` and `settings`")),
            (Some(_), Some(_)) => Err(format!("`{name}` has both `kind` and `alternatives`")),
        }
    }
}

impl Way {
    fn add_to(self, choice: &str, mut builder: DagBuilder) -> Result<DagBuilder, String> {
        let Way { name, kind, operations, reads, writes, .. } = self;
        match (kind, operations) {
            (Some(kind), None) => Ok(accessing(builder.alternative(choice, name, kind), reads, writes)),
            (None, Some(_)) if !(reads.is_empty() && writes.is_empty()) => {
                Err(format!("`{choice}` as `{name}` has `operations`, which say what they read and write"))
            }
            (None, Some(parts)) if parts.is_empty() => Err(format!("`operations` of `{choice}` as `{name}` is empty")),
            (None, Some(parts)) => {
                let names: Vec<_> = parts.iter().map(|Object(part)| part.name.clone()).collect();
                let label = |part: &str| format!("{choice}={name}/{part}");
                for Object(part) in parts {
                    for before in part.after {
                        let before = if names.contains(&before) { label(&before) } else { before };
                        builder = builder.edge(before, label(&part.name));
                    }
                    builder = accessing(builder.part(choice, &name, part.name, part.kind), part.reads, part.writes);
                }
                Ok(builder)
            }
            (None, None) => Err(format!("`{choice}` as `{name}` has neither `kind` nor `operations`")),
            (Some(_), Some(_)) => Err(format!("`{choice}` as `{name}` has both `kind` and `operations`")),
        }
    }
}
