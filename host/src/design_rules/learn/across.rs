//! Rules across inputs of a program (the paper's section VI).
//!
//! In: runs with several inputs, and numbers that describe each input. Out: [`Across`], one tree over the features of
//! schedules and of inputs; its advice by [`Region`]s of inputs; and what it says of unseen inputs, [`Judged`].

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::features::{FeatureSet, Rule};
use super::labels::{Class, LabelOptions, Labels};
use super::model::LearnOptions;
use super::rules::{Advice, MeasuredRows, Rules};
use super::table::TraversalTable;
use super::tree::TreeSearch;
use crate::design_rules::error::RulesError;
use crate::design_rules::measure::Runs;
use crate::design_rules::statistics::percentile;

/// A program's input: its runs, and the numbers that describe it.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    /// Name for errors and tables, such as that of the file of runs.
    pub name: String,
    /// The runs.
    pub runs: &'a Runs,
    /// Numbers that describe the input, in the order of the names given to [`Across::learn`].
    pub numbers: Vec<f64>,
    /// Method that assigns its runs to classes.
    pub labels: LabelOptions,
}

impl Input<'_> {
    /// Returns the classes of its runs, merged until there are at most `count`.
    fn labels(&self, count: usize) -> Result<Labels, RulesError> {
        let labels = Labels::with(&self.runs.times(), &self.labels);
        let labels = labels.map_err(|error| match error {
            RulesError::Learning(reason) => RulesError::Learning(format!("{}: {reason}", self.name)),
            other => other,
        });
        labels.map(|labels| labels.merged(count))
    }
}

/// Inputs for which the same rules of the fastest class hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Region {
    /// Rules about inputs that these inputs follow.
    pub conditions: Vec<Rule>,
    /// Indices of the inputs learned from.
    pub inputs: Vec<usize>,
    /// Advice on their fastest class, by those inputs whose classes can be told apart. Gains are those of relative times;
    /// `seconds` is the difference at an input whose times have the geometric mean of all.
    pub advice: Option<Advice>,
}

/// The verdict of an unseen input's runs on rules.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Judged {
    /// Number of its classes, by its own times.
    pub classes: usize,
    /// Number of its runs.
    pub runs: usize,
    /// Number of runs whose time is within the bounds of their predicted class; `None` if there is only one class, which
    /// would be right by itself.
    pub within: Option<usize>,
    /// Fastest time found, in seconds.
    pub fastest: f64,
    /// The advised schedule.
    pub advised: String,
    /// Time of the advised schedule, in seconds.
    pub seconds: f64,
    /// Median time of the runs that are predicted to be of the same class as the advised schedule, in seconds.
    pub median: f64,
}

impl Judged {
    /// Returns the share of runs within the bounds of their predicted class, or `None` if there is only one class.
    pub fn share(&self) -> Option<f64> {
        self.within.map(|within| within as f64 / self.runs as f64)
    }

    /// Returns the time of the advised schedule relative to the fastest, 1 if both are 0.
    pub fn ratio(&self) -> f64 {
        if self.seconds == self.fastest { 1.0 } else { self.seconds / self.fastest }
    }
}

/// A tree over features of schedules and of inputs.
///
/// The classes of each input are those of its own times. Numbers of classes differ among inputs, so that classes are
/// [merged](Labels::merged) until each input has as many as the one with the fewest. An input with a single class counts
/// neither for this nor for the tree.
#[derive(Clone, Debug)]
pub struct Across<'a> {
    names: Vec<String>,
    inputs: Vec<Input<'a>>,
    labels: Vec<Labels>,
    count: usize,
    table: TraversalTable,
    /// The input of each row of the table.
    groups: Vec<usize>,
    features: FeatureSet,
    search: Option<TreeSearch>,
    rules: Rules,
}

