//! From times to rules: classes, features, trees, rulesets and accuracy, against other programs' answers and naive
//! methods.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde::Deserialize;
use warpsmith::design_rules::{
    Accuracy, BitColumns, Class, Dag, DecisionTree, Feature, FeatureSet, LabelOptions, Labels, LearnOptions, Model, Rule, Rules,
    Ruleset, Schedule, SpaceComparison, Traversal, TraversalTable,
    learn::{
        labels::{Convolution, Evidence},
        rules::{Advice, Gain, Mark, MeasuredRows, Verdict, imperative},
        tree::{Criterion, Limits, Size},
    },
    programs::spmv,
    schedule,
    search::{Explorer, SearchMethod},
};

use crate::fixtures::orders;

fn close(found: f64, wanted: f64, tolerance: f64) -> bool {
    (found - wanted).abs() <= tolerance * wanted.abs()
}

/// The convolution behind the paper's classes.
fn paper(labels: &Labels) -> &Convolution {
    match labels.evidence() {
        Evidence::Paper(convolution) => convolution,
        Evidence::Density(_) => panic!("they are by density"),
    }
}

// ---- classes

/// Made by NumPy 2.4.6 and SciPy 1.17.1 (`find_peaks`, `peak_prominences`): sorted times with three jumps.
#[derive(Deserialize)]
struct LabelsOracle {
    times: Vec<f64>,
    radius: usize,
    first_index: usize,
    convolution: Vec<f64>,
    peaks: Vec<usize>,
    prominences: Vec<f64>,
    p98: f64,
    kept: Vec<usize>,
    tenzing: Vec<TenzingOracle>,
}

/// Steps as the authors' postprocess.py finds them, by `find_peaks` with `prominence` and `width=1`.
#[derive(Deserialize)]
struct TenzingOracle {
    times: Vec<f64>,
    cases: Vec<TenzingCase>,
}

#[derive(Deserialize)]
struct TenzingCase {
    percentile: f64,
    starts: Vec<usize>,
}

#[test]
fn classes_are_those_of_scipy() {
    let wanted: LabelsOracle = serde_json::from_str(include_str!("../data/design_rules_labels.json")).unwrap();
    let labels = Labels::with(&wanted.times, &LabelOptions::PAPER).unwrap();
    let convolution = paper(&labels);
    assert_eq!(convolution.radius, wanted.radius);
    assert_eq!(convolution.first_index(), wanted.first_index);
    assert_eq!(convolution.values.len(), wanted.convolution.len());
    for (&found, wanted) in convolution.values.iter().zip(wanted.convolution) {
        assert!(close(found, wanted, 1e-9), "{found} {wanted}");
    }
    assert_eq!(convolution.peaks.iter().map(|peak| peak.at).collect::<Vec<_>>(), wanted.peaks);
    for (peak, wanted) in convolution.peaks.iter().zip(wanted.prominences) {
        // The smallest are of 1e-7, and come from sums of 10, which NumPy rounds before it takes their difference.
        assert!((peak.prominence - wanted).abs() < 1e-9 * wanted + 2e-15, "{peak:?} {wanted}");
    }
    assert!(close(convolution.threshold.unwrap(), wanted.p98, 1e-9));
    assert_eq!(convolution.peaks.iter().filter(|peak| peak.kept).map(|peak| peak.at).collect::<Vec<_>>(), wanted.kept);
    assert_eq!(labels.starts(), [0, 300, 800, 950]);
    assert_eq!(labels.count(), 4);
    let second = Class::from_index(1);
    assert_eq!(labels.places(second), 300..800);
    assert_eq!(labels.range(second), [wanted.times[300], wanted.times[799]]);
    assert_eq!(labels.classes()[949..951], [Class::from_index(2), Class::from_index(3)]);
    for TenzingOracle { times, cases } in wanted.tenzing {
        for TenzingCase { percentile, starts } in cases {
            let labels = Labels::with(&times, &LabelOptions::Tenzing { percentile }).unwrap();
            assert_eq!(labels.starts(), starts, "{percentile}");
        }
    }
}

#[test]
fn times_that_have_no_classes() {
    let paper = |radius, percentile| LabelOptions::Paper { radius, percentile };
    let four = &[1.0, 2.0, 4.0, 5.0][..];
    let cases: [(&[f64], LabelOptions, &str); 17] = [
        (&[], LabelOptions::PAPER, "a step function of radius 1 takes 4 runs, and there are 0"),
        (&[1.0, 2.0, 3.0], LabelOptions::PAPER, "a step function of radius 1 takes 4 runs, and there are 3"),
        (&[1.0, f64::NAN, -1.0, 1.0], LabelOptions::PAPER, "run 1 took NaN s, which is not a time"),
        (&[1.0, 1.0, f64::INFINITY, 1.0], LabelOptions::default(), "run 2 took inf s, which is not a time"),
        (&[1.0, 1.0, 1.0, -0.5], LabelOptions::default(), "run 3 took -0.5 s, which is not a time"),
        (four, paper(Some(0), 98.0), "the step function's radius is 0"),
        (four, paper(Some(2), 98.0), "takes 6 runs"),
        (four, paper(Some(usize::MAX), 98.0), "and there are 4"),
        (four, paper(None, -1.0), "there is no percentile -1"),
        (four, paper(None, f64::NAN), "there is no percentile NaN"),
        (&[], LabelOptions::default(), "there are no runs"),
        (four, LabelOptions::density(None, Some(0.0)), "there is no resolution 0"),
        (four, LabelOptions::density(None, Some(f64::NAN)), "there is no resolution NaN"),
        (four, LabelOptions::density(None, Some(f64::INFINITY)), "there is no resolution inf"),
        (four, LabelOptions::density(Some(-0.1), Some(0.1)), "there is no noise -0.1"),
        (four, LabelOptions::density(Some(f64::NAN), None), "there is no noise NaN"),
        (four, LabelOptions::density(Some(f64::INFINITY), Some(0.1)), "there is no noise inf"),
    ];
    for (times, options, wanted) in cases {
        let error = Labels::with(times, &options).unwrap_err().to_string();
        assert!(error.starts_with("nothing to learn: ") && error.contains(wanted), "{error}");
    }
}

#[test]
fn boundaries_of_the_paper() {
    // A radius of 5 sees both steps at once: its flat peak has its middle at one of the ones.
    let flat = |ones| [vec![0.0; 100], vec![1.0; ones], vec![2.0; 100]].concat();
    // Prominences 5, 1 and 2.
    let steps = vec![1.0, 1.0, 6.0, 6.0, 7.0, 7.0, 9.0, 9.0];
    let cases = [
        (vec![3.0; 20], None, 98.0, &[0][..]),
        (vec![1.0, 2.0, 3.0, 4.0], None, 98.0, &[0]),
        (vec![1.0, 2.0, 4.0, 8.0], None, 98.0, &[0]),
        (vec![1.0, 2.0, 4.0, 5.0], None, 98.0, &[0, 2]),
        (steps.clone(), None, 0.0, &[0, 2, 4, 6]),
        (steps.clone(), None, 50.0, &[0, 2, 6]),
        (steps.clone(), None, 51.0, &[0, 2]),
        (steps, None, 100.0, &[0, 2]),
        (flat(3), Some(5), 98.0, &[0, 100]),
        (flat(4), Some(5), 98.0, &[0, 100]),
    ];
    for (times, radius, percentile, wanted) in cases {
        let labels = Labels::with(&times, &LabelOptions::Paper { radius, percentile }).unwrap();
        assert_eq!(labels.starts(), wanted, "{times:?} {percentile}");
    }
}

fn times() -> impl Strategy<Value = Vec<f64>> {
    // Many that are equal, and many that aren't.
    prop_oneof![
        prop::collection::vec((0u8..12).prop_map(f64::from), 4..300),
        prop::collection::vec(0.5..2.0, 4..300),
        prop::collection::vec(prop_oneof![1.0..1.01, 1.5..1.51, 3.0..3.01], 4..500),
    ]
}

