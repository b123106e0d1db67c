//! Names: their numbers in order of appearance, and those of files.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    files::Reason,
    source::{push, quoted},
};

/// Names, each with a number from 0 on.
#[derive(Default)]
pub(crate) struct Names {
    numbers: HashMap<Arc<str>, usize>,
    names: Vec<Arc<str>>,
    last: usize,
}

impl Names {
    /// Returns the number of a name. A new one gets the next number.
    pub fn number(&mut self, name: &str) -> Result<usize, Reason> {
        // Rows of one name often follow one another.
        if self.names.get(self.last).is_some_and(|last| **last == *name) {
            return Ok(self.last);
        }
        self.last = match self.numbers.get(name) {
            Some(&number) => number,
            None => {
                let name: Arc<str> = name.into();
                push(&mut self.names, name.clone())?;
                self.numbers.insert(name, self.names.len() - 1);
                self.names.len() - 1
            }
        };
        Ok(self.last)
    }

    /// The number of names.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// The names in the order of their numbers.
    pub fn into_vec(self) -> Vec<String> {
        drop(self.numbers);
        self.names.iter().map(|name| name.to_string()).collect()
    }
}

/// Checks that names differ, as formats need that tell functions or clouds apart by name. `what` describes one by its index.
/// A format that `trims` loses spaces around names.
///
/// # Errors
/// Two are the same, or one has spaces that are lost.
pub fn check_names(names: Option<&[String]>, trims: bool, what: impl Fn(usize) -> String) -> Result<(), String> {
    let mut known = HashMap::new();
    for (index, name) in names.unwrap_or_default().iter().enumerate() {
        if trims && name.trim() != name {
            let (name, one) = (quoted(name), what(index));
            return Err(format!(
                "{one} has the name {name}, and this format loses spaces around names: rename it, or write .npz"
            ));
        }
        if let Some(first) = known.insert(name, index) {
            let (name, first, second) = (quoted(name), what(first), what(index));
            return Err(format!(
                "{first} and {second} have the same name, {name}, and this format tells them apart by their names: rename one, \
                 or write .npz"
            ));
        }
    }
    Ok(())
}

/// Returns the names of files without folders and extensions, or with their folders if two would be the same.
pub fn names_of_files(paths: &[PathBuf]) -> Vec<String> {
    let by = |name: fn(&Path) -> PathBuf| paths.iter().map(|path| name(path).to_string_lossy().into_owned()).collect::<Vec<_>>();
    let stems = by(|path| path.file_stem().map_or_else(PathBuf::new, PathBuf::from));
    let differ = check_names(Some(&stems), false, |_| String::new()).is_ok();
    if differ { stems } else { by(|path| path.with_extension("")) }
}
