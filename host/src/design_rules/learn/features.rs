//! Features of schedules (the paper's section IV-B), and rules about them.
//!
//! In: a table of schedules. Out: a [`FeatureSet`] and the value of each feature for each schedule.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use super::columns::{BitColumns, count_ones, pack};
use super::table::{TraversalTable, occurs, precedes, share_stream};
use super::tree::DecisionTree;

/// A binary property of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the variants' documentation covers the fields")]
pub enum Feature {
    /// Both steps occur, and the first before the second.
    Order { before: String, after: String },
    /// Both GPU operations are in one stream. The name of `a` comes first in the alphabet.
    SameStream { a: String, b: String },
    /// A choice, an operation that can be done in several ways, is settled by this alternative.
    Chosen { choice: String, alternative: String },
    /// A number that describes the program's input, such as `nonzeros per row`, is at most this.
    AtMost { input: String, limit: Limit },
}

/// A limit of a number, ordered as [`f64::total_cmp`] orders.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(transparent)]
pub struct Limit(pub f64);

impl Ord for Limit {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Limit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Limit {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Limit {}

impl Hash for Limit {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

/// A demand that a schedule has a property, or lacks it. Its text is a sentence, as in the paper's
/// Tables VI to VIII.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rule {
    /// The property.
    pub feature: Feature,
    /// True if the schedule must have the property.
    pub value: bool,
}

impl Rule {
    /// Returns true if every schedule that follows this rule also follows the other. Either they
    /// are equal, or this rule demands a property that excludes the one that the other forbids,
    /// such as the opposite order, or it limits the same number more.
    pub fn implies(&self, other: &Rule) -> bool {
        let closer =
            |limits: Ordering| self.value == other.value && limits == if self.value { Ordering::Less } else { Ordering::Greater };
        self == other
            || (self.value && !other.value && self.feature.excludes(&other.feature))
            || self.feature.limits(&other.feature).is_some_and(closer)
    }

    /// Returns true if the rule is about the program's input, and not about schedules.
    pub fn is_condition(&self) -> bool {
        matches!(self.feature, Feature::AtMost { .. })
    }

    /// Returns true if no schedule can follow both rules: one demands what the other forbids, or
    /// they demand properties that exclude each other (two steps in opposite orders, or two
    /// alternatives of a choice, or limits that no number meets).
    pub fn contradicts(&self, other: &Rule) -> bool {
        let apart = |limits: Ordering| self.value != other.value && limits.is_lt() == self.value;
        (self.feature == other.feature && self.value != other.value)
            || (self.value && other.value && self.feature.excludes(&other.feature))
            || self.feature.limits(&other.feature).is_some_and(apart)
    }
}

impl Feature {
    /// Returns true if no schedule has both properties.
    fn excludes(&self, other: &Feature) -> bool {
        match (self, other) {
            (Feature::Order { before: u, after: v }, Feature::Order { before, after }) => u == after && v == before,
            (Feature::Chosen { choice: a, alternative: x }, Feature::Chosen { choice: b, alternative: y }) => a == b && x != y,
            _ => false,
        }
    }

    /// Compares the limits, if both features limit the same number.
    fn limits(&self, other: &Feature) -> Option<Ordering> {
        match (self, other) {
            (Feature::AtMost { input, limit }, Feature::AtMost { input: same, limit: other }) if input == same => {
                Some(limit.cmp(other))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, says, second) = match (&self.feature, self.value) {
            (Feature::AtMost { input, limit }, value) => {
                return write!(f, "{input} {} {}", if value { "at most" } else { "more than" }, limit.0);
            }
            (Feature::Order { before, after }, true) => (before, "before", after),
            (Feature::Order { before, after }, false) => (before, "not before", after),
            (Feature::SameStream { a, b }, true) => (a, "same stream as", b),
            (Feature::SameStream { a, b }, false) => (a, "different stream than", b),
            (Feature::Chosen { choice, alternative }, true) => (choice, "as", alternative),
            (Feature::Chosen { choice, alternative }, false) => (choice, "not as", alternative),
        };
        write!(f, "{first} {says} {second}")
    }
}

/// With its sentence.
impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Rule", 3)?;
        fields.serialize_field("sentence", &self.to_string())?;
        fields.serialize_field("feature", &self.feature)?;
        fields.serialize_field("value", &self.value)?;
        fields.end()
    }
}

/// The features that tell the traversals of a program apart.
///
/// It has a feature for each alternative of a choice, each ordered pair of steps and each pair of
/// GPU operations, unless all traversals agree on it. If two steps always occur, "u before v" and
/// "v before u" are equivalent, and only the first by name is kept. The same holds for a choice of
/// two. If the table has [numbers of inputs](TraversalTable::with_inputs), there is a feature for each
/// limit between two successive numbers.
///
/// Features come in the order of preference for splits with equal gains: choices, orders of the
/// program's own operations, shared streams, orders with one synchronization step, orders of two
/// such steps, limits of inputs. Within each group they are sorted by the names of the steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FeatureSet {
    features: Vec<Feature>,
    /// For each feature, its complement among all traversals, if it has one.
    opposite: Vec<Option<Feature>>,
}