impl<'a> Across<'a> {
    /// Learns from several inputs. `names` are those of the inputs' numbers. `classes` is the most classes of an input;
    /// without it, the number that all inputs have. The labels of `options` are not used: each input has its own.
    ///
    /// Cross-validation leaves out all runs of an input together.
    ///
    /// # Errors
    /// [`RulesError::Learning`] without inputs, and as [`Labels::with`].
    ///
    /// # Panics
    /// Unless each input has a number for each name.
    pub fn learn(
        names: Vec<String>,
        inputs: Vec<Input<'a>>,
        classes: Option<usize>,
        options: &LearnOptions,
    ) -> Result<Self, RulesError> {
        let own = inputs.iter().map(|input| input.labels(usize::MAX)).collect::<Result<Vec<_>, _>>()?;
        let fewest = own.iter().map(Labels::count).filter(|&count| count > 1).min().unwrap_or(1);
        let count = classes.unwrap_or(fewest).max(1);
        let labels: Vec<Labels> = own.into_iter().map(|labels| labels.merged(count)).collect();
        let table = table(&names, &inputs);
        let sizes = inputs.iter().map(|input| input.runs.runs.len()).enumerate();
        let groups: Vec<usize> = sizes.flat_map(|(group, runs)| std::iter::repeat_n(group, runs)).collect();
        if groups.is_empty() {
            return Err(RulesError::Learning("there are no runs".to_owned()));
        }
        // Runs whose classes can't be told apart teach nothing about classes.
        let rows: Vec<usize> = (0..table.len()).filter(|&row| labels[groups[row]].count() > 1).collect();
        let (features, columns) = FeatureSet::learn(&table, &rows);
        let all: Vec<Class> = labels.iter().filter(|labels| labels.count() > 1).flat_map(Labels::classes).copied().collect();
        let told: Vec<usize> = (0..inputs.len()).filter(|&input| labels[input].count() > 1).collect();
        let rank = |row: usize| told.partition_point(|&input| input < groups[row]);
        // The runs of a single input are left out one by one.
        let left_out: Vec<usize> =
            if told.len() == 1 { (0..rows.len()).collect() } else { rows.iter().map(|&row| rank(row)).collect() };
        let train = || options.size.train_groups(&columns, &all, &left_out, options.criterion);
        let search = (!rows.is_empty()).then(train).transpose()?;
        let rules = search.as_ref().map_or_else(Rules::default, |search| Rules::of(&search.tree, &features));
        Ok(Across { names, inputs, labels, count, table, groups, features, search, rules })
    }

    /// Returns the inputs.
    pub fn inputs(&self) -> &[Input<'a>] {
        &self.inputs
    }

    /// Returns the classes of each input.
    pub fn labels(&self) -> &[Labels] {
        &self.labels
    }

    /// Returns the features of schedules and inputs.
    pub fn features(&self) -> &FeatureSet {
        &self.features
    }

    /// Returns the tree and the search for its size, or `None` if each input has one class.
    pub fn search(&self) -> Option<&TreeSearch> {
        self.search.as_ref()
    }

    /// Returns the rules of all classes.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Returns the inputs that follow these rules about inputs. Rules about schedules don't matter.
    fn meeting(&self, rules: &[Rule]) -> Vec<usize> {
        let conditions: Vec<&Rule> = rules.iter().filter(|rule| rule.is_condition()).collect();
        let first = |input: &usize| self.groups.iter().position(|group| group == input);
        let meets = |input: &usize| {
            first(input).is_some_and(|row| super::features::heed(&self.table, &[row], conditions.iter().copied())[0])
        };
        (0..self.inputs.len()).filter(meets).collect()
    }

