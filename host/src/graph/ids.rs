//! Names of vertices, as files have them.

use std::{borrow::Cow, collections::HashMap};

use serde_json::{Map, Value};

use super::io::whole;

/// The names that a file has for its vertices, which are numbered from 0.
#[derive(Clone, Debug, PartialEq)]
pub enum Ids {
    /// Numbers from this one on: 0 or 1.
    From(i64),
    /// Whole numbers, ascending.
    Numbers(Vec<i64>),
    /// Names, in the order of the file.
    Names(Vec<String>),
    /// Points of lines, in the order of the file.
    Places(Drawing),
}

/// Lines of a file: the vertices' points, and what else there is about the lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    /// x and y of each vertex.
    pub points: Vec<[f64; 2]>,
    /// The member `crs` of the file.
    pub crs: Option<Value>,
    /// The members `id` and `properties` of each feature, as far as it has them. An `id` is left out of features of several
    /// edges.
    pub features: Vec<Map<String, Value>>,
    /// For each edge its feature, if it belongs to one, and z at both ends, or NaN.
    pub edges: Vec<(Option<u32>, [f64; 2])>,
}

impl Ids {
    /// The vertex's name.
    ///
    /// # Panics
    /// If there is no such vertex.
    pub fn name(&self, vertex: usize) -> Cow<'_, str> {
        match self {
            Ids::From(first) => (first + vertex as i64).to_string().into(),
            Ids::Numbers(numbers) => numbers[vertex].to_string().into(),
            Ids::Names(names) => names[vertex].as_str().into(),
            Ids::Places(places) => format!("{:?} {:?}", places.points[vertex][0], places.points[vertex][1]).into(),
        }
    }

    /// Returns the lines, if the vertices are named by their points.
    pub fn places(&self) -> Option<&Drawing> {
        if let Ids::Places(places) = self { Some(places) } else { None }
    }

    /// Returns what the numbers of `count` vertices mean, unless they are the file's own: sentences on vertices and on arrays.
    pub fn in_words(&self, count: usize) -> [Option<String>; 2] {
        let (vertices, arrays) = match self {
            Ids::From(0) => return [None, None],
            Ids::From(_) => {
                let from_one = "Vertices are numbered from 1 in the file and in tables, but from 0 in arrays.";
                (Some(from_one.to_owned()), None)
            }
            _ if count == 0 => return [None, None],
            Ids::Numbers(_) => (
                Some(format!("Vertices have the ids {} to {}.", self.name(0), self.name(count - 1))),
                Some("Arrays number them from 0 in this order; `vertices` has the ids."),
            ),
            Ids::Names(_) => (None, Some("Arrays number vertices from 0 in the order of the file; `vertices` has their names.")),
            Ids::Places(_) => (
                Some("Vertices are the points of the lines.".to_owned()),
                Some("Arrays number them from 0; `vertices` has their coordinates."),
            ),
        };
        [vertices, arrays.map(str::to_owned)]
    }

    /// Returns a map from names to vertices, unless the names are numbers.
    pub(super) fn index(&self) -> HashMap<Cow<'_, str>, usize> {
        let count = match self {
            Ids::From(_) | Ids::Numbers(_) => 0,
            Ids::Names(names) => names.len(),
            Ids::Places(places) => places.points.len(),
        };
        (0..count).map(|vertex| (self.name(vertex), vertex)).collect()
    }

    /// Returns the vertex of this number among `count`, if names are numbers.
    pub(super) fn find_number(&self, number: i64, count: usize) -> Option<usize> {
        match self {
            Ids::From(first) => usize::try_from(number.checked_sub(*first)?).ok().filter(|&vertex| vertex < count),
            Ids::Numbers(numbers) => numbers.binary_search(&number).ok(),
            Ids::Names(_) | Ids::Places(_) => None,
        }
    }

    /// Returns the vertex of this name among `count`.
    pub fn find(&self, name: &str, count: usize) -> Option<usize> {
        match self {
            Ids::From(_) | Ids::Numbers(_) => self.find_number(whole(name)?, count),
            Ids::Names(names) => names.iter().position(|known| known == name),
            Ids::Places(_) => (0..count).find(|&vertex| self.name(vertex) == name),
        }
    }
}
