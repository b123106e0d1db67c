//! The commands of `warpsmith rules`.

use std::{
    collections::HashSet,
    fs,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
    sync::OnceLock,
};

use assert_cmd::cargo::cargo_bin;
use serde_json::{Value, json};
use warpsmith::design_rules::{Run, Runs, Traversal, sim::Machine};

use crate::folder::{Folder, has};

/// Schedules of spmv on two streams.
const SPACE: usize = 5390;

impl Folder {
    /// With a matrix `m.mtx`, and what explores it on a simulated machine.
    fn new() -> Self {
        Folder::of("rules").with_matrix()
    }

    fn explore(&self, options: &str) -> Value {
        self.json(&format!("explore spmv --platform sim --matrix m.mtx --force {options}"))
    }

    /// All schedules, in `full.csv`: measured once for all tests.
    fn explored_all(&self) {
        static ALL: OnceLock<Vec<u8>> = OnceLock::new();
        let all = ALL.get_or_init(|| {
            self.explore("--exhaustive --output full.csv");
            fs::read(self.path("full.csv")).unwrap()
        });
        fs::write(self.path("full.csv"), all).unwrap();
    }

    fn runs(&self, name: &str) -> Runs {
        Runs::read(&self.path(name)).unwrap()
    }

    /// The machine of the default with this noise, in `machine.json`.
    fn machine(&self, noise: f64) {
        let machine = Machine { noise, ..Machine::h200_node() };
        self.write("machine.json", &serde_json::to_string(&machine).unwrap());
    }
}

/// The schedules of runs, in order.
fn schedules(runs: &Runs) -> Vec<String> {
    runs.runs.iter().map(|run| run.traversal.to_string()).collect()
}

/// Returns whether a rule's sentence holds for a schedule, by its words alone.
fn holds(sentence: &str, traversal: &Traversal) -> bool {
    let place = |name: &str| traversal.steps().iter().position(|step| step.name == name);
    let stream = |name: &str| traversal.steps().iter().find(|step| step.name == name).and_then(|step| step.bound());
    let words: Vec<_> = sentence.split(' ').collect();
    match words[..] {
        [u, "before", v] => place(u).zip(place(v)).is_some_and(|(u, v)| u < v),
        [u, "not", "before", v] => place(u).zip(place(v)).is_none_or(|(u, v)| u >= v),
        [a, "same", "stream", "as", b] => stream(a).is_some() && stream(a) == stream(b),
        [a, "different", "stream", "than", b] => stream(a) != stream(b),
        _ => panic!("{sentence}"),
    }
}

/// The sets of rules whose rules all hold.
fn heeded<'a>(rules: &'a Value, traversal: &Traversal) -> Vec<&'a Value> {
    let all = |set: &&Value| {
        let sentences = set["rules"].as_array().unwrap().iter().map(|rule| rule["sentence"].as_str().unwrap());
        sentences.into_iter().all(|sentence| holds(sentence, traversal))
    };
    rules.as_array().unwrap().iter().filter(all).collect()
}

#[test]
fn schedules_are_counted_and_listed() {
    let folder = Folder::of("rules");
    let result = folder.json("count spmv --streams 3");
    let counts: Vec<usize> =
        result["counts"].as_array().unwrap().iter().map(|count| count["schedules"].as_str().unwrap().parse().unwrap()).collect();
    assert_eq!((counts.len(), counts[1]), (3, SPACE));
    assert_eq!((&result["program"], &result["operations"][0]), (&json!("spmv"), &json!({"name": "Pack", "kind": "gpu"})));
    assert!(result["edges"].as_array().unwrap().contains(&json!(["WaitRecv", "y_R"])));
    for (streams, count) in [1, 2].into_iter().zip(counts) {
        let list = folder.good(&format!("count spmv --streams {streams} --list"));
        let lines: HashSet<_> = list.lines().collect();
        assert_eq!((lines.len(), list.lines().count()), (count, count));
        let all: Vec<Traversal> = lines.iter().map(|line| line.parse().unwrap()).collect();
        assert!(all.iter().flat_map(|traversal| traversal.steps()).all(|step| step.stream.is_none_or(|stream| stream < streams)));
    }
    let table = folder.good("count spmv");
    assert!(table.contains("5,390") && table.contains("spmv: 4 operations of the GPU, 4 of the host, 8 dependences."), "{table}");
    let tenzing = folder.json("count spmv --space tenzing");
    assert_eq!((&tenzing["counts"][0]["schedules"], &tenzing["counts"][1]["schedules"]), (&json!("175"), &json!("2036")));
    assert_eq!(folder.good("count spmv --space tenzing --list").lines().count(), 2036);
    // A number that no list can be as long as.
    let halo = folder.json("count halo");
    assert!(halo["counts"][1]["schedules"].as_str().unwrap().len() > 15, "{halo}");
    // There are more than can be counted.
    let after = |index: usize| if index < 2 { json!([]) } else { json!([format!("g{}", index - 2)]) };
    let operation = |index| json!({"name": format!("g{index}"), "kind": "gpu", "after": after(index)});
    folder.write("many.json", &json!({"operations": (0..60).map(operation).collect::<Vec<_>>()}).to_string());
    let many = folder.json("count many.json");
    // Two chains of 30 on one stream are merged in 60! / 30!^2 ways; their two records and waits come in 6 orders.
    let merged = (1..=30).fold(6u128, |ways, k| ways * (30 + k) / k);
    assert_eq!(many["counts"][0]["schedules"], merged.to_string());
    assert_eq!(many["counts"][1], json!({"streams": 2, "schedules": null, "more_than_exponent": 38}));
    assert!(folder.good("count many.json").contains("more than 10^38"));
    folder.write("one.sh", "read -r line; echo '{}'\nwhile read -r line; do echo '{\"seconds\": 1}'; done\n");
    let explored = folder.good("explore many.json --iterations 3 --json --output x.csv -- sh one.sh");
    let explored: Value = serde_json::from_str(&explored).unwrap();
    assert_eq!((&explored["space"], &explored["runs"]), (&Value::Null, &json!(3)));
    folder.bad("explore many.json --exhaustive --output y.csv -- sh one.sh", "more than 10^38 schedules");

    folder.bad("count spmv --streams 9", "9 streams are not possible: it takes 1 to 8");
    folder.bad("count spmv --streams 0 --list", "0 streams are not possible");
    folder.bad("count nothing", "invalid value 'nothing'");
}

