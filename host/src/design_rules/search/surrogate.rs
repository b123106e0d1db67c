//! A search by a model of the times: Bayesian optimization.

use rand_chacha::ChaCha8Rng;

use super::super::sim::normals;
use super::super::{Dag, Kind, OpId, Schedule, Step};
use super::strategy::{Mcts, Statistics, Strategy};

/// Schedules that a model is asked about per proposal.
const CANDIDATES: usize = 128;
/// Schedules that the tree search chooses before there is a model.
const FIRST: usize = 6;
/// And one of this many later: a model that only seeks the fastest does not learn what the others have in common.
const TREE: usize = 3;
/// A model is made from this many runs at most: of more, from the fastest half of them and the latest.
const MOST: usize = 256;
/// Lengths of the kernel, and variances of the noise as parts of that of the times: those are taken under which the times
/// are likeliest.
const LENGTHS: [f64; 3] = [0.1, 0.3, 1.0];
const NOISES: [f64; 4] = [0.01, 0.05, 0.2, 0.5];

/// Thompson sampling with a Gaussian process over orders and shared streams.
///
/// Two schedules are the more alike the fewer features they differ in: orders of two steps, shared streams. From the
/// times that are known, the process gives each of a number of random schedules a mean and a variance; from each of
/// these distributions one sample is drawn, and the schedule of the least is proposed. So what may be fast is measured,
/// for its mean or for what isn't known of it. Every third schedule is the tree search's ([`Mcts`]), which goes where times
/// differ: rules take slow schedules, too.
#[derive(Clone, Debug, Default)]
pub struct Surrogate {
    places: Places,
    /// Features and logarithms of times, in the order in which they were measured.
    runs: Vec<(Vec<u64>, f64)>,
    /// The kernel's length and the noise, and of how many runs they were estimated.
    settings: Option<(f64, f64, usize)>,
}

impl Strategy for Surrogate {
    fn name(&self) -> &'static str {
        "surrogate"
    }

    fn choose(&self, parent: &Statistics, children: &[Statistics], random: &mut ChaCha8Rng) -> usize {
        Mcts::default().choose(parent, children, random)
    }

    fn candidates(&self) -> usize {
        let by_tree = self.runs.len() < FIRST || self.runs.len().is_multiple_of(TREE);
        if by_tree { 1 } else { CANDIDATES }
    }

    fn observe(&mut self, dag: &Dag, schedule: &Schedule, seconds: f64) {
        let features = self.places.features(dag, schedule);
        // No time is 0; what a formula says may be.
        self.runs.push((features, seconds.max(1e-12).ln()));
    }

    fn pick(&mut self, dag: &Dag, candidates: &[Schedule], random: &mut ChaCha8Rng) -> usize {
        let asked: Vec<Vec<u64>> = candidates.iter().map(|candidate| self.places.features(dag, candidate)).collect();
        let runs = training(&self.runs);
        let n = runs.len();
        let mean = runs.iter().map(|(_, time)| time).sum::<f64>() / n as f64;
        let deviation = (runs.iter().map(|(_, time)| (time - mean).powi(2)).sum::<f64>() / n as f64).sqrt();
        if deviation == 0.0 {
            return 0;
        }
        let times: Vec<f64> = runs.iter().map(|(_, time)| (time - mean) / deviation).collect();

        // Features that all runs share say nothing.
        let differs = |word: usize| {
            let (all, any) = runs.iter().fold((u64::MAX, 0), |(all, any), (bits, _)| (all & bits[word], any | bits[word]));
            any & !all
        };
        let mask: Vec<u64> = (0..runs[0].0.len()).map(differs).collect();
        let varying = f64::from(mask.iter().map(|word| word.count_ones()).sum::<u32>().max(1));
        let distance = |a: &[u64], b: &[u64]| {
            let bits = a.iter().zip(b).zip(&mask).map(|((a, b), mask)| ((a ^ b) & mask).count_ones());
            f64::from(bits.sum::<u32>()) / varying
        };
        // By rows, the lower triangle.
        let distances: Vec<Vec<f64>> = (0..n).map(|i| (0..=i).map(|j| distance(&runs[i].0, &runs[j].0)).collect()).collect();
        let (length, noise) = match self.settings {
            Some((length, noise, estimated)) if n < estimated + estimated / 8 => (length, noise),
            _ => {
                let all = LENGTHS.iter().flat_map(|&length| NOISES.map(|noise| (length, noise)));
                let likelihood = |&(length, noise): &(f64, f64)| Process::new(&distances, &times, length, noise).likelihood();
                let valued = all.map(|settings| (settings, likelihood(&settings)));
                let ((length, noise), _) = valued.reduce(|a, b| if b.1 > a.1 { b } else { a }).expect("there are some");
                self.settings = Some((length, noise, n));
                (length, noise)
            }
        };
        let process = Process::new(&distances, &times, length, noise);
        let mut least = (f64::INFINITY, 0);
        for (index, features) in asked.iter().enumerate() {
            let to: Vec<f64> = runs.iter().map(|(other, _)| distance(features, other)).collect();
            let (mean, variance) = process.predict(&to);
            let sample = mean + variance.sqrt() * normals(random)[0];
            if sample < least.0 {
                least = (sample, index);
            }
        }
        least.1
    }
}

