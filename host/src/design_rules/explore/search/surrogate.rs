//! A search by a model of the times.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::RngCore as _;

use super::strategy::{Statistics, Strategy, pick};
use crate::design_rules::schedule::place;
use crate::design_rules::statistics::normals;
use crate::design_rules::{Dag, Kind, OpId, Schedule, Step};

/// Schedules that a model is asked about per proposal, and how many of these are like fast ones.
const CANDIDATES: usize = 128;
const ALIKE: usize = 96;
/// Number of the fastest schedules from which similar candidates are made.
const FASTEST: usize = 4;
/// Schedules that are as different as can be before there is a model.
const FIRST: usize = 8;
/// And one of this many later: a model that only seeks the fastest does not learn what the others have in common.
const DIFFERENT: usize = 3;
/// Trees of a model.
const TREES: usize = 16;
/// A model is made from this many runs at most: of more, from the fastest half of them and the latest.
const MOST: usize = 256;

/// A search by an ensemble of regression trees over orders and shared streams.
///
/// It begins with the textbook's schedule and two that launch the GPU's operations as soon as can be: in streams of their
/// own, and in one. Then it proposes those of random schedules that differ from all before by the most features: orders of
/// two steps, shared streams. So it goes on with every third, since rules take slow schedules, too.
///
/// The others may be fast by a model of the logarithms of times: regression trees. Each is split by
/// the feature that lowers the variance most, at random among several (extremely randomized trees:
/// Geurts, Ernst and Wehenkel, 2006). Candidates are random schedules, and schedules that begin
/// like one of the four fastest. From the predictions for each candidate, a sample of a normal
/// distribution is drawn, and the least sample is proposed (Thompson sampling). So a schedule is
/// measured if its predicted mean is small or its prediction is uncertain.
#[derive(Clone, Debug, Default)]
pub struct Surrogate {
    places: Places,
    /// In the order of measurement.
    runs: Vec<Known>,
}

/// A schedule that was measured.
#[derive(Clone, Debug)]
struct Known {
    features: Vec<u64>,
    /// The logarithm of its time.
    time: f64,
    steps: Vec<Step>,
}

impl Surrogate {
    /// Returns whether the next schedule should differ from those before.
    fn is_to_differ(&self) -> bool {
        self.runs.len() < FIRST || self.runs.len().is_multiple_of(DIFFERENT)
    }
}

impl Strategy for Surrogate {
    fn name(&self) -> &'static str {
        "surrogate"
    }

    fn choose(&self, _: &Statistics, children: &[Statistics], random: &mut ChaCha8Rng) -> usize {
        pick(children, |_| true, random).unwrap_or(0)
    }

    fn starts(&mut self, dag: &Dag, streams: usize, random: &mut ChaCha8Rng) -> Vec<Vec<Step>> {
        if let Some(schedule) = well_known(dag, streams, self.runs.len()) {
            return vec![schedule.steps().to_vec()];
        }
        let mut starts = vec![Vec::new(); CANDIDATES];
        if !self.is_to_differ() {
            let mut fastest: Vec<&Known> = self.runs.iter().collect();
            fastest.sort_by(|a, b| a.time.total_cmp(&b.time));
            fastest.truncate(FASTEST);
            for start in &mut starts[..ALIKE] {
                let steps = &fastest[below(fastest.len(), random)].steps;
                start.extend(&steps[..below(steps.len(), random)]);
            }
        }
        starts
    }

    fn observe(&mut self, dag: &Dag, schedule: &Schedule, seconds: f64) {
        let features = self.places.features(dag, schedule);
        // No time is 0; what a formula says may be.
        self.runs.push(Known { features, time: seconds.max(1e-12).ln(), steps: schedule.steps().to_vec() });
    }

    fn pick(&mut self, dag: &Dag, candidates: &[Schedule], random: &mut ChaCha8Rng) -> usize {
        if self.runs.is_empty() {
            return 0;
        }
        let asked: Vec<Vec<u64>> = candidates.iter().map(|candidate| self.places.features(dag, candidate)).collect();
        let values: Vec<f64> = if self.is_to_differ() {
            let differing = |(a, b): (&u64, &u64)| (a ^ b).count_ones();
            let distance = |features: &[u64], run: &Known| features.iter().zip(&run.features).map(differing).sum::<u32>();
            let nearest = |features: &Vec<u64>| self.runs.iter().map(|run| distance(features, run)).min();
            asked.iter().map(|features| -f64::from(nearest(features).unwrap_or(0))).collect()
        } else {
            let runs = training(&self.runs);
            let trees: Vec<Tree> = (0..TREES).map(|_| Tree::grow(&runs, random)).collect();
            let sample = |features: &Vec<u64>| {
                let times: Vec<f64> = trees.iter().map(|tree| tree.predict(features)).collect();
                let mean = times.iter().sum::<f64>() / times.len() as f64;
                let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / times.len() as f64;
                mean + variance.sqrt() * normals(random)[0]
            };
            asked.iter().map(sample).collect()
        };
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        pick(&values, |&value| value == least, random).unwrap_or(0)
    }
}