#[test]
fn a_list_that_nobody_reads_on() {
    // There are more than could be listed in years.
    let mut child =
        Command::new(cargo_bin!("warpsmith")).args("rules count halo --list".split(' ')).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first: Vec<_> = lines.by_ref().take(10).map(Result::unwrap).collect();
    drop(lines);
    assert!(child.wait().unwrap().success() && first.iter().all(|line| line.contains("WaitRecv_x")));
}

#[test]
fn a_search_measures_and_writes() {
    let folder = Folder::new();
    let result = folder.explore("--iterations 60 --seed 3 --check --output runs.csv");
    let runs = folder.runs("runs.csv");
    let (times, texts): (Vec<f64>, HashSet<String>) =
        runs.runs.iter().map(|run| (run.seconds, run.traversal.to_string())).unzip();
    assert_eq!((times.len(), texts.len()), (60, 60), "no schedule is measured twice");
    let fastest = times.iter().copied().fold(f64::INFINITY, f64::min);
    let slowest = times.iter().copied().fold(0.0, f64::max);
    for (name, expected) in [
        ("system", json!("rules")),
        ("command", json!("explore")),
        ("program", json!("spmv")),
        ("input", json!("m.mtx, 4,000 rows, 12,000 nonzeros, f32")),
        ("ranks", json!(4)),
        ("streams", json!(2)),
        ("search", json!("surrogate")),
        ("seed", json!(3)),
        ("space", json!("5390")),
        ("runs", json!(60)),
        ("checked", json!(true)),
        ("cancelled", json!(false)),
        ("output", json!("runs.csv")),
    ] {
        assert_eq!(result[name], expected, "{name}");
    }
    assert_eq!((&result["fastest"]["seconds"], &result["slowest"]["seconds"]), (&json!(fastest), &json!(slowest)));
    // JSON's numbers may be read back with another last digit.
    assert!((result["ratio"].as_f64().unwrap() * fastest / slowest - 1.0).abs() < 1e-12);
    assert!(texts.contains(result["fastest"]["schedule"].as_str().unwrap()));
    assert!(result["search_seconds_per_run"].as_f64().unwrap() < 1.0);
    // The steps in time of both, on all ranks.
    let about = &runs.about;
    for (timeline, seconds) in [(about.fastest.as_ref().unwrap(), fastest), (about.slowest.as_ref().unwrap(), slowest)] {
        let end = timeline.spans.iter().map(|span| span.end).fold(0.0, f64::max);
        assert!((end - seconds).abs() < 1e-12 && timeline.spans.iter().any(|span| span.rank == 3), "{end} {seconds}");
    }
    assert_eq!(folder.files(), ["m.mtx", "runs.csv"]);

    // The same again, as a table, over the existing file.
    let before = fs::read(folder.path("runs.csv")).unwrap();
    let table = folder.good(
        "explore spmv --platform sim --matrix m.mtx --iterations 60 --seed 3 --output runs.csv --search surrogate --ranks 4 --force",
    );
    has(&table, &["of all", "1.11 %", "search, each", "Fastest: ", "Written: runs.csv", "simulated, 4 ranks"]);
    assert_eq!(fs::read(folder.path("runs.csv")).unwrap(), before);
    assert_eq!(folder.files(), ["m.mtx", "runs.csv"]);

    // Depth first is the list's order.
    folder.explore("--iterations 25 --search dfs --output dfs.csv");
    let list = folder.good("count spmv --list");
    assert_eq!(schedules(&folder.runs("dfs.csv")), list.lines().take(25).collect::<Vec<_>>());

    // It ends when there is nothing left.
    let result = folder.explore("--streams 1 --iterations 1000 --output p.csv");
    assert_eq!(json!(result["runs"].to_string()), result["space"]);
    let result = folder.json("explore halo --ranks 8 --cells 64,32,16 --platform sim --iterations 5 --output x.csv");
    assert_eq!((&result["program"], &result["runs"]), (&json!("halo"), &json!(5)));
}