/// The runs that a model is made from.
fn training(runs: &[(Vec<u64>, f64)]) -> Vec<&(Vec<u64>, f64)> {
    let (early, late) = runs.split_at(runs.len().saturating_sub(MOST / 2));
    let mut early: Vec<_> = early.iter().collect();
    early.sort_by(|a, b| a.1.total_cmp(&b.1));
    early.truncate(MOST / 2);
    early.extend(late);
    early
}

/// A Gaussian process of mean 0, conditioned on times.
struct Process {
    length: f64,
    /// The Cholesky factor of the covariance, by rows.
    factor: Vec<Vec<f64>>,
    /// The covariance's inverse times the times.
    weights: Vec<f64>,
    /// The likeliest factor of the covariance.
    scale: f64,
}

impl Process {
    /// `distances` has the lower triangle.
    fn new(distances: &[Vec<f64>], times: &[f64], length: f64, noise: f64) -> Self {
        let mut factor: Vec<Vec<f64>> = Vec::with_capacity(times.len());
        for (i, row) in distances.iter().enumerate() {
            let mut next: Vec<f64> = row.iter().map(|&distance| covariance(distance, length)).collect();
            next[i] += noise;
            for j in 0..=i {
                let (done, rest) = next.split_at_mut(j);
                let known = if j < i { &factor[j][..j] } else { &*done };
                let value = rest[0] - dot(done, known);
                // What rounding leaves of a variance is no less than a part of the noise.
                rest[0] = if j < i { value / factor[j][j] } else { value.max(1e-3 * noise).sqrt() };
            }
            factor.push(next);
        }
        let half = solve(&factor, times);
        let scale = dot(&half, &half) / times.len() as f64;
        let mut weights = half;
        for i in (0..weights.len()).rev() {
            weights[i] /= factor[i][i];
            let weight = weights[i];
            weights[..i].iter_mut().zip(&factor[i]).for_each(|(other, entry)| *other -= weight * entry);
        }
        Process { length, factor, weights, scale }
    }

    /// The logarithm of the likelihood, but for a constant.
    fn likelihood(&self) -> f64 {
        let determinant: f64 = self.factor.iter().enumerate().map(|(i, row)| row[i].ln()).sum();
        -0.5 * self.factor.len() as f64 * self.scale.ln() - determinant
    }

    /// The mean and the variance at these distances.
    fn predict(&self, distances: &[f64]) -> (f64, f64) {
        let covariances: Vec<f64> = distances.iter().map(|&distance| covariance(distance, self.length)).collect();
        let explained = solve(&self.factor, &covariances);
        let variance = self.scale * (covariance(0.0, self.length) - dot(&explained, &explained)).max(0.0);
        (dot(&covariances, &self.weights), variance)
    }
}

/// Of two schedules that differ in this share of the features: a linear part, a local part, and a constant.
fn covariance(distance: f64, length: f64) -> f64 {
    (1.0 - 2.0 * distance) + (-distance / length).exp() + 0.2
}

/// Solves with a lower triangle.
fn solve(factor: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    let mut found: Vec<f64> = Vec::with_capacity(right.len());
    for (row, value) in factor.iter().zip(right) {
        let at = found.len();
        found.push((value - dot(&found, &row[..at])) / row[at]);
    }
    found
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Where a program's steps stand among those that a schedule may have.
#[derive(Clone, Debug, Default)]
struct Places {
    /// Of each operation: its place if it is one of the GPU's, and how many there are of these.
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
                    let edge = self.edges.iter().position(|&edge| edge == (after, before));
                    operations + count + edge.expect("the wait is for an edge")
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
    use nalgebra::{DMatrix, DVector};

    use super::*;

    /// Distances of points on a line, which need not be those of schedules.
    fn distances(points: &[f64]) -> Vec<Vec<f64>> {
        (0..points.len()).map(|i| (0..=i).map(|j| (points[i] - points[j]).abs() / 10.0).collect()).collect()
    }

    #[test]
    fn processes_are_those_of_their_formula() {
        let (points, times) = ([0.0, 1.0, 2.5, 6.0], [0.3, -0.2, 1.1, 0.4]);
        let (length, noise) = (0.3, 0.05);
        let process = Process::new(&distances(&points), &times, length, noise);
        let entry =
            |i: usize, j: usize| covariance((points[i] - points[j]).abs() / 10.0, length) + if i == j { noise } else { 0.0 };
        let matrix = DMatrix::from_fn(4, 4, entry);
        let inverse = matrix.clone().try_inverse().unwrap();
        let times = DVector::from_row_slice(&times);
        let scale = (times.transpose() * &inverse * &times)[0] / 4.0;
        assert!((process.scale - scale).abs() < 1e-9);
        assert!((process.likelihood() + 2.0 * scale.ln() + 0.5 * matrix.determinant().ln()).abs() < 1e-9);
        let to: Vec<f64> = points.iter().map(|point| (point - 4.0).abs() / 10.0).collect();
        let (mean, variance) = process.predict(&to);
        let k = DVector::from_iterator(4, to.iter().map(|&distance| covariance(distance, length)));
        assert!((mean - (k.transpose() * &inverse * &times)[0]).abs() < 1e-9);
        let wanted = scale * (covariance(0.0, length) - (k.transpose() * &inverse * &k)[0]);
        assert!((variance - wanted).abs() < 1e-9);
    }
}