/// The first schedules, which need no model: there are three.
fn well_known(dag: &Dag, streams: usize, index: usize) -> Option<Schedule> {
    // The GPU's operations first, in other streams or in the first one, then what others wait for.
    let eager = |own: bool| {
        Schedule::by_priority(dag, streams, |step| {
            let kind = match step {
                Step::Choose { .. } | Step::Gpu { .. } => 0,
                Step::EventRecord { .. } => 1,
                Step::StreamWait { .. } => 2,
                Step::Cpu(_) | Step::EventSync { .. } => 3,
            };
            let stream = step.bound().map_or(0, i16::from);
            (kind, if own { -stream } else { stream }, place(dag, step))
        })
    };
    match index {
        0 => Some(Schedule::textbook(dag)),
        1 => Some(eager(true)),
        2 => Some(eager(false)),
        _ => None,
    }
}

/// A number below this one, which is more than 0.
fn below(end: usize, random: &mut ChaCha8Rng) -> usize {
    (random.next_u64() % end as u64) as usize
}

/// The runs that a model is made from.
fn training(runs: &[Known]) -> Vec<&Known> {
    let (early, late) = runs.split_at(runs.len().saturating_sub(MOST / 2));
    let mut early: Vec<_> = early.iter().collect();
    early.sort_by(|a, b| a.time.total_cmp(&b.time));
    early.truncate(MOST / 2);
    early.extend(late);
    early
}

/// A regression tree, whose leaves have a run each, or runs that don't differ.
struct Tree {
    /// The root is the first; children come after their parents.
    nodes: Vec<Node>,
}

enum Node {
    /// The mean of its times.
    Leaf(f64),
    /// A feature, and the nodes of the runs without it and with it.
    Split(usize, [usize; 2]),
}

impl Tree {
    /// Grows a tree from runs, of which there is at least one.
    fn grow(runs: &[&Known], random: &mut ChaCha8Rng) -> Self {
        let mut nodes = vec![Node::Leaf(0.0)];
        let mut left = vec![(0, runs.to_vec())];
        while let Some((node, runs)) = left.pop() {
            match best_split(&runs, random) {
                Some(feature) => {
                    let children = [nodes.len(), nodes.len() + 1];
                    nodes[node] = Node::Split(feature, children);
                    nodes.extend([Node::Leaf(0.0), Node::Leaf(0.0)]);
                    let (with, without) = runs.into_iter().partition(|run| has(&run.features, feature));
                    left.extend([(children[0], without), (children[1], with)]);
                }
                None => nodes[node] = Node::Leaf(runs.iter().map(|run| run.time).sum::<f64>() / runs.len() as f64),
            }
        }
        Tree { nodes }
    }

    fn predict(&self, features: &[u64]) -> f64 {
        let mut at = 0;
        loop {
            match self.nodes[at] {
                Node::Leaf(time) => return time,
                Node::Split(feature, children) => at = children[usize::from(has(features, feature))],
            }
        }
    }
}

fn has(features: &[u64], feature: usize) -> bool {
    features[feature / 64] >> (feature % 64) & 1 == 1
}

/// The feature that lowers the variance within both parts most, one of several at random; none where no feature tells
/// runs apart or all take the same time.
fn best_split(runs: &[&Known], random: &mut ChaCha8Rng) -> Option<usize> {
    let n = runs.len() as f64;
    let mean = runs.iter().map(|run| run.time).sum::<f64>() / n;
    if runs.iter().all(|run| run.time == runs[0].time) {
        return None;
    }
    // Of those that have a feature: how many, and the sum of how far they are from the mean.
    let mut with = vec![(0.0, 0.0); 64 * runs[0].features.len()];
    for run in runs {
        for (word, &bits) in run.features.iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                let (count, sum) = &mut with[64 * word + bits.trailing_zeros() as usize];
                (*count, *sum) = (*count + 1.0, *sum + run.time - mean);
                bits &= bits - 1;
            }
        }
    }
    // The sums of both parts are each other's negatives.
    let gain =
        |&(count, sum): &(f64, f64)| if count > 0.0 && count < n { sum * sum * (1.0 / count + 1.0 / (n - count)) } else { -1.0 };
    let gains: Vec<f64> = with.iter().map(gain).collect();
    let best = gains.iter().copied().fold(0.0, f64::max);
    pick(&gains, |&gain| gain >= 0.0 && gain >= best * (1.0 - 1e-9), random)
}

/// The numbering of a program's steps among all that a schedule may have.
#[derive(Clone, Debug, Default)]
struct Places {
    /// For each operation of the GPU, its number among these.
    gpu: Vec<Option<usize>>,
    /// Edges from operations of the GPU.
    edges: Vec<(OpId, OpId)>,
}

