//! Numbers names in order of appearance.

use std::{collections::HashMap, sync::Arc};

use super::{files::Reason, source::push};

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
