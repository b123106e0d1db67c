//! Times that can be believed: repeats, drift, outliers, and how long the answer took. The simulation knows the truth.

use std::collections::HashMap;

use warpsmith::{
    design_rules::{
        About, Answer, Dag, LabelOptions, Labels, Measured, Measurer, Platform, Precision, RulesError, Run, Runs, Schedule,
        schedule::Schedules,
        sim::{Machine, SimPlatform, spmv::SpmvModel},
    },
    spmv::{Band, Traffic},
};

/// Two ranks of a small matrix.
fn model() -> SpmvModel {
    let band = Band::new(2000, 10_000, 1);
    SpmvModel::new(Traffic::new(&band.matrix::<f32>().unwrap(), 2).unwrap())
}

/// Measures every `every`-th schedule on such a machine, and returns them with their true times.
fn measured(machine: Machine, every: usize, precision: Precision) -> (Runs, Vec<f64>) {
    let model = model();
    let mut exact = SimPlatform::new(&model, Machine::h200_node()).unwrap();
    let mut platform = SimPlatform::new(&model, machine).unwrap().with_seed(5);
    let dag = platform.dag().clone();
    let schedules: Vec<_> = Schedules::new(&dag, 2).unwrap().step_by(every).collect();
    let mut measurer = Measurer::new(precision);
    let mut count = 0;
    let mut once = |schedule: &Schedule| {
        count += 1;
        Ok(Measured { at: f64::from(count), seconds: platform.measure(schedule)? })
    };
    for schedule in &schedules {
        measurer.measure(schedule, &mut once).unwrap();
    }
    let finalists = measurer.finalists();
    measurer.in_turns(&finalists, &mut once, || true).unwrap();
    let mut runs = Runs { about: About { streams: 2, ranks: 2, ..About::program(&dag) }, ..Runs::default() };
    measurer.record(&dag, &mut runs);
    let truth = schedules.iter().map(|schedule| exact.measure(schedule).unwrap()).collect();
    (runs, truth)
}

/// The logarithms of found over true times, without what they have in common: a machine that drifts has no time of its
/// own.
fn errors(runs: &Runs, truth: &[f64]) -> Vec<f64> {
    let all: Vec<f64> = runs.runs.iter().zip(truth).map(|(run, truth)| (run.seconds / truth).ln()).collect();
    let mut sorted = all.clone();
    sorted.sort_by(f64::total_cmp);
    all.iter().map(|error| error - sorted[sorted.len() / 2]).collect()
}

/// With 5 % of outliers and 10 % of drift, times are the true ones within their intervals, and so is their order.
#[test]
fn the_order_is_that_of_the_true_times() {
    let machine = Machine { noise: 0.02, outliers: 0.05, drift: 0.1, ..Machine::h200_node() };
    let (runs, truth) = measured(machine.clone(), 60, Precision::default());
    assert_eq!(runs.runs.len(), truth.len());
    let errors_of = errors(&runs, &truth);
    let noise: Vec<f64> = runs.runs.iter().map(|run| run.noise.unwrap()).collect();
    let within = errors_of.iter().zip(&noise).filter(|(error, noise)| error.abs() <= 1.96 * **noise).count();
    assert!(within as f64 >= 0.9 * truth.len() as f64, "{within} of {}", truth.len());
    // Schedules that differ by more than both intervals have the true order.
    let (mut told, mut wrong) = (0, 0);
    for a in 0..truth.len() {
        for b in (0..truth.len()).filter(|&b| truth[a] < truth[b]) {
            let [low, high] = [a, b].map(|run| runs.runs[run].seconds.ln());
            if (high - low).abs() > 1.96 * (noise[a] + noise[b]) {
                told += 1;
                wrong += usize::from(high < low);
            }
        }
    }
    assert!(told > truth.len() * truth.len() / 4 && wrong * 200 <= told, "{wrong} of {told}");

    // Measured once, they are neither.
    let (once, _) = measured(machine, 60, Precision { repeats: 1, ..Precision::default() });
    assert!(once.runs.iter().all(|run| run.noise.is_none() && run.times.is_empty()) && once.about.noise.is_none());
    let worst = |errors: Vec<f64>| errors.into_iter().map(f64::abs).fold(0.0, f64::max);
    assert!(worst(errors(&once, &truth)) > 0.5 && worst(errors_of) < 0.06);
}

/// Repeats go where the noise is: few without, the most with much.
#[test]
fn noise_decides_how_often() {
    let count = |noise: f64| {
        let machine = Machine { noise, drift: f64::from(u8::from(noise == 0.0)) * 1e-9, ..Machine::h200_node() };
        let (runs, _) = measured(machine, 200, Precision { interval: 0.01, repeats: 9 });
        // The first is the reference.
        let counts: Vec<usize> = runs.runs[1..].iter().map(|run| run.times.len()).collect();
        (counts.iter().sum::<usize>() as f64 / counts.len() as f64, runs.about.noise.unwrap())
    };
    let [(none, exact), (some, little), (most, much)] = [0.0, 0.15, 0.6].map(count);
    assert!(none < 4.0 && none < some && some < most && most >= 9.0, "{none} {some} {most}");
    assert!(exact < 1e-6 && exact < little && little < 0.01 && much > 0.01, "{exact} {little} {much}");
}