impl Places {
    /// A bit for each ordered pair of steps, whether one comes before the other, and for each pair of operations of the
    /// GPU, whether they share a stream.
    fn features(&mut self, dag: &Dag, schedule: &Schedule) -> Vec<u64> {
        if self.gpu.is_empty() {
            let mut count = 0;
            for op in dag.operations() {
                let is_gpu = dag.kind(op) == Kind::Gpu;
                self.gpu.push(is_gpu.then_some(count));
                count += usize::from(is_gpu);
                self.edges.extend(dag.predecessors(op).filter(|&from| dag.kind(from) == Kind::Gpu).map(|from| (from, op)));
            }
        }
        let operations = self.gpu.len();
        let count = self.gpu.iter().flatten().count();
        let steps = operations + count + self.edges.len();
        let mut places = vec![usize::MAX; steps];
        let mut streams = vec![0; count];
        for (place, &step) in schedule.steps().iter().enumerate() {
            let at = match step {
                Step::Cpu(op) => op.index(),
                Step::Gpu { op, stream } => {
                    streams[self.gpu[op.index()].expect("it is on the GPU")] = stream;
                    op.index()
                }
                Step::EventRecord { after } => operations + self.gpu[after.index()].expect("it is on the GPU"),
                Step::EventSync { after, before } | Step::StreamWait { after, before, .. } => {
                    let position = |wanted: &dyn Fn(&(OpId, OpId)) -> bool| self.edges.iter().position(wanted);
                    // The event of another operation may stand for a predecessor's.
                    let edge = position(&|&edge| edge == (after, before)).or_else(|| position(&|&(_, to)| to == before));
                    operations + count + edge.expect("whoever waits has a predecessor on the GPU")
                }
                // The operations that are there say it.
                Step::Choose { .. } => continue,
            };
            places[at] = place;
        }
        let mut bits = Bits::default();
        for (index, &a) in places.iter().enumerate() {
            for &b in &places[..index] {
                bits.push(a < b && b != usize::MAX);
                bits.push(b < a && a != usize::MAX);
            }
        }
        for (index, a) in streams.iter().enumerate() {
            streams[..index].iter().for_each(|b| bits.push(a == b));
        }
        bits.words
    }
}

/// Bits, 64 to a word.
#[derive(Default)]
struct Bits {
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    fn push(&mut self, bit: bool) {
        if self.len.is_multiple_of(64) {
            self.words.push(0);
        }
        self.words[self.len / 64] |= u64::from(bit) << (self.len % 64);
        self.len += 1;
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::rand_core::SeedableRng as _;

    use super::*;

    /// Runs with these features and times.
    fn runs(times: impl Iterator<Item = (u64, f64)>) -> Vec<Known> {
        times.map(|(bits, time)| Known { features: vec![bits], time, steps: Vec::new() }).collect()
    }

    #[test]
    fn trees_fit_what_features_tell_apart() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        // Both of two features together, which neither tells alone; and runs that don't differ.
        let time = |bits: u64| if bits & 0b11 == 0b11 { 1.0 } else { 2.0 + (bits >> 2) as f64 };
        let all = runs((0..16).map(|bits| (bits, time(bits))));
        let tree = Tree::grow(&all.iter().collect::<Vec<_>>(), &mut random);
        (0..16).for_each(|bits| assert_eq!(tree.predict(&[bits]), time(bits)));
        let equal = runs([(5, 1.0), (5, 2.0)].into_iter());
        assert_eq!(Tree::grow(&equal.iter().collect::<Vec<_>>(), &mut random).predict(&[9]), 1.5);
        assert_eq!(best_split(&equal.iter().collect::<Vec<_>>(), &mut random), None);
    }

    #[test]
    fn the_best_split_leaves_the_least_variance() {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let all = runs(
            (0..32)
                .map(|_| random.next_u64())
                .map(|bits| (bits, (bits.wrapping_mul(37) % 101) as f64))
                .collect::<Vec<_>>()
                .into_iter(),
        );
        let all: Vec<&Known> = all.iter().collect();
        let squares = |part: &[&&Known]| {
            let mean = part.iter().map(|run| run.time).sum::<f64>() / part.len() as f64;
            part.iter().map(|run| (run.time - mean).powi(2)).sum::<f64>()
        };
        let rest = |feature: usize| {
            let (with, without): (Vec<&&Known>, Vec<&&Known>) = all.iter().partition(|run| has(&run.features, feature));
            if with.is_empty() || without.is_empty() { f64::INFINITY } else { squares(&with) + squares(&without) }
        };
        let least = (0..64).map(rest).fold(f64::INFINITY, f64::min);
        let found = rest(best_split(&all, &mut random).unwrap());
        assert!((found - least).abs() < 1e-9 * least, "{found} {least}");
    }

    /// The first schedules are the textbook's, and two that are eager.
    #[test]
    fn well_known_schedules() {
        let dag = crate::design_rules::programs::spmv::dag();
        let text = |index| well_known(&dag, 2, index).map(|schedule| schedule.text(&dag));
        assert_eq!(text(0), Some(Schedule::textbook(&dag).text(&dag)));
        assert!(text(1).unwrap().starts_with("Pack@0;y_L@1;CER-after-Pack;CES-b4-PostSend;"), "{:?}", text(1));
        assert!(text(2).unwrap().starts_with("Pack@0;y_L@0;CER-after-Pack;"), "{:?}", text(2));
        assert_eq!(text(3), None);
    }
}