#[test]
fn a_resumed_search_is_as_if_it_had_never_ended() {
    let folder = Folder::new();
    folder.machine(0.05);
    for search in ["surrogate", "mcts", "random", "dfs"] {
        let options = format!("--machine machine.json --search {search} --seed 11 --repeats-at-most 1 --output");
        folder.explore(&format!("--iterations 45 {options} whole.csv"));
        folder.explore(&format!("--iterations 20 {options} parts.csv --resume"));
        assert_eq!(folder.runs("parts.csv").runs, folder.runs("whole.csv").runs[..20]);
        folder.explore(&format!("--iterations 45 {options} parts.csv --resume"));
        let [whole, parts] = ["whole.csv", "parts.csv"].map(|name| fs::read_to_string(folder.path(name)).unwrap());
        assert_eq!(whole, parts, "{search}");
        fs::remove_file(folder.path("parts.csv")).unwrap();
    }
    // With repeated measurements, earlier ones are not measured again, and the last schedule
    // continues.
    let measured = |runs: &Runs| -> usize { runs.runs.iter().map(|run| run.times.len()).sum() };
    let search = "--machine machine.json --search surrogate --seed 11 --output more.csv --resume";
    folder.explore(&format!("--iterations 20 {search}"));
    let first = folder.runs("more.csv");
    assert!(first.runs.iter().all(|run| run.noise.is_some()) && measured(&first) > 40, "{}", measured(&first));
    let again = folder.explore(&format!("--iterations 20 {search}"));
    assert_eq!((folder.runs("more.csv"), &again["measurements"]), (first.clone(), &json!(measured(&first))));
    folder.explore(&format!("--iterations 30 {search}"));
    let more = folder.runs("more.csv");
    assert!(more.runs.len() == 30 && schedules(&more)[..20] == schedules(&first)[..], "{}", more.runs.len());
    for (before, after) in first.runs.iter().zip(&more.runs) {
        assert!(before.times.iter().all(|time| after.times.contains(time)));
    }
    // Fewer than there are: all stay.
    folder.explore(&format!("--iterations 5 {search}"));
    assert!(folder.runs("more.csv").runs.len() == 30 && measured(&folder.runs("more.csv")) >= measured(&more));
    for (options, sentence) in [
        ("--search random --seed 11 --machine machine.json", "its runs are of the search `dfs`, and this search is of `random`"),
        ("--search dfs --seed 12 --machine machine.json", "of the seed 11, and this search is of 12"),
        ("--search dfs --seed 11 --space tenzing", "of the space `warpsmith`, and this search is of `tenzing`"),
        ("--search dfs --seed 11 --machine machine.json --ranks 2", "of 4 ranks, and this search is of 2 ranks"),
        ("--search dfs --seed 11 --machine machine.json --streams 1", "of 2 streams, and this search is of 1 stream"),
        ("--search dfs --seed 11", "of times by `\"noise\":0.05}`, and this search is of `\"noise\":0.0}`"),
    ] {
        let command = format!("explore spmv --platform sim --matrix m.mtx {options} --output whole.csv --resume");
        folder.bad(&command, "whole.csv: it can't be resumed: its runs are of ");
        folder.bad(&command, sentence);
    }
    folder.bad(
        "explore halo --platform sim --output whole.csv --resume",
        "its runs are of the program `spmv`, and this search is of `halo`",
    );
    let text = fs::read_to_string(folder.path("whole.csv")).unwrap();
    folder.write("cut.csv", &text[..text.len() - 30]);
    folder.bad("explore spmv --platform sim --output cut.csv --resume", "cut.csv: ");
    // Runs that the search would not have made.
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    let [a, b] = [3, 4].map(|index| lines[index].split_once(',').unwrap().1.to_owned());
    (lines[3], lines[4]) = (format!("0,{b}"), format!("1,{a}"));
    folder.write("odd.csv", &format!("{}\n", lines.join("\n")));
    let command =
        "explore spmv --platform sim --matrix m.mtx --machine machine.json --search dfs --seed 11 --output odd.csv --resume";
    folder.bad(command, "odd.csv: it can't be resumed: in iteration 0 this search measures `");
}

#[test]
fn all_schedules_can_be_measured_in_passes() {
    let folder = Folder::new();
    folder.machine(0.05);
    let result = folder.explore("--exhaustive --output full.csv");
    assert_eq!((&result["runs"], &result["search"], &result["spread"]), (&json!(SPACE), &json!("survey"), &Value::Null));
    let runs = folder.runs("full.csv");
    let texts: HashSet<_> = runs.runs.iter().map(|run| run.traversal.to_string()).collect();
    assert_eq!(texts.len(), SPACE);
    let result = folder.explore("--streams 1 --machine machine.json --exhaustive --passes 3 --output p.csv");
    assert_eq!(result["passes"], 3);
    // On the CPU, for real, each checked, also those of before.
    let search = "explore spmv --matrix m.mtx --platform cpu --ranks 2 --streams 1 --resume --repeats-at-most 1 --output few.csv";
    let checked = |options: &str| folder.json(&format!("{search} {options}"))["checked"].clone();
    assert_eq!(
        [checked("--iterations 4"), checked("--iterations 3 --check"), checked("--iterations 5 --check")],
        [false, false, true]
    );
    folder.bad(&format!("{search} --statistic low"), "few.csv: it can't be resumed: its runs are of times by `median`, and this");
    let result =
        folder.json("explore spmv --matrix m.mtx --platform cpu --ranks 2 --streams 1 --exhaustive --check --output c.csv");
    assert_eq!((json!(result["runs"].to_string()), &result["checked"]), (result["space"].clone(), &json!(true)));
    folder.bad("explore halo --platform sim --exhaustive --output h.csv", "can't all be measured");
    folder.bad("explore spmv --platform sim --passes 2 --output h.csv", "--exhaustive");
}

