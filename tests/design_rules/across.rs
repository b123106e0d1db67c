//! Rules across inputs of a program.

use warpsmith::design_rules::{
    Class, Feature, LabelOptions, Labels, LearnOptions, Rule, Run, Runs, Traversal,
    learn::{Across, Input, Limit, Region},
};

use crate::{fixtures::orders, folder::Folder};

fn at_most(limit: f64, value: bool) -> Rule {
    Rule { feature: Feature::AtMost { input: "size".to_owned(), limit: Limit(limit) }, value }
}

#[test]
fn limits_imply_and_contradict_what_numbers_say() {
    let numbers: Vec<f64> = (0..9).map(|number| f64::from(number) / 2.0 - 0.25).collect();
    let rules: Vec<Rule> =
        [0.0, 1.0, 2.0, 3.0].iter().flat_map(|&limit| [true, false].map(|value| at_most(limit, value))).collect();
    let follows = |rule: &Rule, number: f64| {
        let Feature::AtMost { limit, .. } = &rule.feature else { panic!("{rule}") };
        (number <= limit.0) == rule.value
    };
    for a in &rules {
        for b in &rules {
            let follow = |number: &&f64| follows(a, **number);
            let implied = numbers.iter().filter(follow).all(|&number| follows(b, number));
            let apart = !numbers.iter().filter(follow).any(|&number| follows(b, number));
            assert_eq!((a.implies(b), a.contradicts(b)), (implied, apart), "{a}; {b}");
        }
    }
    let other = Rule { feature: Feature::AtMost { input: "rows".to_owned(), limit: Limit(1.0) }, value: true };
    assert!(!at_most(1.0, true).implies(&other) && !at_most(1.0, false).contradicts(&other));
    assert_eq!(
        (at_most(12.5, true).to_string(), at_most(12.5, false).to_string()),
        ("size at most 12.5".to_owned(), "size more than 12.5".to_owned())
    );
}

#[test]
fn classes_are_merged_by_their_distances() {
    let times = [vec![1.0; 10], vec![1.1; 10], vec![2.0; 10], vec![2.1; 1]].concat();
    let labels = || Labels::with(&times, &LabelOptions::density(Some(0.0), None)).unwrap();
    let starts = |labels: Labels| labels.starts().to_vec();
    assert_eq!(starts(labels()), [0, 10, 20]);
    // Ward: 5 ln²(1.1) against at least 20 · 11 / 31 ln²(2 / 1.1).
    assert_eq!([5, 3].map(|count| starts(labels().merged(count))), [[0, 10, 20], [0, 10, 20]]);
    let two = labels().merged(2);
    assert_eq!(two.classes().iter().map(|class| class.index()).collect::<Vec<_>>(), [vec![0; 20], vec![1; 11]].concat());
    assert_eq!((starts(two), starts(labels().merged(1)), starts(labels().merged(0))), (vec![0, 20], vec![0], vec![0]));
    // A few far ones are nearer than many near ones.
    let times = [vec![1.0; 100], vec![1.3; 100], vec![1.9; 3]].concat();
    let merged = Labels::with(&times, &LabelOptions::density(Some(0.0), None)).unwrap().merged(2);
    assert_eq!(merged.starts(), [0, 100]);
}

/// All orders of four steps in two streams. Up to a size of 4, an early `Inner` is fast; beyond, different streams are.
fn planted(size: f64) -> Runs {
    let run = |(index, text): (usize, String)| {
        let seconds = if is_fast(&text, size) { 1e-3 } else { 2e-3 };
        Run::new(size * seconds * (1.0 + index as f64 * 1e-6), text.parse().unwrap())
    };
    let texts = orders(&["Pack@0", "Inner@?", "Send", "Wait"]).into_iter();
    Runs { runs: texts.enumerate().map(run).collect(), ..Runs::default() }
}

fn is_fast(schedule: &str, size: f64) -> bool {
    if size <= 4.0 { schedule.find("Inner") < schedule.find("Wait") } else { schedule.contains("Inner@1") }
}

fn input(size: f64, runs: &Runs, has_numbers: bool) -> Input<'_> {
    // The second number is the same for all, and the third one means nothing.
    let numbers = if has_numbers { vec![size, 1.0, (size * 7.0) % 5.0] } else { Vec::new() };
    Input { name: format!("size {size}"), runs, numbers, labels: LabelOptions::density(Some(0.0), None) }
}