impl FeatureSet {
    /// Collects the features that tell these rows of a table apart. Also returns their values, with
    /// a row for each of `rows`, in the same order.
    ///
    /// # Panics
    /// If the table has no such row.
    pub fn learn(table: &TraversalTable, rows: &[usize]) -> (Self, BitColumns) {
        let names = &table.names()[..table.first_choice()];
        let places: Vec<Vec<u32>> = (0..names.len()).map(|id| gather(table.places(id), rows)).collect();
        let streams: Vec<Vec<Option<u8>>> = (0..table.operations()).map(|id| gather(table.streams(id), rows)).collect();
        let mut set = FeatureSet { features: Vec::new(), opposite: Vec::new() };
        let mut columns = BitColumns::new(rows.len());

        let choices: Vec<_> = table.choices().iter().filter_map(|name| name.split_once('=')).collect();
        for (index, &(choice, alternative)) in choices.iter().enumerate() {
            let chosen = |alternative: &str| Feature::Chosen { choice: choice.to_owned(), alternative: alternative.to_owned() };
            let all: Vec<_> = choices.iter().filter(|other| other.0 == choice).map(|other| other.1).collect();
            let places = gather(table.places(table.first_choice() + index), rows);
            let bits = pack(rows.len(), |row| occurs(places[row]));
            match all[..] {
                [first, second] if first == alternative => set.push(&mut columns, (chosen(first), bits), Some(chosen(second))),
                [_, _] => {}
                _ => set.push(&mut columns, (chosen(alternative), bits), None),
            }
        }
        let orders = |set: &mut Self, columns: &mut BitColumns, synchronisation: usize| {
            let pairs = (0..names.len()).flat_map(|u| (u + 1..names.len()).map(move |v| (u, v)));
            let is_synchronisation = |id: usize| usize::from(id >= table.operations());
            for (u, v) in pairs.filter(|&(u, v)| is_synchronisation(u) + is_synchronisation(v) == synchronisation) {
                let order = |u: usize, v: usize| {
                    let (first, second) = (&places[u], &places[v]);
                    let feature = Feature::Order { before: names[u].clone(), after: names[v].clone() };
                    (feature, pack(rows.len(), |row| precedes(first[row], second[row])))
                };
                let [forth, back] = [order(u, v), order(v, u)];
                // One of the two holds in each row, that is, both steps always occur.
                let exclusive = count_ones(&forth.1) + count_ones(&back.1) == rows.len();
                set.push(columns, forth, exclusive.then(|| back.0.clone()));
                if !exclusive {
                    set.push(columns, back, None);
                }
            }
        };
        orders(&mut set, &mut columns, 0);
        for a in 0..table.operations() {
            for b in a + 1..table.operations() {
                let feature = Feature::SameStream { a: names[a].clone(), b: names[b].clone() };
                let bits = pack(rows.len(), |row| share_stream(streams[a][row], streams[b][row]));
                set.push(&mut columns, (feature, bits), None);
            }
        }
        orders(&mut set, &mut columns, 1);
        orders(&mut set, &mut columns, 2);
        for (input, numbers) in table.inputs() {
            let numbers = gather(numbers, rows);
            let mut sorted = numbers.clone();
            sorted.sort_by(f64::total_cmp);
            sorted.dedup();
            for pair in sorted.windows(2) {
                let limit = between(pair[0], pair[1]);
                let feature = Feature::AtMost { input: input.clone(), limit: Limit(limit) };
                set.push(&mut columns, (feature, pack(rows.len(), |row| numbers[row] <= limit)), None);
            }
        }
        (set, columns)
    }