#[test]
fn rules_say_what_runs_have_in_common() {
    let folder = Folder::new();
    folder.explored_all();
    folder.explore("--iterations 120 --output part.csv");
    let (full, part) = (folder.runs("full.csv"), folder.runs("part.csv"));
    let result = folder.json("learn part.csv --labels paper --against full.csv");
    assert_eq!((&result["runs"], &result["against"]["runs"]), (&json!(120), &json!(SPACE)));
    let classes = result["classes"].as_array().unwrap();
    assert_eq!(classes.iter().map(|class| class["runs"].as_u64().unwrap()).sum::<u64>(), 120);

    // Every run heeds one set of rules, and sets have as many samples as runs heed them.
    let mut samples = vec![0; result["rules"].as_array().unwrap().len()];
    for run in &part.runs {
        let sets = heeded(&result["rules"], &run.traversal);
        assert_eq!(sets.len(), 1, "{}", run.traversal);
        let index = result["rules"].as_array().unwrap().iter().position(|set| set == sets[0]).unwrap();
        samples[index] += 1;
    }
    let said: Vec<_> = result["rules"].as_array().unwrap().iter().map(|set| set["samples"].as_u64().unwrap()).collect();
    assert_eq!(said, samples);
    assert_eq!(result["leaves"], said.len());

    // Class accuracy: times within the range of the class that the rules give.
    let within = full.runs.iter().filter(|run| {
        let class = heeded(&result["rules"], &run.traversal)[0]["class"].as_u64().unwrap();
        let [low, high] = ["fastest", "slowest"].map(|name| classes[class as usize - 1][name].as_f64().unwrap());
        // The ends are times of schedules, and JSON's numbers may be read back with another last digit.
        (low * (1.0 - 1e-12)..=high * (1.0 + 1e-12)).contains(&run.seconds)
    });
    let within = within.count();
    assert_eq!(
        (&result["against"]["within"], &result["against"]["accuracy"]),
        (&json!(within), &json!(within as f64 / SPACE as f64))
    );

    let table = folder.good("learn part.csv --labels paper --against full.csv");
    let parts = [
        "120 of 5,390 schedules",
        "A tree of ",
        "training error",
        "\nClass 1\n",
        " before ",
        "class accuracy 0.",
        "overconstrained",
        "Rulesets of class 1",
    ];
    has(&table, &parts);
    // By default, what makes schedules fast, and whether it does in other runs.
    let table = folder.good("learn full.csv --second part.csv");
    has(&table, &["To be fast (class 1):", "launch y_L", "% faster (", "of the others", "in the second runs"]);
    assert!(!table.contains("Class 1\n") && folder.good("learn full.csv --full").contains("\nClass 1\n"));
    let advised = folder.json("learn full.csv --second full.csv");
    assert_eq!((&advised["second"], &advised["advice"]["class"]), (&advised["advice"], &json!(1)));
    let points = |name: &str| advised["advice"][name].as_array().unwrap();
    let (shared, alternatives) = (points("shared"), points("alternatives"));
    let said = |text: &str| table.matches(text).count();
    assert_eq!((said(" with the rules above, "), said(" with the shared rules, ")), (shared.len() - 1, alternatives.len()));
    assert!(shared.len() + alternatives.len() > 1, "{table}");
    let all = &advised["advice"]["all"];
    let gain = all["gain"]["share"].as_f64().unwrap();
    assert!(gain > 0.01 && all["members"][0].as_u64() > all["others"][0].as_u64(), "{all}");

    let small = folder.json("learn full.csv --max-leaf-nodes 3 --criterion entropy");
    assert_eq!((&small["leaves"], &small["against"]), (&json!(3), &Value::Null));
    // A low percentile makes more classes, a large radius fewer.
    let count = |options: &str| folder.json(&format!("learn part.csv {options}"))["classes"].as_array().unwrap().len();
    assert!(count("--labels paper --percentile 50") > count("--labels paper --percentile 98"));
    assert_eq!((count("--labels paper --radius 59"), count("--resolution 100")), (1, 1));

    // Counts are those of the runs that satisfy a rule, by the file and the sentences alone.
    for runs in ["part", "full"] {
        let file = folder.runs(&format!("{runs}.csv"));
        for options in ["", "--full", "--max-leaf-nodes 5", "--resolution 3", "--labels paper", PERCENTILE_0] {
            let learned = folder.json(&format!("learn {runs}.csv {options}"));
            check_counts(&file, &learned, options);
        }
    }

    folder.json("explore halo --platform sim --iterations 20 --output p.csv");
    folder.bad("learn part.csv --against p.csv", "p.csv has runs of the program `halo`, and part.csv of `spmv`");
    folder.explore("--exhaustive --streams 1 --output p.csv");
    folder
        .bad("learn part.csv --against p.csv", "p.csv: its schedules are on 1 stream, and those of part.csv on 2: it hasn't all");
    folder.explore("--exhaustive --space tenzing --output p.csv");
    folder.bad(
        "learn part.csv --against p.csv",
        "p.csv: its schedules are of the space `tenzing`, and those of part.csv of `warpsmith`: it hasn't all of them",
    );
}

/// Options by which each peak is a boundary between classes.
const PERCENTILE_0: &str = "--labels paper --percentile 0 --criterion entropy";

/// Checks the counts beside each rule of `learned`, and that each gain excludes a loss.
fn check_counts(runs: &Runs, learned: &Value, options: &str) {
    // The number of runs until the end of each class, the fastest first.
    let sizes = learned["classes"].as_array().unwrap().iter().map(|class| class["runs"].as_u64().unwrap() as usize);
    let ends: Vec<usize> = sizes
        .scan(0, |end, runs| {
            *end += runs;
            Some(*end)
        })
        .collect();
    let mut times = runs.times();
    times.sort_by(f64::total_cmp);
    let class = |run: &Run| {
        let place = times.partition_point(|&time| time < run.seconds);
        ends.partition_point(|&end| end <= place)
    };
    // Runs of each class that follow all rules, and all of each class.
    let count = |rules: &Value| {
        let sentences: Vec<_> = rules.as_array().unwrap().iter().map(|rule| rule["sentence"].as_str().unwrap()).collect();
        let mut counts = vec![[0, 0]; ends.len()];
        for run in &runs.runs {
            counts[class(run)][1] += 1;
            counts[class(run)][0] += usize::from(sentences.iter().all(|sentence| holds(sentence, &run.traversal)));
        }
        counts
    };
    for set in learned["rules"].as_array().unwrap() {
        let counts: Vec<usize> = count(&set["rules"]).iter().map(|count| count[0]).collect();
        assert_eq!((&set["counts"], &set["samples"]), (&json!(counts), &json!(counts.iter().sum::<usize>())), "{options}: {set}");
    }
    let points = ["shared", "alternatives"].map(|name| learned["advice"][name].as_array().unwrap());
    assert!(points.iter().any(|points| !points.is_empty()), "{options}: {learned}");
    for point in points.into_iter().flatten() {
        let counts = count(&point["rules"]);
        let others = counts[1..].iter().fold([0, 0], |sum, count| [sum[0] + count[0], sum[1] + count[1]]);
        assert_eq!((&point["members"], &point["others"]), (&json!(counts[0]), &json!(others)), "{options}: {point}");
        assert!(point["gain"]["interval"][0].as_f64().unwrap() > 0.0, "{options}: {point}");
    }
}