#[test]
fn planted_rules_depend_on_the_input() {
    let sizes = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
    let runs = sizes.map(planted);
    let inputs = |has_numbers| sizes.iter().zip(&runs).map(|(&size, runs)| input(size, runs, has_numbers)).collect::<Vec<_>>();
    let names = ["size", "constant", "other"].map(str::to_owned).to_vec();
    let across = Across::learn(names.clone(), inputs(true), None, &LearnOptions::default()).unwrap();
    assert!(across.labels().iter().all(|labels| labels.starts() == [0, 24]));
    let regions = across.regions();
    let said: Vec<_> = regions
        .iter()
        .map(|region| {
            let advice = region.advice.as_ref().unwrap();
            assert!(advice.points().all(|point| point.effect.members == [96, 96] && point.effect.others == [0, 96]));
            // Times differ by a factor of 2.
            assert!((advice.all.gain.unwrap().share - 0.5).abs() < 1e-3);
            let rules = advice.points().flat_map(|point| &point.rules).map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let conditions: Vec<_> = region.conditions.iter().map(ToString::to_string).collect();
            (conditions.join(", "), region.inputs.clone(), rules)
        })
        .collect();
    let wanted = [
        ("size at most 4", vec![0, 1, 2, 3], "Inner before Wait"),
        ("size more than 4", vec![4, 5, 6, 7], "Inner different stream than Pack"),
    ];
    let wanted = wanted.map(|(conditions, inputs, rules)| (conditions.to_owned(), inputs, rules.to_owned()));
    assert!(wanted.iter().all(|region| said.contains(region)) && said.len() == 2, "{said:?}");

    // Without numbers, there is one set of rules, which is wrong for half of the schedules that the two differ on.
    let without = Across::learn(Vec::new(), inputs(false), None, &LearnOptions::default()).unwrap();
    for size in [0.5, 2.5, 4.0, 4.5, 30.0] {
        let unseen = planted(size);
        let judged = across.judge(&input(size, &unseen, true)).unwrap();
        assert_eq!((judged.within, judged.runs, judged.classes), (Some(48), 48, 2), "{size}");
        assert!(is_fast(&judged.advised, size) && judged.ratio() < 1.0001 && judged.median < 1.001e-3 * size, "{judged:?}");
        let without = without.judge(&input(size, &unseen, false)).unwrap();
        assert!(without.share().unwrap() < 0.8, "{without:?}");
        assert_eq!(across.nearest(&[size, 1.0, (size * 7.0) % 5.0]) < 4, size <= 4.0, "{size}");
    }
    // An input whose runs can't be told apart teaches no classes.
    let even = |(index, run): (usize, &Run)| Run::new(1.0 + f64::from(index as u32) * 1e-6, run.traversal.clone());
    let equal = Runs { runs: runs[0].runs.iter().enumerate().map(even).collect(), ..Runs::default() };
    let more = inputs(true).into_iter().chain([1.0, 2.0, 7.0].map(|size| input(size, &equal, true))).collect();
    let more = Across::learn(names.clone(), more, None, &LearnOptions::default()).unwrap();
    assert_eq!(more.rules(), across.rules());
    let counts = |regions: &[Region]| -> Vec<_> {
        let points = regions.iter().flat_map(|region| region.advice.as_ref().unwrap().points());
        points.map(|point| (point.effect.members, point.effect.others)).collect()
    };
    assert_eq!(counts(&more.regions()), counts(&regions));
    // Nor does the first one, where runs of two inputs follow no rule and few of the others a further one, nor one beside a
    // single other.
    let noisy = sizes.map(|size| {
        let mut runs = planted(size);
        let odd = |(index, run): &(usize, &mut Run)| {
            let text = run.traversal.to_string();
            let place = |name: &str| text.find(name);
            let further = place("Wait") < place("Inner@1") && place("Inner@1") < place("Pack");
            if size > 2.0 { size > 6.0 && further } else { (index * 7 + size as usize * 5).is_multiple_of(3) }
        };
        runs.runs.iter_mut().enumerate().filter(odd).for_each(|(_, run)| run.seconds = 3e-3 * size - run.seconds);
        runs
    });
    let search =
        |inputs: Vec<_>| Across::learn(names.clone(), inputs, None, &LearnOptions::default()).unwrap().search().unwrap().clone();
    for count in [8, 1] {
        let others = || sizes.iter().zip(&noisy).map(|(&size, runs)| input(size, runs, true)).take(count);
        let found = search(others().collect());
        assert_eq!(search([input(1.0, &equal, true)].into_iter().chain(others()).collect()), found);
        let errors = found.trials.iter().map(|trial| trial.error);
        assert!(found.trials[found.max_leaf_nodes - 1].error > errors.fold(1.0, f64::min), "the standard error counts");
    }
    // The runs of a single input have rules, too.
    let single = Across::learn(Vec::new(), vec![input(1.0, &runs[0], false)], None, &LearnOptions::default()).unwrap();
    assert_eq!(single.judge(&input(2.0, &runs[1], false)).unwrap().share(), Some(1.0));
    // More classes than there are change nothing. One class gives no rules.
    let three = Across::learn(Vec::new(), inputs(false), Some(3), &LearnOptions::default()).unwrap();
    assert_eq!(three.rules(), without.rules());
    let one = Across::learn(Vec::new(), inputs(false), Some(1), &LearnOptions::default()).unwrap();
    assert!(one.search().is_none() && one.rules().all().is_empty());
    assert_eq!(one.judge(&input(2.0, &runs[1], false)).unwrap().within, None);
    assert!(Across::learn(Vec::new(), Vec::new(), None, &LearnOptions::default()).is_err());
}