    /// Returns the advice on the fastest class. Inputs to which the same rulesets of that class apply share a region.
    pub fn regions(&self) -> Vec<Region> {
        let sets: Vec<_> = self.rules.of_class(Class::from_index(0)).collect();
        let meeting: Vec<Vec<usize>> = sets.iter().map(|set| self.meeting(&set.rules)).collect();
        let mut regions: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
        for input in 0..self.inputs.len() {
            let apply = (0..sets.len()).filter(|&set| meeting[set].contains(&input)).collect();
            regions.entry(apply).or_default().push(input);
        }
        let mut regions: Vec<_> = regions.into_iter().collect();
        regions.sort_by_key(|(_, inputs)| std::cmp::Reverse(inputs.len()));
        // Times relative to the input's geometric mean, times that of all.
        let mean = |times: &[f64]| times.iter().map(|time| time.max(f64::MIN_POSITIVE).ln()).sum::<f64>() / times.len() as f64;
        let times: Vec<f64> = self.inputs.iter().flat_map(|input| input.runs.times()).collect();
        let own: Vec<f64> = self.inputs.iter().map(|input| mean(&input.runs.times())).collect();
        let whole = mean(&times);
        let classes: Vec<Class> = self.labels.iter().flat_map(Labels::classes).copied().collect();
        let region = |(apply, inputs): (Vec<usize>, Vec<usize>)| {
            let mut conditions: Vec<Rule> = Vec::new();
            for rule in apply.iter().flat_map(|&set| &sets[set].rules).filter(|rule| rule.is_condition()) {
                if !conditions.iter().any(|other| other.implies(rule)) {
                    conditions.retain(|other| !rule.implies(other));
                    conditions.push(rule.clone());
                }
            }
            let rules: Rules = apply
                .iter()
                .map(|&set| {
                    let mut set = sets[set].clone();
                    set.rules.retain(|rule| !rule.is_condition());
                    set
                })
                .collect();
            // Inputs whose classes can't be told apart have none to count, unless all inputs are so.
            let is_told = |input: usize| self.labels[input].count() > 1;
            let any = inputs.iter().any(|&input| is_told(input));
            let counts = |input: usize| inputs.contains(&input) && (is_told(input) || !any);
            let rows: Vec<usize> = (0..times.len()).filter(|&row| counts(self.groups[row])).collect();
            let relative: Vec<f64> = rows.iter().map(|&row| times[row] * (whole - own[self.groups[row]]).exp()).collect();
            let classes: Vec<Class> = rows.iter().map(|&row| classes[row]).collect();
            let advice = Advice::of(&rules, &classes, &MeasuredRows::new(&self.table, &rows, &relative));
            Region { conditions, inputs, advice }
        };
        regions.into_iter().map(region).collect()
    }

    /// Returns the distance of each input from these numbers: the mean of squared differences. A number is compared by its
    /// logarithm if all inputs have one above 0, and in units of the standard deviation over the inputs learned from.
    fn distances(&self, numbers: &[f64]) -> Vec<f64> {
        let mut distances = vec![0.0; self.inputs.len()];
        for (column, &number) in numbers.iter().enumerate() {
            let all = || self.inputs.iter().map(|input| input.numbers[column]);
            let is_positive = all().chain([number]).all(|number| number > 0.0);
            let scaled = |number: f64| if is_positive { number.ln() } else { number };
            let mean = all().map(scaled).sum::<f64>() / self.inputs.len() as f64;
            let deviation = (all().map(|number| (scaled(number) - mean).powi(2)).sum::<f64>() / self.inputs.len() as f64).sqrt();
            for (distance, other) in distances.iter_mut().zip(all()).filter(|_| deviation > 0.0) {
                *distance += ((scaled(other) - scaled(number)) / deviation).powi(2) / numbers.len() as f64;
            }
        }
        distances
    }

    /// Returns the input whose numbers are nearest.
    pub fn nearest(&self, numbers: &[f64]) -> usize {
        let distances = self.distances(numbers);
        (0..distances.len()).min_by(|&a, &b| distances[a].total_cmp(&distances[b])).unwrap_or(0)
    }