#[test]
fn one_class_has_no_rules_and_no_accuracy() {
    let folder = Folder::new();
    // The noise is larger than all differences.
    folder.machine(3.0);
    folder.explore("--machine machine.json --iterations 60 --repeats-at-most 2 --output noisy.csv");
    folder.explored_all();
    let noise = folder.runs("noisy.csv").about.noise.unwrap();
    let reason = format!("No classes could be told apart: the noise is {:.2} %. Measure more (", 100.0 * noise);
    for options in ["learn noisy.csv", "learn noisy.csv --full", "learn noisy.csv --against full.csv --second full.csv"] {
        let table = folder.good(options);
        assert!(table.contains(&reason), "{table}");
        for word in ["leaf", "error", "accuracy", "To be fast", "Class 1", "any schedule"] {
            assert!(!table.contains(word), "{word}: {table}");
        }
        let object = folder.json(options);
        assert_eq!((&object["noise"], &object["rules"]), (&json!(noise), &json!([])));
        assert_eq!(object["classes"].as_array().unwrap().len(), 1);
        for field in ["leaves", "depth", "error", "tree_search", "advice", "second"] {
            assert_eq!(object[field], Value::Null, "{field}");
        }
        assert_eq!(object["against"]["accuracy"], Value::Null);
    }
    // The other way round, the whole space has none.
    let table = folder.good("learn full.csv --against noisy.csv");
    assert!(table.contains(&format!("noisy.csv: {reason}")) && !table.contains("accuracy"), "{table}");
    assert_eq!(folder.json("learn full.csv --against noisy.csv")["against"], json!({"input_file": "noisy.csv"}));
    assert_eq!(folder.json("report noisy.csv --output r.html")["leaves"], Value::Null);
    assert!(fs::read_to_string(folder.path("r.html")).unwrap().contains(&reason));
}

/// Without noise, the steps of the times are the classes' bounds.
#[test]
fn steps_of_exact_times_are_found() {
    let folder = Folder::of("rules");
    folder.json("explore spmv --platform sim --output 200.csv");
    folder.json("explore spmv --platform sim --iterations 30 --output 30.csv");
    for (name, wanted) in [("30.csv", &[16, 8, 6][..]), ("200.csv", &[141, 26, 28, 5])] {
        let mut times = folder.runs(name).times();
        times.sort_by(f64::total_cmp);
        let learned = folder.json(&format!("learn {name}"));
        let runs: Vec<usize> =
            learned["classes"].as_array().unwrap().iter().map(|class| class["runs"].as_u64().unwrap() as usize).collect();
        assert_eq!(runs, wanted);
        // They are the gaps of more than 1.5 % that have at least three runs on either side.
        let gaps = (3..=times.len() - 3).filter(|&place| times[place] > 1.015 * times[place - 1]);
        let starts = runs[..runs.len() - 1].iter().scan(0, |start, runs| {
            *start += runs;
            Some(*start)
        });
        assert_eq!(gaps.collect::<Vec<_>>(), starts.collect::<Vec<_>>(), "{name}");
        check_counts(&folder.runs(name), &learned, name);
        check_counts(&folder.runs(name), &folder.json(&format!("learn {name} {PERCENTILE_0}")), name);
    }
}

#[test]
fn a_study_repeats_searches_on_a_measured_space() {
    let folder = Folder::new();
    folder.explored_all();
    let full = folder.runs("full.csv");
    let fastest = full.fastest().unwrap().seconds;
    let command = "study full.csv --iterations 30,5390 --seeds 2 --search dfs,mcts";
    let result = folder.json(&format!("{command} --plot a.svg"));
    let [dfs, mcts] = [0, 1].map(|index| &result["searches"][index]);
    assert_eq!((&dfs["search"], &mcts["search"]), (&json!("dfs"), &json!("mcts")));
    // Depth first, runs come in the file's order, whatever the seed.
    let first = full.runs.iter().position(|run| run.seconds <= 1.01 * fastest).unwrap() + 1;
    assert_eq!((&dfs["near"]["mean"], &dfs["near"]["deviation"]), (&json!(first as f64), &json!(0.0)));
    let least = full.runs[..30].iter().map(|run| run.seconds).fold(f64::INFINITY, f64::min);
    let slower = dfs["points"][0]["slower"]["mean"].as_f64().unwrap();
    assert!((slower - (least / fastest - 1.0)).abs() < 1e-12);
    // From everything, nearly everything is classed right: the tree is as accurate as its training error says, at
    // least.
    let learned = folder.json("learn full.csv");
    for search in [dfs, mcts] {
        let last = &search["points"][1];
        assert_eq!((&last["iterations"], &last["slower"]["mean"]), (&json!(SPACE), &json!(0.0)));
        assert!(last["accuracy"]["mean"].as_f64().unwrap() >= 1.0 - learned["error"].as_f64().unwrap() - 1e-12);
    }
    assert!(fs::read_to_string(folder.path("a.svg")).unwrap().contains("class accuracy"));
    let table = folder.good("study full.csv --iterations 50,100 --seeds 2");
    has(&table, &["the paper's", "0.75", "0.83", "mcts", "random", "iterations until within 1 %", "2 seeds"]);

    folder.explore("--iterations 20 --output part.csv");
    let table = folder.good("study full.csv --iterations 50 --seeds 1");
    assert!(!table.contains('±') && table.contains("Of 1 seed, so that the spread is unknown."), "{table}");
    folder.bad("study part.csv", "part.csv: nothing to learn: there are runs of 20 schedules, and it takes all 5390");
    folder.bad("study full.csv --labels paper --iterations 2", "full.csv: nothing to learn: ");
    folder.bad("study full.csv --plot full.csv", "the name must end in .png or .svg");
}

#[test]
fn a_report_is_a_page_of_its_own() {
    let folder = Folder::new();
    folder.explore("--iterations 150 --output runs.csv");
    let result = folder.json("report runs.csv --output r.html");
    let page = fs::read_to_string(folder.path("r.html")).unwrap();
    assert_eq!((&result["bytes"], &result["runs"]), (&json!(page.len()), &json!(150)));
    let (_, data) = page.split_once("id=\"data\">").unwrap();
    let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    let learned = folder.json("learn runs.csv");
    assert_eq!(learned["leaves"], data["model"]["rules"].as_array().unwrap().len());
    assert!(folder.good("report runs.csv --output r.html --max-leaf-nodes 4").starts_with("Written: r.html (150 runs, "));
    folder.bad("report runs.csv --output runs.csv", "runs.csv can't be written: it is to be read");
    folder.bad("report runs.csv", "--output");
}