    /// Adds a feature unless all rows agree on it.
    fn push(&mut self, columns: &mut BitColumns, (feature, bits): (Feature, Vec<u64>), opposite: Option<Feature>) {
        let ones = count_ones(&bits);
        if 0 < ones && ones < columns.rows() {
            self.features.push(feature);
            self.opposite.push(opposite);
            columns.push_words(&bits);
        }
    }

    /// Returns the features.
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    /// Returns the leaf of each schedule of a table, by a tree over these features.
    pub(super) fn leaves(&self, tree: &DecisionTree, table: &TraversalTable) -> Vec<usize> {
        let features: Vec<_> = self.features.iter().map(|feature| LookedUp::of(feature, table)).collect();
        (0..table.len()).map(|row| tree.leaf(|feature| features[feature].holds(row))).collect()
    }

    /// Returns the rule for a value of a feature. If both steps always occurred in the training
    /// data, "u not before v" becomes "v before u". If a choice has two alternatives, "not as one"
    /// becomes "as the other".
    ///
    /// # Panics
    /// If there is no such feature.
    pub fn rule(&self, feature: usize, value: bool) -> Rule {
        match &self.opposite[feature] {
            Some(opposite) if !value => Rule { feature: opposite.clone(), value: true },
            _ => Rule { feature: self.features[feature].clone(), value },
        }
    }
}

/// Returns the number between two others that has the fewest digits, as near to their middle as these allow.
fn between(low: f64, high: f64) -> f64 {
    let middle = low + (high - low) / 2.0;
    let mut rounded = (0..17).filter_map(|digits| format!("{middle:.digits$e}").parse().ok());
    rounded.find(|rounded| low <= *rounded && *rounded < high).unwrap_or(low)
}

fn gather<T: Copy>(values: &[T], rows: &[usize]) -> Vec<T> {
    rows.iter().map(|&row| values[row]).collect()
}

/// A feature whose steps are looked up in a table.
pub(super) enum LookedUp<'a> {
    Order(&'a [u32], &'a [u32]),
    SameStream(&'a [Option<u8>], &'a [Option<u8>]),
    Chosen(&'a [u32]),
    AtMost(&'a [f64], f64),
    /// Some of its steps do not occur in the table.
    Never,
}

impl<'a> LookedUp<'a> {
    pub(super) fn of(feature: &Feature, table: &'a TraversalTable) -> Self {
        let found = match feature {
            Feature::Order { before: u, after: v } | Feature::SameStream { a: u, b: v } => table.id(u).zip(table.id(v)),
            Feature::Chosen { choice, alternative } => {
                let found = table.id(&format!("{choice}={alternative}"));
                return found.map_or(LookedUp::Never, |id| LookedUp::Chosen(table.places(id)));
            }
            Feature::AtMost { input, limit } => {
                let found = table.inputs().iter().find(|(name, _)| name == input);
                return found.map_or(LookedUp::Never, |(_, numbers)| LookedUp::AtMost(numbers, limit.0));
            }
        };
        match (feature, found) {
            (Feature::Order { .. }, Some((u, v))) => LookedUp::Order(table.places(u), table.places(v)),
            (Feature::SameStream { .. }, Some((a, b))) if a.max(b) < table.operations() => {
                LookedUp::SameStream(table.streams(a), table.streams(b))
            }
            _ => LookedUp::Never,
        }
    }

    pub(super) fn holds(&self, row: usize) -> bool {
        match self {
            LookedUp::Order(u, v) => precedes(u[row], v[row]),
            LookedUp::SameStream(a, b) => share_stream(a[row], b[row]),
            LookedUp::Chosen(places) => occurs(places[row]),
            LookedUp::AtMost(numbers, limit) => numbers[row] <= *limit,
            LookedUp::Never => false,
        }
    }
}

/// Evaluates for each of these rows of a table if it follows all of these rules.
pub(super) fn heed<'r>(table: &TraversalTable, rows: &[usize], rules: impl IntoIterator<Item = &'r Rule>) -> Vec<bool> {
    let mut heed = vec![true; rows.len()];
    for rule in rules {
        let looked_up = LookedUp::of(&rule.feature, table);
        heed.iter_mut().zip(rows).for_each(|(heed, &row)| *heed &= looked_up.holds(row) == rule.value);
    }
    heed
}