    /// Judges the rules by the runs of an unseen input.
    ///
    /// The advised schedule is one of the unseen input's runs. It is of the fastest predicted class, and of those measured
    /// with the most inputs, it has the least geometric mean of times relative to the input's fastest. Only those inputs
    /// learned from count that follow the same rules about inputs. An input's weight is e^-d, where d is the mean over all
    /// numbers of the squared difference from the unseen input, in standard deviations.
    ///
    /// # Errors
    /// [`RulesError::Learning`] without runs, and as [`Labels::with`].
    pub fn judge(&self, unseen: &Input) -> Result<Judged, RulesError> {
        let labels = unseen.labels(self.count)?;
        let table = table(&self.names, std::slice::from_ref(unseen));
        let times = unseen.runs.times();
        let leaves = match &self.search {
            Some(search) => self.features.leaves(&search.tree, &table),
            None => vec![0; times.len()],
        };
        let class_of = |leaf: usize| self.search.as_ref().map_or(Class::from_index(0), |search| search.tree.nodes()[leaf].class);
        let predicted: Vec<Class> = leaves.iter().map(|&leaf| class_of(leaf)).collect();
        let is_within = |(&class, &time): (&Class, &f64)| {
            let bounds = (class.index() < labels.count()).then(|| labels.bounds(class));
            bounds.is_some_and(|[least, greatest]| (least..=greatest).contains(&time))
        };
        let within = || predicted.iter().zip(&times).filter(|&pair| is_within(pair)).count();

        // Relative to the nearest, whose weight would otherwise underflow where all are far away.
        let distances = self.distances(&unseen.numbers);
        let least = distances.iter().copied().fold(f64::INFINITY, f64::min);
        let weight = |input: usize| (least - distances[input]).exp();
        let mut measured: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        for (index, input) in self.inputs.iter().enumerate() {
            let fastest = input.runs.fastest().map_or(0.0, |run| run.seconds).max(f64::MIN_POSITIVE);
            for run in &input.runs.runs {
                let relative = (run.seconds.max(f64::MIN_POSITIVE) / fastest).ln();
                measured.entry(run.traversal.to_string()).or_default().push((index, relative));
            }
        }
        let mut meeting: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for ruleset in self.rules.all() {
            meeting.insert(ruleset.leaf, self.meeting(&ruleset.rules));
        }
        let best = *predicted.iter().min().ok_or_else(|| RulesError::Learning(format!("{}: there are no runs", unseen.name)))?;
        let candidates: Vec<usize> = (0..times.len()).filter(|&row| predicted[row] == best).collect();
        let score = |row: usize| {
            let there = measured.get(&unseen.runs.runs[row].traversal.to_string());
            let counts = |input: usize| meeting.get(&leaves[row]).is_none_or(|inputs| inputs.contains(&input));
            let (mut number, mut sum, mut weights) = (0, 0.0, 0.0);
            for &(input, relative) in there.into_iter().flatten().filter(|(input, _)| counts(*input)) {
                number += 1;
                sum += weight(input) * relative;
                weights += weight(input);
            }
            (std::cmp::Reverse(number), if weights > 0.0 { sum / weights } else { 0.0 })
        };
        let scores: Vec<_> = candidates.iter().map(|&row| score(row)).collect();
        let better = |&a: &usize, &b: &usize| scores[a].0.cmp(&scores[b].0).then_with(|| scores[a].1.total_cmp(&scores[b].1));
        let advised = candidates[(0..candidates.len()).min_by(better).expect("the best class has a run")];
        let of_class: Vec<f64> = candidates.iter().map(|&row| times[row]).collect();
        Ok(Judged {
            classes: labels.count(),
            runs: times.len(),
            within: (labels.count() > 1 && self.count > 1).then(within),
            fastest: labels.sorted()[0],
            advised: unseen.runs.runs[advised].traversal.to_string(),
            seconds: times[advised],
            median: percentile(&of_class, 50.0).expect("the best class has a run"),
        })
    }
}

/// Returns the table of all runs, with the numbers of their inputs.
fn table(names: &[String], inputs: &[Input]) -> TraversalTable {
    let table = TraversalTable::new(inputs.iter().flat_map(|input| &input.runs.runs).map(|run| &run.traversal));
    let column = |(index, name): (usize, &String)| {
        let numbers = inputs.iter().flat_map(|input| std::iter::repeat_n(input.numbers[index], input.runs.runs.len()));
        (name.clone(), numbers.collect())
    };
    table.with_inputs(names.iter().enumerate().map(column).collect())
}