#[test]
fn files_that_are_none() {
    let folder = Folder::new();
    folder.explore("--iterations 20 --output runs.csv");
    let text = fs::read_to_string(folder.path("runs.csv")).unwrap();
    let lines: Vec<_> = text.lines().collect();
    let head = |runs: usize| lines[1].replacen("\"runs\":20", &format!("\"runs\":{runs}"), 1);
    let file = |runs: usize, rows: &[String]| format!("{}\n{}\n{}\n{}", lines[0], head(runs), lines[2], rows.concat());
    folder.write("none.csv", &file(0, &[]));
    folder.write("cut.csv", &text[..text.len() - 7]);
    folder.write("text.csv", "a,b\n1,2\n");
    folder.write("time.csv", &text.replacen(lines[5], "2,soon,Pack@0", 1));
    let same: Vec<_> = lines[3..]
        .iter()
        .map(|line| {
            let fields: Vec<_> = line.splitn(3, ',').collect();
            format!("{},1e-3,{}\n", fields[0], fields[2])
        })
        .collect();
    folder.write("same.csv", &file(20, &same));
    folder.write("one.csv", &file(1, &same[..1]));
    folder.write("again.csv", "schedule,seconds\nA;B,1e-4\nA;B,2e-4\n");
    folder.bad("learn again.csv", "again.csv: nothing to learn: there is a single run");
    for command in ["learn FILE", "report FILE --output r.html", "study FILE", "learn runs.csv --against FILE"] {
        for (name, sentence) in [
            ("no.csv", "no.csv: "),
            ("none.csv", "none.csv: nothing to learn: there are no runs"),
            ("one.csv", "one.csv: nothing to learn: there is a single run"),
            ("cut.csv", "cut.csv: it was cut short: the last line has no end"),
            (
                "text.csv",
                "text.csv: it is not a file of runs: the first line is neither `# warpsmith rules 1`, nor does it name columns",
            ),
            ("time.csv", "time.csv: line 6: `soon` is not a time in seconds"),
            ("same.csv", "same.csv: nothing to learn: all 20 runs took 1e-3 s, so that there are no fast and slow ones"),
        ] {
            folder.bad(&command.replace("FILE", name), sentence);
        }
    }
    for (options, sentence) in [
        ("--labels paper --percentile 101", "not a number from 0 to 100"),
        ("--percentile 98", "--percentile is for --labels paper"),
        ("--radius 2", "--radius is for --labels paper"),
        ("--labels tenzing --radius 2", "--radius is for --labels paper"),
        ("--labels paper --resolution 1", "--resolution is for --labels density"),
        ("--resolution 0", "not a percentage above 0"),
        ("--radius 0", "'0' for '--radius <R>'"),
        ("--max-leaf-nodes 0", "'0' for '--max-leaf-nodes <N>'"),
        ("--labels paper --radius 10", "a step function of radius 10 takes 22 runs, and there are 20"),
    ] {
        folder.bad(&format!("learn runs.csv {options}"), sentence);
    }
}

/// A schedule that was measured several times counts once, with its median.
#[test]
fn repeated_measurements_are_one_schedule() {
    let folder = Folder::of("rules");
    let row = |order: &[&str], seconds: f64| format!("{},{seconds}\n", order.join(";"));
    let (mut once, mut often) = ("schedule,seconds\n".to_owned(), "schedule,seconds\n".to_owned());
    for (index, order) in ["ABCD", "ABDC", "ACBD", "ACDB", "BACD", "BADC", "BCAD", "BCDA"].iter().enumerate() {
        let order: Vec<_> = order.split("").filter(|name| !name.is_empty()).collect();
        let time = 1.0 + (index * 5 % 8) as f64 / 100.0;
        once.push_str(&row(&order, time));
        let others = if index == 0 { 40 } else { 0 };
        often.push_str(&row(&order, time));
        (0..others).for_each(|turn| often.push_str(&row(&order, time + if turn % 2 == 0 { 0.5 } else { -0.5 })));
    }
    folder.write("once.csv", &once);
    folder.write("often.csv", &often);
    let [mut once, mut often] = ["once", "often"].map(|name| folder.json(&format!("learn {name}.csv --resolution 0.5")));
    assert_eq!(often["runs"], 8);
    (once["input_file"], often["input_file"]) = (Value::Null, Value::Null);
    assert_eq!(once, often);
    assert!(folder.good("learn often.csv").contains("8 schedules"));
    assert_eq!(folder.json("report often.csv --output often.html")["runs"], 8);
}