/// A schedule whose own times jump is measured more often, in turns with the reference.
#[test]
fn suspicious_measurements_are_measured_again() {
    let dag = Dag::builder("two").gpu("a").gpu("b").build().unwrap();
    let all: Vec<_> = Schedules::new(&dag, 2).unwrap().collect();
    let mut counts: HashMap<&Schedule, usize> = HashMap::new();
    let mut asked = Vec::new();
    let mut measurer = Measurer::new(Precision::default());
    let mut once = |schedule: &Schedule| {
        let place = all.iter().position(|other| other == schedule).unwrap();
        asked.push(place);
        let count = counts.entry(&all[place]).or_default();
        *count += 1;
        // The third was disturbed at first.
        let seconds = if place == 2 && *count == 1 { 5.0 } else { 1.0 + place as f64 };
        Ok(Measured { at: asked.len() as f64, seconds })
    };
    for schedule in &all[..4] {
        measurer.measure(schedule, &mut once).unwrap();
    }
    // Twice each, with the reference in between now and then.
    assert_eq!(asked[..4], [0, 0, 1, 1]);
    let third: Vec<usize> = asked.iter().copied().skip_while(|&place| place != 2).take_while(|&place| place != 3).collect();
    assert!(third.starts_with(&[2, 2, 0, 2]) && third.iter().filter(|&&place| place == 2).count() >= 3, "{asked:?}");
    let mut runs = Runs { about: About::program(&dag), ..Runs::default() };
    measurer.record(&dag, &mut runs);
    assert_eq!(runs.runs.iter().map(|run| run.seconds.round()).collect::<Vec<_>>(), [1.0, 2.0, 3.0, 4.0]);
    assert!(runs.runs[2].times.iter().any(|time| time.seconds == 5.0), "all are kept");
}

/// A schedule that fails has no time, and a measurer does without a reference that fails.
#[test]
fn failures() {
    let dag = Dag::builder("two").gpu("a").gpu("b").build().unwrap();
    let all: Vec<_> = Schedules::new(&dag, 2).unwrap().collect();
    let failed = |schedule: &Schedule| RulesError::Failed { schedule: schedule.text(&dag), reason: "so".to_owned() };
    let mut measurer = Measurer::default();
    let mut count = 0.0;
    for (place, schedule) in all[..4].iter().enumerate() {
        let once = |asked: &Schedule| {
            count += 1.0;
            // The first never works; the second, which is the reference, only in the beginning.
            let works = *asked != all[0] && (*asked != all[1] || place == 1);
            if works { Ok(Measured { at: count, seconds: 1.0 }) } else { Err(failed(asked)) }
        };
        let found = measurer.measure(schedule, once);
        assert_eq!(found.is_err(), place == 0);
        if place == 0 {
            measurer.fail(schedule);
        }
    }
    let mut runs = Runs { about: About::program(&dag), ..Runs::default() };
    measurer.record(&dag, &mut runs);
    assert_eq!((runs.runs.len(), runs.failed.len()), (3, 1));
    let mut none = Runs { about: About::program(&dag), ..Runs::default() };
    Measurer::default().record(&dag, &mut none);
    assert!(none.runs.is_empty() && none.about.noise.is_none() && Measurer::default().finalists().is_empty());
}

/// The answer is the first run that is sure to be of the fastest class.
#[test]
fn time_to_answer() {
    let dag = Dag::builder("three").gpu("a").gpu("b").gpu("c").build().unwrap();
    let texts: Vec<_> = Schedules::new(&dag, 2).unwrap().map(|schedule| schedule.text(&dag)).collect();
    let about = || About { streams: 2, ..About::program(&dag) };
    // Two classes; those of the faster one come from the eighth on.
    let run = |(place, text): (usize, &String)| {
        let seconds = if place < 7 { 2.0 } else { 1.0 } * (1.0 + 0.001 * (place % 5) as f64);
        // The eighth is not sure enough.
        let noise = if place == 7 { 0.5 } else { 0.01 };
        let times = vec![Measured { at: place as f64, seconds }, Measured { at: place as f64 + 0.5, seconds }];
        let mut run = Run::new(seconds, text.parse().unwrap());
        (run.noise, run.times) = (Some(noise), times);
        run
    };
    let mut runs = Runs { about: about(), runs: texts[..40].iter().enumerate().map(run).collect(), failed: Vec::new() };
    let labels = |runs: &Runs| Labels::with(&runs.times(), &LabelOptions::default()).unwrap();
    assert_eq!(labels(&runs).count(), 2);
    assert_eq!(Answer::of(&runs, &labels(&runs)), Some(Answer { iterations: 9, seconds: Some(8.5) }));
    // Measured once more at the end, it had been known as well by the first times, which are fewer.
    runs.runs[8].times.push(Measured { at: 100.0, seconds: 1.003 });
    assert_eq!(Answer::of(&runs, &labels(&runs)), Some(Answer { iterations: 9, seconds: Some(8.5) }));
    // Without noise nothing is sure; where times are exact, all are.
    runs.runs.iter_mut().for_each(|run| (run.noise, run.times) = (None, Vec::new()));
    assert_eq!(Answer::of(&runs, &labels(&runs)), None);
    runs.about.noise = Some(0.0);
    assert_eq!(Answer::of(&runs, &labels(&runs)), Some(Answer { iterations: 8, seconds: None }));
    runs.runs.truncate(7);
    assert_eq!(Answer::of(&runs, &labels(&runs)), None, "there is one class");
}