/// The best schedule changes with the size little by little. The advice is that of similar sizes.
#[test]
fn similar_inputs_count_most_for_the_advice() {
    let measured = |size: f64| {
        let number = planted(1.0).runs.len() as f64;
        let seconds = |index: usize| 1.0 + (index as f64 / number - size / 10.0).abs();
        let runs = planted(1.0).runs.into_iter().enumerate().map(|(index, run)| Run::new(seconds(index), run.traversal));
        Runs { runs: runs.collect(), ..Runs::default() }
    };
    let sizes = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
    let runs = sizes.map(measured);
    let inputs = sizes.iter().zip(&runs).map(|(&size, runs)| input(size, runs, true)).collect();
    let names = ["size", "constant", "other"].map(str::to_owned).to_vec();
    let across = Across::learn(names, inputs, Some(1), &LearnOptions::default()).unwrap();
    for size in [1.0, 1.5, 7.5, 8.0] {
        let judged = across.judge(&input(size, &measured(size), true)).unwrap();
        assert!(judged.ratio() < 1.2, "{size}: {judged:?}");
    }
    // Far from all, the nearest one decides: no weight underflows.
    let judged = across.judge(&input(1e9, &measured(8.0), true)).unwrap();
    assert!(judged.ratio() < 1.05, "{judged:?}");
}

/// Each prediction is that of the only ruleset whose rules the schedule and its input follow.
#[test]
fn predictions_follow_the_rules() {
    let sizes = [1.0, 3.0, 4.0, 5.0, 9.0];
    let runs = sizes.map(planted);
    let inputs = sizes.iter().zip(&runs).map(|(&size, runs)| input(size, runs, true)).collect();
    let names = ["size", "constant", "other"].map(str::to_owned).to_vec();
    let across = Across::learn(names.clone(), inputs, None, &LearnOptions::default()).unwrap();
    for size in [0.5, 4.2, 7.0] {
        let unseen = planted(size);
        let unseen = input(size, &unseen, true);
        let labels = Labels::with(&unseen.runs.times(), &unseen.labels).unwrap();
        let follows = |rule: &Rule, traversal: &Traversal| {
            let text = traversal.to_string();
            let holds = match &rule.feature {
                Feature::AtMost { input, limit } => {
                    unseen.numbers[names.iter().position(|name| name == input).unwrap()] <= limit.0
                }
                Feature::Order { before, after } => text.find(before.as_str()) < text.find(after.as_str()),
                Feature::SameStream { .. } => text.contains("Inner@0"),
                Feature::Chosen { .. } => panic!("there are no choices"),
            };
            holds == rule.value
        };
        let within = unseen.runs.runs.iter().zip(labels.classes()).filter(|(run, class)| {
            let sets: Vec<Class> = across
                .rules()
                .all()
                .iter()
                .filter(|set| set.rules.iter().all(|rule| follows(rule, &run.traversal)))
                .map(|set| set.class)
                .collect();
            assert_eq!(sets.len(), 1);
            sets[0] == **class
        });
        assert_eq!(across.judge(&unseen).unwrap().within, Some(within.count()), "{size}");
    }
}