#[test]
fn what_cant_be_explored() {
    let folder = Folder::new();
    folder.write("wide.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n");
    folder.write("small.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n");
    folder.write("bad.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 7 1\n");
    folder.machine(-1.0);
    folder.write("odd.json", "{\"name\": 3}");
    let mut far = warpsmith::design_rules::sim::Machine::h200_node();
    far.host.launch = 1e308;
    folder.write("far.json", &serde_json::to_string(&far).unwrap());
    let mut list = serde_json::to_value(&far).unwrap();
    list["network"]["inside"] = json!([1e-6, 1e9]);
    folder.write("list.json", &list.to_string());
    folder.write("m.csv", "");
    for (options, sentence) in [
        ("spmv --matrix no.mtx", "no.mtx"),
        ("spmv --matrix wide.mtx", "square"),
        ("spmv --matrix small.mtx", "rank"),
        ("spmv --matrix bad.mtx", "bad.mtx"),
        ("spmv --machine no.json", "no.json: "),
        ("spmv --machine odd.json", "odd.json: "),
        ("spmv --machine machine.json", "machine.json: the machine `4 H200s of one host` has noise = -1"),
        (
            "spmv --machine far.json",
            "far.json: the machine `4 H200s of one host` has host.launch = 1e308, which is not from 0 to 1e9",
        ),
        ("spmv --streams 0", "0 streams are not possible"),
        ("spmv --streams 9223372036854775807", "9223372036854775807 streams are not possible"),
        ("spmv --ranks 0", "not a whole number above 0"),
        ("spmv --ranks 999999", "at most 65,536 ranks are possible"),
        ("spmv --ranks 9223372036854775807", "at most 65,536 ranks are possible"),
        ("spmv --iterations 0", "--iterations"),
        ("spmv --cells 1,2,3", "--cells is for halo"),
        ("halo --cells 1,2", "not three whole numbers above 0"),
        ("halo --matrix m.mtx", "--matrix is for spmv"),
        ("spmv --exhaustive --search dfs", "cannot be used with"),
        ("spmv --machine list.json", "list.json: `network.inside`: invalid type: sequence, expected an object at line 1"),
        ("spmv --statistic mean", "--statistic is for GPUs and CPUs"),
        ("spmv --exhaustive --raw -", "runs are continued in their file: give it a name, not `-`"),
        ("spmv --exhaustive --raw raw.txt", "raw.txt: the name must end in .csv"),
        ("spmv --exhaustive --raw m.csv", "m.csv exists: continue its runs with --resume, or replace it with --force"),
    ] {
        folder.bad(&format!("explore {options} --platform sim --output r.csv"), sentence);
    }
    folder.bad("explore spmv --platform sim --matrix m.mtx --output m.mtx", "m.mtx can't be written: it is to be read");
    folder.write("both.csv", "schedule,seconds,time\nA;B,1,2\n");
    folder.bad("learn both.csv", "both.csv: has the columns `seconds` and `time`: only one may be that of times");
    folder.write("one.csv", "schedule,seconds\nA;B,1\n");
    folder.bad("learn one.csv one.csv", "one.csv is given twice");
    folder.bad("study one.csv --iterations 0", "--iterations");
    folder.bad("learn one.csv --percentile 50", "--percentile is for --labels paper and tenzing");
    folder.bad("learn one.csv --labels paper --percentile nan", "not a number from 0 to 100");
    folder.bad("add spmv --runs r.csv.gz A 1", "r.csv.gz: the name must end in .csv");
    folder.bad("explore spmv --platform sim --output no/r.csv", "there is no directory no");
    folder.bad("explore spmv --platform sim --output r.txt", "r.txt: the name must end in .csv");
    for command in ["explore spmv --platform sim --output -", "next spmv --runs -", "add spmv Pack@0 1 --runs -"] {
        folder.bad(command, "runs are continued in their file: give it a name, not `-`");
    }
    folder.bad("explore spmv --platform cpu --machine machine.json --output r.csv", "--machine is for --platform sim");
    folder.bad("explore spmv --platform cpu --ranks 2000 --output r.csv", "2000 ranks are too many to be threads");
    folder.bad("explore spmv --platform cpu --streams 1000000000 --output r.csv", "1000000000 streams are not possible");
}

/// Each of several processes would search by itself, and write the one file.
#[test]
#[cfg(not(feature = "mpi"))]
fn several_processes_take_mpi() {
    let folder = Folder::new();
    let explore = |platform: &str, variables: &[(&str, &str)]| {
        Command::new(cargo_bin!("warpsmith"))
            .args(
                format!("rules explore halo --cells 4,4,4 --iterations 2 --platform {platform} --force --output r.csv")
                    .split(' '),
            )
            .env_clear()
            .envs(variables.iter().copied())
            .current_dir(&folder.directory)
            .output()
            .unwrap()
    };
    for platform in ["cpu", "sim"] {
        for (variable, value) in
            [("OMPI_COMM_WORLD_SIZE", "4"), ("PMI_SIZE", "2"), ("SLURM_STEP_NUM_TASKS", "16"), ("PMIX_RANK", "1")]
        {
            let output = explore(platform, &[(variable, value), ("PMIX_NAMESPACE", "slurm.pmix.1.0")]);
            let stderr = crate::folder::text(&output.stderr);
            let expected =
                format!("error: several processes were started ({variable} is {value}), but this build has no MPI: build");
            assert!(output.status.code() == Some(2) && stderr.starts_with(&expected), "{stderr}");
        }
        // One alone, also as what `mpirun -n 1` starts in a step of several.
        for variables in [
            &[("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_NTASKS", "4"), ("PMIX_RANK", "0")][..],
            &[("OMPI_COMM_WORLD_SIZE", "1"), ("SLURM_STEP_NUM_TASKS", "2")],
        ] {
            let output = explore(platform, variables);
            assert!(output.status.success(), "{}", crate::folder::text(&output.stderr));
        }
    }
}

/// A search that can't write its journal any more leaves the file as it was, and goes on later.
#[test]
#[cfg(target_os = "linux")]
fn a_limit_of_file_sizes() {
    let folder = Folder::new();
    folder.machine(0.05);
    let search = "explore spmv --matrix m.mtx --platform sim --machine machine.json --force --output";
    for (method, name) in [("--search mcts --seed 4", "runs.csv"), ("--streams 1 --exhaustive --passes 3", "all.csv")] {
        folder.json(&format!("{search} {name} {method}"));
        let (before, there) = (fs::read(folder.path(name)).unwrap(), folder.runs(name).runs.len());
        let limited = |resume: &str| folder.shell(&format!("ulimit -f 8; exec \"$0\" rules {search} {name} {method} {resume}"));
        let output = limited("");
        let stderr = crate::folder::text(&output.stderr);
        assert!(output.status.code() == Some(2), "{stderr}");
        let partial = format!("{name}.partial");
        for part in [&format!("warning: {partial} has what was measured"), &format!("error: {partial} can't be written: ")] {
            assert!(stderr.contains(part), "{stderr}\nlacks: {part}");
        }
        assert!(fs::read(folder.path(name)).unwrap() == before);
        let measured = folder.runs(&partial).runs.len();
        assert!((5..there).contains(&measured), "{measured}");
        // Once more, when what is there leaves no room.
        assert_eq!(limited("--resume").status.code(), Some(2));
        assert!(folder.runs(&partial).runs.len() >= measured && fs::read(folder.path(name)).unwrap() == before);
        folder.json(&format!("{search} {name} {method} --resume"));
        assert!(folder.runs(name).runs.len() == there && !folder.path(&partial).exists());
    }
    // Fewer passes than there are leave the others.
    let (space, rows) = (folder.runs("all.csv").runs.len(), || folder.runs("raw.csv").runs.len());
    for (passes, expected) in [(3, 3), (2, 3), (4, 4)] {
        folder.json(&format!("{search} few.csv --streams 1 --exhaustive --raw raw.csv --resume --passes {passes}"));
        assert_eq!(rows(), expected * space, "{passes}");
    }
}

