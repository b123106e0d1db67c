//! Weights of edges, as they are read.

use crate::io::{Reason, push, quoted};

/// Weights of edges: whole numbers, unless one of them isn't.
#[derive(Clone, Debug, PartialEq)]
pub enum Weights {
    /// Numbers of 64 bits.
    Integers(Vec<i64>),
    /// Any numbers.
    Floats(Vec<f64>),
}

impl Default for Weights {
    fn default() -> Self {
        Weights::Integers(Vec::new())
    }
}

impl Weights {
    /// Returns a weight as a text.
    ///
    /// # Panics
    /// If there is no such weight.
    pub fn text(&self, edge: usize) -> String {
        match self {
            Weights::Integers(weights) => weights[edge].to_string(),
            Weights::Floats(weights) => weights[edge].to_string(),
        }
    }

    /// Returns a weight as a float.
    ///
    /// # Panics
    /// If there is no such weight.
    pub(super) fn value(&self, edge: usize) -> f64 {
        match self {
            Weights::Integers(weights) => weights[edge] as f64,
            Weights::Floats(weights) => weights[edge],
        }
    }

    /// Adds the weight of the next edge. Returns false if the word isn't a number.
    fn add(&mut self, word: &str) -> Result<bool, Reason> {
        if let Weights::Integers(weights) = self {
            if let Ok(weight) = word.parse() {
                return push(weights, weight).map(|()| true);
            }
            *self = Weights::Floats(weights.iter().map(|&weight| weight as f64).collect());
        }
        let Weights::Floats(weights) = self else { unreachable!("they are floats now") };
        match word.parse::<f64>() {
            // Digits are no name of infinity.
            Ok(weight) if !(weight.is_nan() || weight.is_infinite() && word.contains(|c: char| c.is_ascii_digit())) => {
                push(weights, weight).map(|()| true)
            }
            _ => Ok(false),
        }
    }
}

/// The weights that a reader is to keep, if any.
pub(super) type Wanted<'a> = Option<&'a mut Weights>;

/// Keeps the weight of the next edge, if weights are wanted. `error` makes an error of a reason.
pub(super) fn keep(wanted: &mut Wanted<'_>, word: Option<&str>, error: impl FnOnce(String) -> Reason) -> Result<(), Reason> {
    match (wanted, word) {
        (None, _) => Ok(()),
        (Some(_), None) => Err(error("the edge has no weight".to_owned())),
        (Some(weights), Some(word)) => match weights.add(word)? {
            true => Ok(()),
            false => {
                let most = if word.parse().is_ok_and(f64::is_infinite) { " up to 1.8e308" } else { "" };
                Err(error(format!("the weight must be a number{most}, and is {}", quoted(word))))
            }
        },
    }
}

/// Refuses files without weights, if weights are wanted.
pub(super) fn none(wanted: &Wanted<'_>, file: &str) -> Result<(), Reason> {
    match wanted {
        None => Ok(()),
        Some(_) => Err(format!(
            "{file} no weights: use a table with a column `weight`, lines of two vertices and a weight, `p sp`, METIS with a \
             format that ends in 1, a matrix with values, or GraphML or GeoJSON with weights"
        )
        .into()),
    }
}