proptest! {
    /// Classes ascend with the times, partition the runs, and don't depend on the order of the
    /// runs.
    #[test]
    fn classes_belong_to_times((times, shuffled) in times().prop_flat_map(|times| {
        let order: Vec<usize> = (0..times.len()).collect();
        (Just(times), Just(order).prop_shuffle())
    }), percentile in prop_oneof![Just(98.0), 0.0..100.0], by_density: bool) {
        let options = [LabelOptions::Paper { radius: None, percentile }, LabelOptions::default()][usize::from(by_density)];
        let labels = Labels::with(&times, &options).unwrap();
        let places: Vec<usize> = labels.all().flat_map(|class| labels.places(class)).collect();
        prop_assert_eq!(places, (0..times.len()).collect::<Vec<_>>());
        for (a, &class) in labels.classes().iter().enumerate() {
            let [least, greatest] = labels.range(class);
            prop_assert!((least..=greatest).contains(&times[a]));
            for (b, &other) in labels.classes().iter().enumerate() {
                prop_assert!(class <= other || times[b] < times[a]);
            }
        }
        let again: Vec<f64> = shuffled.iter().map(|&run| times[run]).collect();
        let again = Labels::with(&again, &options).unwrap();
        for (place, &run) in shuffled.iter().enumerate() {
            prop_assert_eq!(again.classes()[place], labels.classes()[run]);
        }
    }
}

/// About uniform in (0, 1): a linear congruential generator.
fn uniforms(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }
}