#[test]
fn the_command_learns_across_inputs() {
    let folder = Folder::of("rules").with_matrix();
    for ranks in 2..=6 {
        folder.good(&format!(
            "explore spmv --platform sim --ranks {ranks} --search random --iterations 120 --matrix m.mtx --output {ranks}.csv"
        ));
    }
    let learned = folder.json("learn 2.csv 3.csv 4.csv 6.csv --against 5.csv");
    let names: Vec<_> = learned["numbers"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let ranks = names.iter().position(|name| *name == "ranks").unwrap();
    let all: Vec<_> =
        learned["inputs"].as_array().unwrap().iter().map(|input| input["numbers"][ranks].as_f64().unwrap()).collect();
    assert_eq!(all, [2.0, 3.0, 4.0, 6.0]);
    let verdict = &learned["against"][0];
    assert_eq!((verdict["input_file"].as_str(), verdict["runs"].as_u64()), (Some("5.csv"), Some(120)));
    let runs = Runs::read(&folder.path("5.csv")).unwrap();
    for judged in [verdict, &verdict["nearest"], &verdict["without_inputs"]] {
        let advised = runs.runs.iter().find(|run| run.traversal.to_string() == judged["advised"].as_str().unwrap()).unwrap();
        assert_eq!(judged["seconds"].as_f64(), Some(advised.seconds));
        assert_eq!(judged["fastest"].as_f64(), Some(runs.fastest().unwrap().seconds));
        assert!(advised.seconds < 1.05 * runs.fastest().unwrap().seconds, "{judged}");
    }
    let shown = folder.good("learn 2.csv 3.csv 4.csv 6.csv --against 5.csv --full");
    assert!(shown.contains("480 runs of 4 inputs") && shown.contains("Class 1") && shown.contains("5.csv"), "{shown}");

    // Each file is read once, also the standard input.
    let piped = folder.shell("\"$0\" rules learn - 3.csv --json < 2.csv");
    let piped: serde_json::Value = serde_json::from_slice(&piped.stdout).unwrap();
    assert_eq!(piped["rules"], folder.json("learn 2.csv 3.csv")["rules"]);
    // A table has further numbers, and those of the file come first.
    folder.write("t.csv", "runs,speed,ranks\n2.csv,10,2\n3.csv,20,3\n5.csv,1e1,5\n7.csv,0,7\n");
    let learned = folder.json("learn 2.csv 3.csv --inputs t.csv --classes 2");
    assert_eq!(learned["numbers"].as_array().unwrap().len(), names.len() + 1);
    assert_eq!(learned["inputs"][1]["numbers"][names.len()], 20.0);
    folder.bad("learn 2.csv 4.csv --inputs t.csv", "t.csv: there is no row for `4.csv`");
    folder.write("comma.csv", "runs;speed\n2.csv;1,5\n3.csv;2\n");
    folder.bad("learn 2.csv 3.csv --inputs comma.csv", "comma.csv: line 2: column `speed`: `1,5` is not a number\n");
    folder.bad("learn 2.csv --inputs t.csv", "2.csv is a single input");
    folder.bad("learn 2.csv 3.csv --second 4.csv", "--second is for the runs of one input");
    folder.bad("learn 2.csv --classes 2", "--classes is for the runs of several inputs");
    for (text, wanted) in [
        ("runs,a\n2.csv,x\n", "bad.csv: line 2: column `a`: `x` is not a number"),
        ("runs,a\n2.csv,inf\n", "bad.csv: line 2: column `a`: `inf` is not a finite number"),
        ("runs,a\n2.csv,1\n2.csv,1\n", "bad.csv: line 3: `2.csv` is there twice"),
        ("runs,a,b,a\n", "bad.csv: line 1: the column `a` is there twice"),
        ("runs\n2.csv\n", "there is one column"),
        ("", "there is one column"),
    ] {
        folder.write("bad.csv", text);
        folder.bad("learn 2.csv 3.csv --inputs bad.csv", wanted);
    }
    // Tables of one's own say nothing of their inputs.
    for name in ["a", "b"] {
        folder.write(&format!("{name}.csv"), "seconds,schedule\n1,x;y\n2,y;x\n");
    }
    folder.bad("learn a.csv b.csv", "have no numbers of their inputs");
    folder.write("t.csv", "runs,size\na.csv,1\n");
    folder.bad("learn a.csv b.csv --inputs t.csv", "there is no row for `b.csv`");
    folder.bad("learn 2.csv a.csv", "a.csv has runs of");
}