/// A process that is killed leaves what it has measured, and nothing of it is lost or overwritten.
#[test]
#[cfg(target_os = "linux")]
fn a_search_that_was_killed_goes_on() {
    use std::{thread, time::Duration};

    let folder = Folder::new();
    folder.machine(0.05);
    let searches = [
        ("spmv --matrix m.mtx --search mcts --repeats-at-most 1", "--iterations 1000000", 200),
        // In the second pass.
        ("spmv --matrix m.mtx --streams 1 --exhaustive", "--passes 900", 400),
    ];
    for (search, much, measured) in searches {
        let options = format!("explore {search} --platform sim --machine machine.json --seed 4 --force --output");
        let more = if measured == 200 { "--iterations 400" } else { "--passes 3" };
        folder.json(&format!("{options} whole.csv {more}"));
        // An old file, to be replaced.
        folder.write("runs.csv", "old");
        let mut child = Command::new(cargo_bin!("warpsmith"))
            .args(format!("rules {options} runs.csv {much}").split(' '))
            .current_dir(&folder.directory)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let partial = folder.path("runs.csv.partial");
        let rows = || fs::read_to_string(&partial).map_or(0, |text| text.lines().count());
        while rows() < measured {
            assert!(child.try_wait().unwrap().is_none(), "it has ended");
            thread::sleep(Duration::from_millis(1));
        }
        folder.bad(
            &format!("{options} runs.csv {more} --resume"),
            "runs.csv.partial can't be written: another process is writing it",
        );
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(fs::read_to_string(folder.path("runs.csv")).unwrap(), "old");
        // As if the last row had been cut short.
        let text = fs::read_to_string(&partial).unwrap();
        let keep = text.match_indices('\n').nth(measured).map_or(text.len(), |(at, _)| at) - 9;
        fs::write(&partial, &text[..keep]).unwrap();
        assert!(Runs::read(&partial).unwrap().runs.len() >= measured - 4);
        folder.bad(&format!("{options} runs.csv {more}"), "runs.csv.partial is there: ");
        let other = options.replace("--seed 4", "--seed 5");
        folder.bad(
            &format!("{other} runs.csv {more} --resume"),
            "runs.csv.partial: it can't be resumed: its runs are of the seed 4",
        );

        folder.json(&format!("{options} runs.csv {more} --resume"));
        let [whole, runs] = ["whole.csv", "runs.csv"].map(|name| fs::read_to_string(folder.path(name)).unwrap());
        // Chance in a schedule's second time depends on what this process has measured.
        assert!(
            if measured == 200 {
                whole == runs
            } else {
                schedules(&folder.runs("whole.csv")) == schedules(&folder.runs("runs.csv"))
            },
            "{search}"
        );
        assert!(!partial.exists());
    }
    folder.bad(
        "explore spmv --matrix m.mtx --streams 1 --exhaustive --platform sim --machine machine.json --seed 4 --output runs.csv --resume",
        "runs.csv: it can't be resumed: it has each schedule once",
    );
    // A file that is no journal of a search is in the way, and stays.
    folder.write("x.csv.partial", "mine");
    folder.bad("explore halo --platform sim --output x.csv", "x.csv.partial is there: ");
    folder.bad("explore halo --platform sim --output x.csv --resume", "x.csv.partial: it is not a file of runs");
    assert_eq!(fs::read_to_string(folder.path("x.csv.partial")).unwrap(), "mine");
}

#[test]
#[cfg(target_os = "linux")]
fn a_signal_ends_the_search_and_what_was_measured_is_written() {
    use rustix::process::{Pid, Signal, kill_process};
    use std::{thread, time::Duration};

    let folder = Folder::new();
    for (there, options) in [(false, ""), (true, ""), (true, "--resume")] {
        assert_eq!(folder.path("runs.csv").exists(), there);
        let mut command = Command::new(cargo_bin!("warpsmith"));
        let arguments =
            format!("-vv rules explore halo --platform sim --iterations 1000000000 --output runs.csv --force --json {options}");
        let mut child = crate::signals::heed_interrupts(&mut command)
            .args(arguments.split_whitespace())
            .current_dir(&folder.directory)
            .stdout(Stdio::piped())
            .stderr(fs::File::create(folder.path("log")).unwrap())
            .spawn()
            .unwrap();
        // The log tells when the search has begun.
        while fs::read_to_string(folder.path("log")).unwrap().matches("measured").count() < 40 {
            assert!(child.try_wait().unwrap().is_none());
            thread::sleep(Duration::from_millis(20));
        }
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let output = child.wait_with_output().unwrap();
        let log = fs::read_to_string(folder.path("log")).unwrap();
        assert!(
            output.status.code() == Some(130) && log.ends_with("error: cancelled\n"),
            "{}",
            &log[log.len().saturating_sub(300)..]
        );
        let object: Value = serde_json::from_slice(&output.stdout).unwrap();
        let runs = folder.runs("runs.csv");
        assert_eq!((&object["cancelled"], &object["runs"]), (&json!(true), &json!(runs.runs.len())));
        assert!(runs.runs.len() >= 39 && runs.about.fastest.is_some());
        assert_eq!(folder.files(), ["log", "m.mtx", "runs.csv"]);
    }
}

/// Messages in memory that the platform lacks.
#[test]
fn staging_is_for_what_sends() {
    let folder = Folder::of("rules").with_matrix();
    let explore = |options: &str| folder.run(&format!("explore {options} --iterations 3 --output x.csv"));
    for (options, reason) in [
        ("spmv --matrix m.mtx --platform cpu --staging device", "--staging device is for GPUs: the CPU has one memory"),
        ("spmv --matrix m.mtx --platform sim --staging nowhere", "invalid value 'nowhere'"),
    ] {
        folder.bad(&format!("explore {options} --iterations 3 --output x.csv"), reason);
    }
    // A message from GPU to GPU saves two copies.
    let fastest = |staging: &str| {
        assert!(explore(&format!("spmv --matrix m.mtx --platform sim --staging {staging} --ranks 2 --force")).status.success());
        Runs::read(&folder.path("x.csv")).unwrap().fastest().unwrap().seconds
    };
    let (host, device) = (fastest("host"), fastest("device"));
    assert!(device < 0.9 * host, "{device} {host}");
}