#[test]
fn noise_is_one_class() {
    for seed in 1..=12 {
        let mut uniform = uniforms(seed);
        for n in [1, 2, 20, 200, 2000] {
            for deviation in [0.003, 0.03] {
                let normal: Vec<f64> =
                    (0..n).map(|_| (deviation * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0)).exp()).collect();
                let flat: Vec<f64> = (0..n).map(|_| 1.0 + 3.5 * deviation * uniform()).collect();
                let skewed: Vec<f64> = (0..n).map(|_| (-deviation * uniform().ln()).exp()).collect();
                for times in [normal, flat, skewed, vec![deviation; n], vec![0.0; n]] {
                    for noise in [None, Some(deviation)] {
                        let labels = Labels::with(&times, &LabelOptions::density(noise, None)).unwrap();
                        assert_eq!(labels.count(), 1, "{seed} {n} {deviation} {noise:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn steps_larger_than_the_noise_are_bounds() {
    let mut uniform = uniforms(5);
    // Three levels 10 % apart, with 2 % of noise, in turns; then outliers.
    let level = |run: usize| [1.0, 1.1, 1.21][run % 3];
    let mut times: Vec<f64> = (0..300).map(|run| level(run) * (1.0 + 0.02 * (uniform() - 0.5))).collect();
    let labels = Labels::with(&times, &LabelOptions::default()).unwrap();
    assert_eq!(labels.starts(), [0, 100, 200]);
    assert!(labels.classes().iter().enumerate().all(|(run, class)| class.index() == run % 3));
    let [low, high] = labels.bounds(Class::from_index(1));
    assert!(1.01 < low && low < 1.09 && 1.11 < high && high < 1.2, "{low} {high}");
    times.extend([1.9, 2.6]);
    assert_eq!(Labels::with(&times, &LabelOptions::default()).unwrap().starts(), [0, 100, 200], "outliers are no class");
    // A resolution coarser than the steps hides them.
    let coarse = Labels::with(&times[..300], &LabelOptions::density(None, Some(0.3))).unwrap();
    assert_eq!(coarse.count(), 1);
}

/// Times by logarithms that are given in units of `unit`.
fn at(unit: f64, places: &[f64]) -> Vec<f64> {
    places.iter().map(|place| (place * unit).exp()).collect()
}

#[test]
fn gaps_wider_than_noise_and_chance_are_bounds() {
    let count = |times: &[f64], noise: Option<f64>, resolution: Option<f64>| {
        Labels::with(times, &LabelOptions::density(noise, resolution)).unwrap().count()
    };
    // Wider than the resolution, and than four times the noise.
    for (noise, resolution, least) in [(0.0, None, 1.0), (0.0, Some(0.03), 3.0), (0.005, None, 2.0), (0.01, None, 4.0)] {
        for (gap, wanted) in [(least - 0.01, 1), (least + 0.01, 2)] {
            let times = at(0.01, &[0.0, 0.0, 0.0, gap, gap, gap]);
            assert_eq!((count(&times, Some(noise), resolution), count(&times, None, resolution)), (wanted, 1), "{noise} {gap}");
            assert_eq!(count(&times[1..], Some(noise), resolution), 1, "two runs are outliers");
        }
    }
    // Three runs with a width of 2: chance leaves a gap g among them with at most 3 (2 / (2 + g))² = 20 %.
    let edge = 2.0 / (0.2f64 / 3.0).sqrt() - 2.0;
    for (gap, wanted) in [(edge - 0.01, 1), (edge + 0.01, 2)] {
        let dense = [0.0, 0.0, 0.0, gap, gap + 1.0, gap + 2.0];
        let sparse = [0.0, 1.0, 2.0, 2.0 + gap, 2.0 + gap, 2.0 + gap];
        assert_eq!([dense, sparse].map(|places| count(&at(0.009, &places), Some(0.0), None)), [wanted; 2], "{gap}");
    }
    // Equal times count once: two with a width of 2 leave 2 · 2 / (2 + g) = 20 %.
    for (gap, wanted) in [(17.9, 1), (18.1, 2)] {
        let places = [0.0, 0.0, 0.0, gap, gap, gap + 2.0];
        assert_eq!(count(&at(0.0012, &places), Some(0.0), None), wanted, "{gap}");
    }
    // Even times have no steps, however exact they are.
    for n in [2, 3, 30, 300] {
        let even: Vec<f64> = (0..n).map(f64::from).collect();
        assert_eq!(count(&at(0.02, &even), Some(0.0), None), 1, "{n}");
    }
    // Of random times, few have steps.
    let mut uniform = uniforms(11);
    for n in [30, 100] {
        let mut random = || count(&(0..n).map(|_| uniform().exp()).collect::<Vec<_>>(), Some(0.0), None) > 1;
        let found = (0..200).filter(|_| random()).count();
        assert!(found < 60, "{n}: {found} of 200");
    }
    // Outliers don't hide a step, and are none.
    let places = [0.0, 0.1, 0.2, 5.0, 5.1, 5.2, 20.0, 40.0];
    assert_eq!(Labels::with(&at(0.01, &places), &LabelOptions::density(Some(0.0), None)).unwrap().starts(), [0, 3]);
}

#[test]
fn times_of_0_are_a_class() {
    for (zeros, others) in [(1, 1), (1, 50), (50, 1), (20, 20)] {
        for noise in [None, Some(0.0)] {
            let times = [vec![0.0; zeros], vec![1e-300; others]].concat();
            let labels = Labels::with(&times, &LabelOptions::density(noise, None)).unwrap();
            assert_eq!(labels.starts(), [0, zeros]);
            assert_eq!([0, 1].map(|class| labels.bounds(Class::from_index(class))), [[0.0, 5e-301], [5e-301, f64::INFINITY]]);
        }
    }
    // The others have the classes that they have by themselves.
    let others: Vec<f64> = (0..60).map(|run| [1.0, 1.5][run % 2]).collect();
    let labels = Labels::with(&[vec![0.0; 7], others].concat(), &LabelOptions::default()).unwrap();
    assert_eq!(labels.starts(), [0, 7, 37]);
    assert_eq!(Labels::with(&[0.0; 7], &LabelOptions::default()).unwrap().starts(), [0]);
}

/// The blocks are the division of the bins with the greatest penalized likelihood.
#[test]
fn blocks_are_the_best_division() {
    let width = 0.25;
    for counts in [&[5, 0, 0, 0, 9, 1, 30, 28][..], &[1, 1, 1, 1], &[40, 2, 0, 3, 35], &[3, 0, 0, 0, 0, 0, 60]] {
        // Times in the middle of each bin. The first bin has the least time.
        let times: Vec<f64> =
            counts.iter().enumerate().flat_map(|(bin, &count)| vec![(bin as f64 * width).exp(); count]).collect();
        let n: usize = counts.iter().sum();
        let penalty = 4.0 - (73.53 * 0.05 * (n as f64).powf(-0.478)).ln();
        let value = |cuts: u32| {
            let (mut from, mut sum) = (0, 0.0);
            for to in 1..=counts.len() {
                if to == counts.len() || cuts >> (to - 1) & 1 == 1 {
                    let runs = counts[from..to].iter().sum::<usize>() as f64;
                    sum += if runs > 0.0 { runs * (runs / (to - from) as f64).ln() } else { 0.0 } - penalty;
                    from = to;
                }
            }
            sum
        };
        let best = (0..1u32 << (counts.len() - 1)).max_by(|&a, &b| value(a).total_cmp(&value(b))).unwrap();
        let labels = Labels::with(&times, &LabelOptions::density(None, Some(width))).unwrap();
        let Evidence::Density(blocks) = labels.evidence() else { panic!("by density") };
        let mut found = 0;
        for block in &blocks[1..] {
            let cut = (block.range[0].ln() / width + 0.5).round() as usize;
            found |= 1 << (cut - 1);
        }
        assert!((value(found) - value(best)).abs() < 1e-9, "{counts:?}: {found:b} {best:b}");
        assert_eq!(blocks.iter().map(|block| block.runs).sum::<usize>(), n);
    }
}

// ---- features

fn traversals(texts: &[&str]) -> Vec<Traversal> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn table(texts: &[&str]) -> TraversalTable {
    TraversalTable::new(&traversals(texts))
}

fn before(before: &str, after: &str) -> Feature {
    Feature::Order { before: before.to_owned(), after: after.to_owned() }
}

fn same_stream(a: &str, b: &str) -> Feature {
    Feature::SameStream { a: a.to_owned(), b: b.to_owned() }
}

fn rule(feature: Feature, value: bool) -> Rule {
    Rule { feature, value }
}

#[test]
fn features_and_their_sentences() {
    let table = table(&[
        "Pack@0;CER-after-Pack;y_L@1;CES-b4-PostSend;PostSend",
        "y_L@0;Pack@0;CER-after-Pack;CES-b4-PostSend;PostSend",
        "y_L@0;Pack@1;PostSend",
    ]);
    assert_eq!(table.names(), ["Pack", "PostSend", "y_L", "CER-after-Pack", "CES-b4-PostSend"]);
    assert_eq!((table.len(), table.operations()), (3, 3));
    let (features, columns) = FeatureSet::learn(&table, &[0, 1, 2]);
    // `Pack` and `y_L` are before `PostSend` in all three.
    assert_eq!(
        features.features(),
        [
            before("Pack", "y_L"),
            same_stream("Pack", "y_L"),
            before("Pack", "CER-after-Pack"),
            before("Pack", "CES-b4-PostSend"),
            before("CER-after-Pack", "PostSend"),
            before("CES-b4-PostSend", "PostSend"),
            before("y_L", "CER-after-Pack"),
            before("CER-after-Pack", "y_L"),
            before("y_L", "CES-b4-PostSend"),
            before("CER-after-Pack", "CES-b4-PostSend"),
        ]
    );
    let rows: Vec<Vec<u8>> = (0..3).map(|row| (0..10).map(|column| columns.get(row, column).into()).collect()).collect();
    assert_eq!(rows, [[1, 0, 1, 1, 1, 1, 0, 1, 1, 1], [0, 1, 1, 1, 1, 1, 1, 0, 1, 1], [0; 10]]);

    let says = |feature, value| features.rule(feature, value).to_string();
    assert_eq!(says(0, true), "Pack before y_L");
    assert_eq!(says(0, false), "y_L before Pack");
    assert_eq!(says(1, true), "Pack same stream as y_L");
    assert_eq!(says(1, false), "Pack different stream than y_L");
    assert_eq!(says(7, true), "CER-after-Pack before y_L");
    assert_eq!(says(7, false), "CER-after-Pack not before y_L");
    // From the first two alone, both steps always occur.
    let (two, _) = FeatureSet::learn(&table, &[0, 1]);
    assert_eq!(two.features(), [before("Pack", "y_L"), same_stream("Pack", "y_L"), before("y_L", "CER-after-Pack")]);
    assert_eq!(two.rule(2, false).to_string(), "CER-after-Pack before y_L");
    let (one, columns) = FeatureSet::learn(&table, &[2]);
    assert!(one.features().is_empty() && columns.columns() == 0);
}

/// Schedules of four GPU operations and one of the host, with random synchronization, in any order.
fn schedules(most: usize) -> impl Strategy<Value = Vec<Traversal>> {
    let names = ["g", "h", "k", "l", "Send", "CER-after-g", "CSWE-b4-h", "CES-b4-Send"];
    let one =
        (Just(names.to_vec()).prop_shuffle(), 0u8..8, prop::collection::vec(0u8..2, 8)).prop_map(|(names, present, streams)| {
            let part = |(index, name): (usize, &&str)| match *name {
                "Send" => Some((*name).to_owned()),
                name if name.len() == 1 => Some(format!("{name}@{}", streams[index])),
                "CER-after-g" => (present & 1 > 0).then(|| (*name).to_owned()),
                "CSWE-b4-h" => (present & 2 > 0).then(|| format!("{name}@{}", streams[index])),
                _ => (present & 4 > 0).then(|| (*name).to_owned()),
            };
            names.iter().enumerate().filter_map(part).collect::<Vec<_>>().join(";").parse::<Traversal>().unwrap()
        });
    prop::collection::vec(one, 1..most)
}

fn place(traversal: &Traversal, name: &str) -> Option<usize> {
    traversal.steps().iter().position(|step| step.name == name)
}

fn naive_value(feature: &Feature, traversal: &Traversal) -> bool {
    let stream =
        |name: &str| traversal.steps().iter().find(|step| step.name == name && !name.contains('-')).and_then(|step| step.stream);
    match feature {
        Feature::Order { before, after } => {
            matches!((place(traversal, before), place(traversal, after)), (Some(u), Some(v)) if u < v)
        }
        Feature::SameStream { a, b } => stream(a).is_some() && stream(a) == stream(b),
        Feature::Chosen { choice, alternative } => place(traversal, &format!("{choice}={alternative}")).is_some(),
        Feature::AtMost { .. } => panic!("there are no inputs"),
    }
}

proptest! {
    #[test]
    fn features_are_what_their_definition_says(all in schedules(150), take in 1usize..4, skip in 0usize..3) {
        let table = TraversalTable::new(&all);
        let rows: Vec<usize> = (0..all.len()).skip(skip).step_by(take).collect();
        let (features, columns) = FeatureSet::learn(&table, &rows);

        // Every pair of names gives the features that differ, in either order unless both steps are always there.
        let names: BTreeSet<&str> = all.iter().flat_map(|traversal| traversal.steps()).map(|step| step.name.as_str()).collect();
        let own: Vec<&Traversal> = rows.iter().map(|&row| &all[row]).collect();
        let mut wanted = BTreeSet::new();
        for &u in &names {
            for &v in &names {
                let always = own.iter().all(|traversal| place(traversal, u).is_some() && place(traversal, v).is_some());
                // Operations come before synchronisation.
                let first = (u.contains('-'), u) < (v.contains('-'), v);
                let both = [(u != v && (first || !always)).then(|| before(u, v)), (u < v).then(|| same_stream(u, v))];
                wanted.extend(both.into_iter().flatten().filter(|feature| {
                    let values: BTreeSet<bool> = own.iter().map(|traversal| naive_value(feature, traversal)).collect();
                    values.len() == 2
                }));
            }
        }
        prop_assert_eq!(&features.features().iter().cloned().collect::<BTreeSet<_>>(), &wanted);
        prop_assert_eq!(features.features().len(), wanted.len());
        let synchronisation = |feature: &Feature| match feature {
            Feature::Order { before, after } => 2 * [before, after].into_iter().filter(|name| name.contains('-')).count(),
            Feature::SameStream { .. } => 1,
            Feature::Chosen { .. } => 0,
            Feature::AtMost { .. } => 5,
        };
        prop_assert!(features.features().is_sorted_by_key(synchronisation));

        for (column, feature) in features.features().iter().enumerate() {
            for (sample, traversal) in own.iter().enumerate() {
                prop_assert_eq!(columns.get(sample, column), naive_value(feature, traversal));
                // The rule holds for exactly the samples with the value.
                let value = columns.get(sample, column);
                let rule = features.rule(column, value);
                prop_assert_eq!(naive_value(&rule.feature, traversal), rule.value);
            }
        }
        // They don't depend on the order of the schedules.
        let reversed = TraversalTable::new(all.iter().rev());
        let rows: Vec<usize> = rows.iter().map(|row| all.len() - 1 - row).collect();
        prop_assert_eq!(FeatureSet::learn(&reversed, &rows).0, features);
    }
}

// ---- trees

fn columns(rows: &[Vec<u8>]) -> BitColumns {
    let mut columns = BitColumns::new(rows.len());
    (0..rows[0].len()).for_each(|column| columns.push(|row| rows[row][column] == 1));
    columns
}

fn classes(indices: &[usize]) -> Vec<Class> {
    indices.iter().map(|&index| Class::from_index(index)).collect()
}

/// Made by scikit-learn 1.9.1: `DecisionTreeClassifier` with `class_weight="balanced"` and `max_depth =
/// max_leaf_nodes - 1`. Errors and depths are those seen with six random states, which break ties; where there is one
/// value, ties don't matter.
#[derive(Deserialize)]
struct CartOracle {
    features: Vec<Vec<u8>>,
    labels: Vec<usize>,
    sweep: Vec<Sweep>,
    tree_mln8: WholeTree,
}

#[derive(Deserialize)]
struct Sweep {
    criterion: String,
    max_leaf_nodes: usize,
    error: Vec<f64>,
    depth: Vec<usize>,
    leaves: usize,
}

#[derive(Deserialize)]
struct WholeTree {
    feature: Vec<i64>,
    left: Vec<i64>,
    right: Vec<i64>,
    impurity: Vec<f64>,
    samples: Vec<usize>,
    prediction: Vec<usize>,
}

fn cart() -> CartOracle {
    serde_json::from_str(include_str!("../data/design_rules_cart.json")).unwrap()
}

#[test]
fn trees_are_those_of_scikit_learn() {
    let CartOracle { features, labels, sweep, tree_mln8: wanted } = cart();
    let (columns, classes) = (columns(&features), classes(&labels));
    assert_eq!(sweep.len(), 46);
    for Sweep { criterion, max_leaf_nodes, error, depth, leaves } in sweep {
        let criterion = if criterion == "gini" { Criterion::Gini } else { Criterion::Entropy };
        let tree = DecisionTree::train(&columns, &classes, criterion, Limits::leaves(max_leaf_nodes)).unwrap();
        let found = tree.training_error();
        assert!(error.iter().any(|error| (found - error).abs() < 1e-11), "{criterion:?} {max_leaf_nodes}: {found} {error:?}");
        assert!(depth.contains(&tree.depth()), "{criterion:?} {max_leaf_nodes}: {} {depth:?}", tree.depth());
        assert_eq!(tree.leaves(), leaves);
    }

    let tree = DecisionTree::train(&columns, &classes, Criterion::default(), Limits::leaves(8)).unwrap();
    assert_eq!(tree.nodes().len(), wanted.feature.len());
    for (index, node) in tree.nodes().iter().enumerate() {
        let split = node.split.map_or([-2, -1, -1], |split| {
            let [left, right] = split.children;
            [split.feature as i64, left as i64, right as i64]
        });
        assert_eq!(split, [wanted.feature[index], wanted.left[index], wanted.right[index]], "node {index}");
        assert!(close(node.impurity, wanted.impurity[index], 1e-12), "node {index}");
        assert_eq!(node.samples, wanted.samples[index], "node {index}");
    }
    let predicted: Vec<usize> = (0..labels.len()).map(|row| tree.predict(|feature| columns.get(row, feature)).index()).collect();
    assert_eq!(predicted, wanted.prediction);
}

#[test]
fn trees_of_what_can_not_be_told_apart() {
    let train =
        |rows: &[Vec<u8>], of: &[usize], limits| DecisionTree::train(&columns(rows), &classes(of), Criterion::default(), limits);
    let any = Limits::leaves(100);
    // No features, and those that are all the same.
    for rows in [vec![vec![]; 3], vec![vec![1, 0]; 3]] {
        let tree = train(&rows, &[1, 0, 1], any).unwrap();
        assert_eq!((tree.leaves(), tree.depth()), (1, 0));
        // Both classes weigh the same.
        assert_eq!(tree.nodes()[0].class, Class::from_index(0));
        assert_eq!(tree.training_error(), 2.0 / 3.0);
    }
    // A class.
    let tree = train(&[vec![0], vec![1]], &[2, 2], any).unwrap();
    assert_eq!((tree.leaves(), tree.training_error(), tree.nodes()[0].class), (1, 0.0, Class::from_index(2)));
    // Neither feature alone lowers the impurity, and the first is split all the same.
    let xor = [vec![0, 0], vec![0, 1], vec![1, 0], vec![1, 1]];
    let tree = train(&xor, &[0, 1, 1, 0], any).unwrap();
    assert_eq!((tree.leaves(), tree.depth(), tree.training_error()), (4, 2, 0.0));
    let tree = train(&xor, &[0, 1, 1, 0], Limits { max_leaf_nodes: 100, max_depth: 1 }).unwrap();
    assert_eq!((tree.leaves(), tree.depth(), tree.training_error()), (2, 1, 0.5));
    for least in [0, 1] {
        assert_eq!(train(&xor, &[0, 1, 1, 0], Limits::leaves(least)).unwrap().leaves(), 1);
    }

    let error = DecisionTree::train(&BitColumns::new(0), &[], Criterion::default(), any).unwrap_err().to_string();
    assert_eq!(error, "nothing to learn: there are no samples");
    let error = train(&xor, &[0, 1], any).unwrap_err().to_string();
    assert_eq!(error, "nothing to learn: there are 4 samples with features and 2 with classes");
    assert_eq!(train(&xor, &[0, 4095, 0, 0], any).unwrap().nodes()[0].class, Class::from_index(0));
    for index in [4096, usize::MAX - 1, usize::MAX] {
        let error = train(&xor, &[0, index, 0, 0], any).unwrap_err().to_string();
        let number = index.saturating_add(1);
        assert!(error.ends_with(&format!("there is a class {number}, and there may be 4096")), "{error}");
    }
}

/// A node of a naive tree.
#[derive(Clone, Debug)]
struct NaiveNode {
    samples: Vec<usize>,
    split: Option<(usize, [usize; 2])>,
    depth: usize,
}

struct Naive<'a> {
    rows: &'a [Vec<u8>],
    labels: &'a [usize],
    criterion: Criterion,
    /// Weight of a sample of each class.
    weight: Vec<f64>,
}

impl<'a> Naive<'a> {
    fn new(rows: &'a [Vec<u8>], labels: &'a [usize], criterion: Criterion) -> Self {
        let present = labels.iter().collect::<BTreeSet<_>>().len();
        let weight = |class: usize| {
            let count = labels.iter().filter(|&&label| label == class).count();
            labels.len() as f64 / (present * count) as f64
        };
        let weight = (0..=*labels.iter().max().unwrap()).map(weight).collect();
        Naive { rows, labels, criterion, weight }
    }

    /// The weight of each class among samples.
    fn weights(&self, samples: &[usize]) -> Vec<f64> {
        let mut weights = vec![0.0; self.weight.len()];
        samples.iter().for_each(|&sample| weights[self.labels[sample]] += self.weight[self.labels[sample]]);
        weights
    }

    fn impurity(&self, samples: &[usize]) -> f64 {
        let weights = self.weights(samples);
        let whole: f64 = weights.iter().sum();
        let shares = weights.iter().map(|weight| weight / whole).filter(|&share| share > 0.0);
        match self.criterion {
            Criterion::Gini => shares.map(|share| share * (1.0 - share)).sum(),
            Criterion::Entropy => shares.map(|share| -share * share.log2()).sum(),
        }
    }

    fn class(&self, samples: &[usize]) -> usize {
        let weights = self.weights(samples);
        (0..weights.len()).fold(0, |best, class| if weights[class] > weights[best] + 1e-9 { class } else { best })
    }

    fn parts(&self, samples: &[usize], feature: usize) -> [Vec<usize>; 2] {
        [0, 1].map(|value| samples.iter().copied().filter(|&sample| self.rows[sample][feature] == value).collect())
    }

    fn best(&self, samples: &[usize]) -> Option<(usize, f64)> {
        let whole: f64 = self.weights(&(0..self.labels.len()).collect::<Vec<_>>()).iter().sum();
        let weight = |samples: &[usize]| self.weights(samples).iter().sum::<f64>() / whole;
        let mut best: Option<(usize, f64)> = None;
        for feature in 0..self.rows[0].len() {
            let [without, with] = self.parts(samples, feature);
            if without.is_empty() || with.is_empty() {
                continue;
            }
            let gain = weight(samples) * self.impurity(samples)
                - weight(&without) * self.impurity(&without)
                - weight(&with) * self.impurity(&with);
            if best.is_none_or(|(_, best)| gain > best + 1e-11) {
                best = Some((feature, gain));
            }
        }
        best
    }

    /// Grows a tree by looking at everything again for each split.
    fn grow(&self, leaves: usize) -> Vec<NaiveNode> {
        let mut nodes = vec![NaiveNode { samples: (0..self.labels.len()).collect(), split: None, depth: 0 }];
        while nodes.len().div_ceil(2) < leaves {
            let mut best: Option<(usize, usize, f64)> = None;
            for (index, node) in nodes.iter().enumerate() {
                let pure = node.samples.iter().all(|&sample| self.labels[sample] == self.labels[node.samples[0]]);
                if node.split.is_some() || pure || node.depth + 1 >= leaves {
                    continue;
                }
                if let Some((feature, gain)) = self.best(&node.samples)
                    && best.is_none_or(|(.., best)| gain > best + 1e-11)
                {
                    best = Some((index, feature, gain));
                }
            }
            let Some((index, feature, _)) = best else { break };
            let depth = nodes[index].depth + 1;
            nodes[index].split = Some((feature, [nodes.len(), nodes.len() + 1]));
            let parts = self.parts(&nodes[index].samples, feature);
            nodes.extend(parts.map(|samples| NaiveNode { samples, split: None, depth }));
        }
        nodes
    }

    fn error(&self, nodes: &[NaiveNode]) -> f64 {
        let wrong = |node: &NaiveNode| {
            let class = self.class(&node.samples);
            node.samples.iter().filter(|&&sample| self.labels[sample] != class).count()
        };
        let leaves = nodes.iter().filter(|node| node.split.is_none());
        leaves.map(wrong).sum::<usize>() as f64 / self.labels.len() as f64
    }

    /// Algorithm 1 as the paper's listing means it, from the number of classes: error, leaves, and all trees that it
    /// trains.
    fn algorithm_1(&self) -> (f64, usize, Vec<(usize, f64, usize)>) {
        let mut trained = Vec::new();
        let mut train = |leaves: usize| {
            let nodes = self.grow(leaves);
            let error = self.error(&nodes);
            trained.push((leaves, error, nodes.iter().map(|node| node.depth).max().unwrap()));
            error
        };
        let mut mln = self.labels.iter().collect::<BTreeSet<_>>().len().max(2);
        let mut err = f64::INFINITY;
        let mut cur = train(mln);
        while cur < err {
            err = cur;
            for i in 1..=5 {
                cur = train(mln + i);
                if cur < err {
                    mln += i;
                    break;
                }
            }
        }
        (err, mln, trained)
    }
}

fn samples(most: usize) -> impl Strategy<Value = (Vec<Vec<u8>>, Vec<usize>)> {
    (1usize..9, 1usize..5).prop_flat_map(move |(features, classes)| {
        let row = prop::collection::vec(0u8..2, features);
        // Either nothing but chance, or classes that have to do with the features.
        prop::collection::vec((row, 0..classes, 0u8..4), 1..most).prop_map(move |samples| {
            let class = |(row, class, noise): &(Vec<u8>, usize, u8)| {
                let sum: u8 = row.iter().take(4).sum();
                if *noise == 0 { *class } else { usize::from(sum) % classes }
            };
            let labels = samples.iter().map(class).collect();
            (samples.into_iter().map(|(row, ..)| row).collect(), labels)
        })
    })
}

fn criteria() -> impl Strategy<Value = Criterion> {
    prop_oneof![Just(Criterion::Gini), Just(Criterion::Entropy)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn trees_split_as_a_naive_method_does((rows, labels) in samples(150), criterion in criteria(), leaves in 1usize..14) {
        let naive = Naive::new(&rows, &labels, criterion);
        let wanted = naive.grow(leaves);
        let columns = columns(&rows);
        let tree = DecisionTree::train(&columns, &classes(&labels), criterion, Limits::leaves(leaves)).unwrap();
        prop_assert_eq!(tree.nodes().len(), wanted.len());
        for (node, wanted) in tree.nodes().iter().zip(&wanted) {
            prop_assert_eq!(node.split.map(|split| (split.feature, split.children)), wanted.split);
            prop_assert_eq!(node.depth, wanted.depth);
            prop_assert!((node.impurity - naive.impurity(&wanted.samples)).abs() < 1e-9);
            prop_assert_eq!(node.samples, wanted.samples.len());
            prop_assert_eq!(node.class.index(), naive.class(&wanted.samples));
            for (class, &count) in node.counts.iter().enumerate() {
                prop_assert_eq!(count, wanted.samples.iter().filter(|&&sample| labels[sample] == class).count());
            }
        }
        prop_assert!((tree.training_error() - naive.error(&wanted)).abs() < 1e-12);
        // And a sample falls into the leaf that has it.
        for sample in 0..rows.len() {
            let leaf = tree.leaf(|feature| columns.get(sample, feature));
            prop_assert!(wanted[leaf].split.is_none() && wanted[leaf].samples.contains(&sample));
        }
    }

    #[test]
    fn algorithm_1_is_what_the_paper_says((rows, labels) in samples(60), criterion in criteria()) {
        let naive = Naive::new(&rows, &labels, criterion);
        let (error, leaves, trained) = naive.algorithm_1();
        let found = Size::Paper.train(&columns(&rows), &classes(&labels), criterion).unwrap();
        prop_assert_eq!(found.max_leaf_nodes, leaves);
        prop_assert_eq!(found.tree.training_error(), error);
        let trials: Vec<_> = found.trials.iter().map(|trial| (trial.max_leaf_nodes, trial.error, trial.depth)).collect();
        prop_assert_eq!(trials, trained);
        // It is the very tree that training gives.
        prop_assert_eq!(&found.tree, &DecisionTree::train(&columns(&rows), &classes(&labels), criterion, Limits::leaves(leaves)).unwrap());
        let mut least = f64::INFINITY;
        for trial in &found.trials {
            prop_assert_eq!(trial.better, trial.error < least);
            least = least.min(trial.error);
        }
    }
}

// ---- rules

fn naive_heeds(ruleset: &Ruleset, traversal: &Traversal) -> bool {
    ruleset.rules.iter().all(|rule| naive_value(&rule.feature, traversal) == rule.value)
}

proptest! {
    #[test]
    fn every_sample_heeds_the_ruleset_of_its_leaf_alone(
        all in schedules(120),
        seed in prop::collection::vec(0usize..3, 120),
        leaves in 1usize..12,
    ) {
        let table = TraversalTable::new(&all);
        let rows: Vec<usize> = (0..all.len()).collect();
        let (features, columns) = FeatureSet::learn(&table, &rows);
        let labels = &seed[..all.len()];
        let tree = DecisionTree::train(&columns, &classes(labels), Criterion::default(), Limits::leaves(leaves)).unwrap();
        let rules = Rules::of(&tree, &features);
        prop_assert_eq!(rules.all().len(), tree.leaves());
        let mut seen = 0;
        for ruleset in rules.all() {
            let heeded: Vec<usize> = rows.iter().copied().filter(|&row| naive_heeds(ruleset, &all[row])).collect();
            prop_assert_eq!(heeded.len(), ruleset.samples);
            for &row in &heeded {
                prop_assert_eq!(tree.leaf(|feature| columns.get(row, feature)), ruleset.leaf);
            }
            seen += heeded.len();
            let of = |class: usize| heeded.iter().filter(|&&row| labels[row] == class).count();
            prop_assert_eq!(ruleset.class, tree.nodes()[ruleset.leaf].class);
            prop_assert_eq!(&ruleset.counts, &(0..ruleset.counts.len()).map(of).collect::<Vec<_>>());
            prop_assert!(close(ruleset.purity, of(ruleset.class.index()) as f64 / heeded.len() as f64, 1e-15));
            prop_assert_eq!(ruleset.is_sufficient(), heeded.iter().all(|&row| labels[row] == labels[heeded[0]]));
            for (index, rule) in ruleset.rules.iter().enumerate() {
                for other in &ruleset.rules[index + 1..] {
                    prop_assert!(!rule.implies(other) && !other.implies(rule) && !rule.contradicts(other));
                }
            }
        }
        // Each heeds one, and none two.
        prop_assert_eq!(seen, all.len());
        prop_assert!(rules.all().is_sorted_by_key(|ruleset| (ruleset.class, std::cmp::Reverse(ruleset.samples))));
    }

    /// Implication and contradiction are what they say, for any schedule.
    #[test]
    fn rules_imply_and_contradict_rightly(all in schedules(60)) {
        let names = ["g", "h", "CER-after-g", "CES-b4-Send"];
        let pairs = names.into_iter().flat_map(|u| names.map(|v| (u, v))).filter(|(u, v)| u != v);
        let rules: Vec<Rule> = pairs
            .flat_map(|(u, v)| [before(u, v), same_stream(u, v)])
            .flat_map(|feature| [rule(feature.clone(), true), rule(feature, false)])
            .collect();
        // For each rule, whether it holds in each schedule.
        let hold = |rule: &Rule| all.iter().map(|traversal| naive_value(&rule.feature, traversal) == rule.value).collect();
        let holds: Vec<Vec<bool>> = rules.iter().map(hold).collect();
        for (a, a_holds) in rules.iter().zip(&holds) {
            prop_assert!(a.implies(a) && !a.contradicts(a));
            for (b, b_holds) in rules.iter().zip(&holds) {
                let mut pairs = a_holds.iter().zip(b_holds);
                prop_assert!(!a.implies(b) || pairs.clone().all(|(a, b)| !a || *b), "{a} {b}");
                prop_assert!(!a.contradicts(b) || pairs.all(|(a, b)| !a || !b), "{a} {b}");
            }
        }
    }
}

fn ruleset(class: usize, samples: usize, rules: &[Rule]) -> Ruleset {
    let mut counts = vec![0; 3];
    counts[class] = samples;
    Ruleset { class: Class::from_index(class), rules: rules.to_vec(), samples, counts, purity: 1.0, leaf: 0 }
}

#[test]
fn rulesets_beside_canonical_ones() {
    let (early, late) = (rule(before("y_L", "WaitRecv"), true), rule(before("WaitRecv", "y_L"), true));
    let (same, different) = (rule(same_stream("Pack", "y_L"), true), rule(same_stream("Pack", "y_L"), false));
    let first = rule(before("Pack", "y_L"), true);
    let unneeded = rule(before("y_L", "WaitSend"), true);
    let not_late = rule(before("WaitRecv", "y_L"), false);
    let canonical: Rules = [
        ruleset(0, 50, &[early.clone(), different.clone(), first.clone()]),
        ruleset(0, 20, &[not_late.clone(), same.clone()]),
        ruleset(1, 30, std::slice::from_ref(&late)),
    ]
    .into_iter()
    .collect();
    let check = |class: usize, rules: &[Rule], verdict, matched, marks: &[Mark], missing: &[&Rule]| {
        let found = ruleset(class, 1, rules).compare(&canonical, &table(&[]));
        assert_eq!((found.verdict, found.canonical, &found.marks[..]), (verdict, matched, marks), "{rules:?}");
        assert_eq!(found.missing.iter().collect::<Vec<_>>(), missing, "{rules:?}");
    };
    use Mark::{Canonical, Contradictory, Extraneous};
    let own = |rules: &[&Rule]| rules.iter().map(|&rule| rule.clone()).collect::<Vec<_>>();
    check(0, &own(&[&first, &different, &early]), Verdict::Consistent, Some(0), &[Canonical; 3], &[]);
    // An order implies that the opposite one is not.
    check(0, &own(&[&early, &same]), Verdict::Consistent, Some(1), &[Canonical; 2], &[]);
    check(0, &own(&[&unneeded, &same, &early]), Verdict::Overconstrained, Some(1), &[Extraneous, Canonical, Canonical], &[]);
    check(0, &own(&[&different, &first]), Verdict::Underconstrained, Some(0), &[Canonical; 2], &[&early]);
    check(0, &[], Verdict::Underconstrained, Some(1), &[], &[&not_late, &same]);
    // Both are contradicted in one rule, and of the second but one other rule is missing.
    check(0, &own(&[&late, &same]), Verdict::Contradictory, Some(1), &[Contradictory, Canonical], &[&not_late]);
    check(1, &own(&[&early]), Verdict::Contradictory, Some(0), &[Contradictory], &[&late]);
    check(2, &own(&[&early]), Verdict::Unmatched, None, &[Extraneous], &[]);

    // Over a space: what schedules heed anyway is not missing.
    let table = table(&[
        "Pack@0;y_L@1;WaitRecv;WaitSend",
        "Pack@0;y_L@1;WaitSend;WaitRecv",
        "Pack@0;y_L@0;WaitRecv;WaitSend",
        "Pack@0;WaitRecv;y_L@0;WaitSend",
    ]);
    assert_eq!(ruleset(0, 1, &own(&[&different])).compare(&canonical, &table).verdict, Verdict::Consistent);
    let found = ruleset(0, 1, &own(&[&first])).compare(&canonical, &table);
    assert_eq!((found.verdict, found.missing), (Verdict::Underconstrained, vec![early.clone(), different.clone()]));

    let json = serde_json::to_value(&canonical).unwrap();
    assert_eq!(json[0]["class"], 1);
    assert_eq!(json[0]["rules"][1]["sentence"], "Pack different stream than y_L");
}

// ---- all of it

/// All orders of five steps in two streams, and times that follow from two rules.
fn planted() -> (Vec<Traversal>, Vec<f64>) {
    let texts = orders(&["Pack@0", "y_L@?", "Send", "Recv", "Wait"]);
    let all: Vec<Traversal> = texts.iter().map(|text| text.parse().unwrap()).collect();
    let time = |(index, traversal): (usize, &Traversal)| {
        let apart = !naive_value(&same_stream("Pack", "y_L"), traversal);
        let early = naive_value(&before("y_L", "Wait"), traversal);
        let small = index as f64 * 1e-9;
        1e-3 * match (early, apart) {
            (true, true) => 1.0,
            (true, false) => 1.3,
            (false, _) => 2.0,
        } + small
    };
    let times = all.iter().enumerate().map(time).collect();
    (all, times)
}

#[test]
fn planted_rules_are_found() {
    let (all, times) = planted();
    let table = TraversalTable::new(&all);
    let model = Model::learn_all(&table, &times, &LearnOptions::default()).unwrap();
    assert_eq!(all.len(), 240);
    let texts = |class: usize| -> Vec<Vec<String>> {
        let rulesets = model.rules.of_class(Class::from_index(class));
        rulesets.map(|ruleset| ruleset.rules.iter().map(Rule::to_string).collect()).collect()
    };
    // The 98th percentile lets the two highest steps pass.
    assert_eq!(model.labels.count(), 3, "{:?}", model.labels.starts());
    assert_eq!(model.labels.starts(), [0, 60, 120]);
    assert_eq!(texts(2), [["Wait before y_L"]]);
    assert_eq!(texts(0), [["y_L before Wait", "Pack different stream than y_L"]]);
    assert_eq!(texts(1), [["y_L before Wait", "Pack same stream as y_L"]]);
    assert_eq!(model.search.as_ref().unwrap().tree.training_error(), 0.0);
    let accuracy = Accuracy::of(&model, &table, &times).unwrap().unwrap();
    assert_eq!((accuracy.within, accuracy.schedules, accuracy.share()), (240, 240, 1.0));

    let error = Model::learn(&table, &times[1..], &[0], &LearnOptions::default()).unwrap_err().to_string();
    assert_eq!(error, "nothing to learn: there are 240 schedules and times of 239");
    let error = Model::learn(&table, &times, &[0, 240], &LearnOptions::default()).unwrap_err().to_string();
    assert_eq!(error, "nothing to learn: there is no schedule 240: there are 240");
    for (rows, wanted) in
        [(&[][..], "there are no runs"), (&[7], "there is a single run"), (&[7, 7], "all 2 runs took 1.000007e-3 s")]
    {
        let error = Model::learn(&table, &times, rows, &LearnOptions::default()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("nothing to learn: {wanted}")), "{error}");
    }
    let none = Accuracy::of(&model, &TraversalTable::new(&[]), &[]).unwrap_err().to_string();
    assert_eq!(none, "nothing to learn: there are no schedules to classify");
    assert!(Accuracy::of(&model, &table, &times[1..]).is_err());
}

#[test]
fn what_makes_planted_schedules_fast() {
    let (all, times) = planted();
    let table = TraversalTable::new(&all);
    let model = Model::learn_all(&table, &times, &LearnOptions::default()).unwrap();
    let advice = model.advice.as_ref().unwrap();
    let dag = Dag::builder("p").gpu("Pack").gpu("y_L").cpu("Send").cpu("Recv").cpu("Wait").build().unwrap();
    let said: Vec<String> =
        advice.shared.iter().flat_map(|point| &point.rules).map(|rule| imperative(rule, Some(&dag))).collect();
    assert_eq!(said, ["launch y_L before Wait", "put Pack and y_L into different streams"]);
    assert!(advice.alternatives.is_empty());
    assert_eq!((advice.all.members, advice.all.others), ([60, 60], [0, 180]));
    // By the rule 60 take 1.0 and 60 take 1.3 ms, the others 2: a gain of 1 - √1.3 / 2.
    let gains: Vec<_> = advice.shared.iter().map(|point| point.effect.gain.unwrap()).collect();
    assert!((gains[0].share - (1.0 - 1.3f64.sqrt() / 2.0)).abs() < 1e-3, "{gains:?}");
    assert!((gains[1].share - 0.3 / 1.3).abs() < 1e-3 && gains[1].is_certain(), "{gains:?}");
    for point in &advice.shared {
        assert_eq!((point.effect.members, point.effect.others), ([60, 60], [60, 180]));
    }
    // If other runs take the same time either way, the rules don't hold.
    let rows: Vec<usize> = (0..240).collect();
    let flat: Vec<f64> = (0..240).map(|run| 1e-3 * (1.0 + 0.01 * ((run * 89) % 240) as f64 / 240.0)).collect();
    let again =
        advice.again(Labels::with(&flat, &LabelOptions::default()).unwrap().classes(), &MeasuredRows::new(&table, &rows, &flat));
    assert!(again.shared.iter().all(|point| !point.effect.is_certain()), "{again:?}");
    let same = advice.again(model.labels.classes(), &MeasuredRows::new(&table, &rows, &times));
    assert_eq!(&same, advice);
}

/// A rule that one ruleset has, and the other implies by a sharper one, is shared.
#[test]
fn sharper_rules_share_what_they_imply() {
    let (mut all, _) = planted();
    all.retain(|traversal| naive_value(&before("Send", "Wait"), traversal));
    let table = TraversalTable::new(&all);
    let shared = rule(before("y_L", "Wait"), true);
    let sharper = [rule(before("y_L", "Send"), true), rule(same_stream("Pack", "y_L"), false)];
    let other = rule(before("Recv", "Send"), true);
    let follows =
        |rules: &[Rule], traversal: &Traversal| rules.iter().all(|rule| naive_value(&rule.feature, traversal) == rule.value);
    let sets = [sharper.to_vec(), vec![shared.clone(), other.clone()]];
    let class = |traversal: &Traversal| match traversal {
        fast if sets.iter().any(|set| follows(set, fast)) => 0,
        middle if follows(std::slice::from_ref(&shared), middle) => 1,
        _ => 2,
    };
    let indices: Vec<usize> = all.iter().map(class).collect();
    let time = |(index, &class): (usize, &usize)| [1e-3, 1.5e-3, 2e-3][class] + index as f64 * 1e-9;
    let times: Vec<f64> = indices.iter().enumerate().map(time).collect();
    let rows: Vec<usize> = (0..all.len()).collect();
    for order in [[0, 1], [1, 0]] {
        let rules: Rules = order.iter().map(|&set| ruleset(0, 20 - set, &sets[set])).collect();
        let advice = Advice::of(&rules, &classes(&indices), &MeasuredRows::new(&table, &rows, &times)).unwrap();
        let texts = |points: &[warpsmith::design_rules::learn::rules::Recommendation]| -> Vec<Vec<Rule>> {
            points.iter().map(|point| point.rules.clone()).collect()
        };
        assert_eq!(texts(&advice.shared), [[shared.clone()]]);
        assert_eq!(texts(&advice.alternatives), [sharper.to_vec(), vec![other.clone()]]);
        assert!((advice.all.members, advice.all.others[0]) == ([advice.all.members[1]; 2], 0));
    }
}

#[test]
fn one_class_has_no_rules() {
    let (all, times) = planted();
    let table = TraversalTable::new(&all);
    let flat: Vec<f64> = (0..240).map(|run| 1e-3 * (1.0 + 0.01 * ((run * 89) % 240) as f64 / 240.0)).collect();
    // By density, and as in the paper without a peak.
    let even: Vec<f64> = (0..240).map(|run| 1.0 + f64::from(run)).collect();
    for (times, labels) in [(&flat, LabelOptions::default()), (&even, LabelOptions::PAPER)] {
        for size in [Size::Validated, Size::Paper, Size::Leaves(4)] {
            let options = LearnOptions { labels, size, ..LearnOptions::default() };
            let model = Model::learn_all(&table, times, &options).unwrap();
            assert_eq!((model.labels.count(), model.rules.all().len()), (1, 0));
            assert!(model.search.is_none() && model.advice.is_none());
            assert_eq!(Accuracy::of(&model, &table, times).unwrap(), None);
            assert_eq!(model.classify(&table), vec![Class::from_index(0); 240]);
        }
    }
    let [one, three] = [&flat, &times].map(|times| Model::learn_all(&table, times, &LearnOptions::default()).unwrap());
    for (model, canonical) in [(&one, &three), (&three, &one), (&one, &one)] {
        assert_eq!(SpaceComparison::of(model, canonical, &table, &times).unwrap(), None);
    }
    assert!(SpaceComparison::of(&three, &three, &table, &times).unwrap().is_some());
    for (noise, wanted) in [
        (None, "told apart: the noise is unknown. Measure more ("),
        (Some(0.0), "told apart: the times have no noise, and no steps."),
        (Some(0.2734), "told apart: the noise is 27.34 %."),
    ] {
        assert!(one.without_advice(noise).unwrap().contains(wanted), "{noise:?}");
        assert_eq!(three.without_advice(noise), None);
    }
}

/// Options that learn in different ways.
fn learn_options() -> impl Strategy<Value = LearnOptions> {
    let labels = prop_oneof![
        Just(LabelOptions::default()),
        Just(LabelOptions::density(Some(0.0), None)),
        Just(LabelOptions::PAPER),
        Just(LabelOptions::Paper { radius: None, percentile: 0.0 }),
    ];
    let size = prop_oneof![Just(Size::Validated), Just(Size::Paper), (2usize..8).prop_map(Size::Leaves)];
    (labels, size, criteria()).prop_map(|(labels, size, criterion)| LearnOptions { labels, size, criterion })
}

proptest! {
    /// All advice is faster with 95 % confidence, and its counts are those of the runs that follow its rules.
    #[test]
    fn advice_is_certain_and_counts_the_runs_that_follow_it(
        all in schedules(120),
        chance in prop::collection::vec(0.0..1.0f64, 120),
        early in 1.0..2.0f64,
        spread in prop_oneof![Just(0.02), Just(1.0)],
        options in learn_options(),
    ) {
        let time = |(traversal, chance): (&Traversal, &f64)| {
            let is_early = naive_value(&before("g", "h"), traversal) || naive_value(&same_stream("k", "l"), traversal);
            (1.0 + spread * chance) * if is_early { 1.0 } else { early }
        };
        let times: Vec<f64> = all.iter().zip(&chance).map(time).collect();
        let Ok(model) = Model::learn_all(&TraversalTable::new(&all), &times, &options) else { return Ok(()) };
        let Some(advice) = &model.advice else { return Ok(()) };
        let follow = |rules: &[Rule], traversal: &Traversal| {
            rules.iter().all(|rule| naive_value(&rule.feature, traversal) == rule.value)
        };
        // Of all runs of class 1 (or of others): the runs that follow, and all.
        let count = |follows: &dyn Fn(&Traversal) -> bool, first: bool| {
            let of = all.iter().zip(model.labels.classes()).filter(|(_, class)| (class.index() == 0) == first);
            [of.clone().filter(|(traversal, _)| follows(traversal)).count(), of.count()]
        };
        prop_assert!(advice.points().next().is_some());
        for point in advice.points() {
            let follows = |traversal: &Traversal| follow(&point.rules, traversal);
            prop_assert_eq!(point.effect.members, count(&follows, true));
            prop_assert_eq!(point.effect.others, count(&follows, false));
            prop_assert!(point.effect.gain.unwrap().interval[0] > 0.0, "{:?}", point);
        }
        let follows = |traversal: &Traversal| {
            advice.shared.iter().all(|point| follow(&point.rules, traversal))
                && (advice.alternatives.is_empty() || advice.alternatives.iter().any(|point| follow(&point.rules, traversal)))
        };
        prop_assert_eq!((advice.all.members, advice.all.others), (count(&follows, true), count(&follows, false)));
        prop_assert!(advice.all.gain.unwrap().interval[0] > 0.0);
    }
}

#[test]
fn gains_are_those_of_scipy() {
    // scipy.stats.ttest_ind(log(a), log(b), equal_var=False).confidence_interval(), SciPy 1.17.1.
    let (a, b) = ([1.0, 1.02, 0.98, 1.05, 1.01, 0.97], [1.2, 1.1, 1.25, 1.15, 1.18]);
    let wanted: [f64; 2] = [-0.097_747, -0.215_380];
    let gain = Gain::of(&a, &b).unwrap();
    for (found, wanted) in gain.interval.iter().zip(wanted) {
        assert!((found - (1.0 - wanted.exp())).abs() < 2e-3, "{gain:?}");
    }
    assert!(gain.is_certain() && gain.runs == [6, 5]);
    assert!(Gain::of(&a, &b[..1]).is_none() && Gain::of(&[], &b).is_none());
    // Times of 0 take nothing of any other time, and some of them prove nothing.
    assert_eq!(Gain::of(&[0.0; 3], &b).unwrap().share, 1.0);
    assert!(Gain::of(&[0.0; 3], &b).unwrap().is_certain() && !Gain::of(&[0.0, 1.0], &b).unwrap().is_certain());
    assert!(Gain::of(&[0.0, 1.0], &b).unwrap().interval.iter().all(|end| end.is_finite()));
    assert!(!Gain::of(&b, &a).unwrap().is_certain() && !Gain::of(&a[..4], &a[2..]).unwrap().is_certain());
}

#[test]
fn trees_are_as_large_as_samples_carry() {
    let mut uniform = uniforms(9);
    let mut bits = |n: usize| -> Vec<Vec<u8>> { (0..n).map(|_| (0..30).map(|_| u8::from(uniform() < 0.5)).collect()).collect() };
    let rows = bits(200);
    let columns = columns(&rows);
    // Three in four of a rule's samples are of its class.
    let noise = bits(200);
    let rule: Vec<usize> =
        rows.iter().zip(&noise).map(|(row, noise)| usize::from((row[3] == 1) != (noise[0] + noise[1] == 2))).collect();
    let found = Size::Validated.train(&columns, &classes(&rule), Criterion::default()).unwrap();
    assert_eq!((found.tree.leaves(), found.tree.nodes()[0].split.unwrap().feature), (2, 3));
    assert!(found.validated && found.trials[1].better);
    let all = Size::Paper.train(&columns, &classes(&rule), Criterion::default()).unwrap();
    assert!(all.tree.leaves() > 10, "the training error gets smaller with noise, too");
    // Classes that no feature has to do with.
    let chance: Vec<usize> = noise.iter().map(|noise| usize::from(noise[2] + noise[3] == 2)).collect();
    let found = Size::Validated.train(&columns, &classes(&chance), Criterion::default()).unwrap();
    assert_eq!(found.tree.leaves(), 1);
    let one = Size::Validated.train(&columns, &classes(&[0; 200]), Criterion::default()).unwrap();
    assert_eq!((one.tree.leaves(), one.trials[0].error), (1, 0.0));
}

#[test]
fn rules_in_sentences() {
    let dag = spmv::dag();
    let set = Dag::builder("p").cpu("a").setting("Cores", "near").setting("Cores", "far").build().unwrap();
    let chosen = |choice: &str| Feature::Chosen { choice: choice.to_owned(), alternative: "near".to_owned() };
    for (rule, dag, wanted) in [
        (rule(before("y_L", "CES-b4-PostSend"), true), Some(&dag), "launch y_L before the host waits for Pack"),
        (rule(before("CER-after-Pack", "y_L"), true), Some(&dag), "record Pack's event before y_L is launched"),
        (rule(before("PostRecv", "WaitSend"), false), Some(&dag), "don't do PostRecv before WaitSend"),
        (
            rule(before("CSWE-b4-add-after-y_L", "CER-after-y_R"), true),
            Some(&dag),
            "have add's stream wait for y_L before y_R's event is recorded",
        ),
        (rule(same_stream("add", "y_L"), false), None, "put add and y_L into different streams"),
        (rule(chosen("Cores"), true), Some(&set), "set Cores as near"),
        (rule(chosen("Cores"), false), None, "don't do Cores as near"),
        (rule(before("a", "CES-b4-b"), true), None, "do a before the host waits for what b needs"),
    ] {
        assert_eq!(imperative(&rule, dag), wanted);
    }
}

/// The model finds what is fast sooner than random choice.
#[test]
fn a_model_of_the_times_finds_the_fast() {
    let dag = Dag::builder("p").gpu("a").gpu("b").cpu("c").cpu("d").gpu("e").edge("a", "c").edge("b", "d").build().unwrap();
    let all = schedule::count(&dag, 2).unwrap() as usize;
    let time = |schedule: &Schedule| {
        let names = schedule.names(&dag);
        let place = |name: &str| names.iter().position(|other| other == name).unwrap() as f64;
        // Best are few: e as late as it can be, b early, d before c.
        20.0 - place("e") + 0.3 * place("b") + 3.0 * f64::from(place("c") < place("d"))
    };
    let least = schedule::Schedules::new(&dag, 2).unwrap().map(|schedule| time(&schedule)).fold(f64::INFINITY, f64::min);
    let until = |mut explorer: Explorer| {
        let mut count = 1;
        loop {
            let schedule = explorer.propose().unwrap();
            explorer.record(&schedule, time(&schedule)).unwrap();
            if time(&schedule) <= 1.001 * least {
                return count;
            }
            count += 1;
        }
    };
    let mean = |search: SearchMethod| {
        (0..10).map(|seed| until(Explorer::new(&dag, 2, search.strategy(), seed).unwrap())).sum::<usize>() as f64 / 10.0
    };
    let (model, random) = (mean(SearchMethod::Surrogate), mean(SearchMethod::Random));
    assert!(model < 0.7 * random, "{model} of {random} of {all}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A model of part of the space: each step again by itself.
    #[test]
    fn accuracy_is_what_the_paper_says(rows in prop::sample::subsequence((0..240).collect::<Vec<usize>>(), 4..200)) {
        let (all, times) = planted();
        let table = TraversalTable::new(&all);
        let options = LearnOptions { labels: LabelOptions::PAPER, ..LearnOptions::default() };
        let model = Model::learn(&table, &times, &rows, &options).unwrap();
        let own: Vec<f64> = rows.iter().map(|&row| times[row]).collect();
        prop_assert_eq!(&model.labels, &Labels::with(&own, &LabelOptions::PAPER).unwrap());
        let predicted = model.classify(&table);
        let mut within = 0;
        for (row, traversal) in all.iter().enumerate() {
            // All steps always occur here, so that rules say what the tree does also beyond what it was trained with.
            let heeded: Vec<&Ruleset> = model.rules.all().iter().filter(|ruleset| naive_heeds(ruleset, traversal)).collect();
            prop_assert_eq!(heeded.len(), usize::from(model.labels.count() > 1));
            prop_assert!(heeded.iter().all(|ruleset| ruleset.class == predicted[row]));
            let of_class: Vec<f64> =
                rows.iter().zip(model.labels.classes()).filter(|&(_, class)| *class == predicted[row]).map(|(&row, _)| times[row]).collect();
            within += usize::from(of_class.iter().any(|&time| time <= times[row]) && of_class.iter().any(|&time| time >= times[row]));
        }
        let Some(accuracy) = Accuracy::of(&model, &table, &times).unwrap() else {
            prop_assert_eq!(model.labels.count(), 1);
            return Ok(());
        };
        prop_assert_eq!((accuracy.within, accuracy.schedules), (within, 240));
    }
}
