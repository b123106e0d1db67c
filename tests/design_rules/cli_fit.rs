//! The command `warpsmith rules fit`.

use std::fs;

use serde_json::{Value, json};
use warpsmith::design_rules::{Runs, sim::Machine};

use crate::folder::Folder;

impl Folder {
    /// With a matrix `m.mtx`, a machine `known.json` whose launches are slow, and runs on it: `full.csv`.
    fn measured() -> Self {
        let folder = Folder::of("rules").with_matrix();
        let mut known = Machine::data_sheet();
        known.host.launch = 4e-6;
        known.gpu.wake_latency = 4e-6;
        folder.write("known.json", &serde_json::to_string(&known).unwrap());
        folder.explore_known("--ranks 2 --iterations 400 --output full.csv");
        folder
    }

    fn explore_known(&self, options: &str) -> Value {
        self.json(&format!("explore spmv --platform sim --search random --matrix m.mtx --machine known.json {options}"))
    }

    /// Writes a file with one replacement, which must be possible.
    fn change(&self, file: &str, [from, to]: [&str; 2], new: &str) {
        let text = fs::read_to_string(self.path(file)).unwrap();
        assert!(text.contains(from), "{file} lacks {from}");
        self.write(new, &text.replacen(from, to, 1));
    }
}

#[test]
fn help_shows_examples() {
    let folder = Folder::of("rules");
    assert!(folder.good("--help").contains("  fit "));
    let help = folder.good("fit --help");
    assert!(help.contains("Examples:\n  warpsmith rules fit "), "{help}");
    for option in
        "--matrix --cells --functions --staging --machine --sample --seed --predict --predict-ranks-per-gpu --ranks-per-gpu --output --plot --json"
            .split(' ')
    {
        assert!(help.contains(option), "{option}");
    }
}

#[test]
fn a_machine_is_fitted_and_simulates() {
    let folder = Folder::measured();
    let result = folder.json("fit full.csv --matrix m.mtx --sample 150 --output machine.json --plot scatter.svg");
    let before = &result["before"];
    let after = &result["after"];
    assert_eq!((&result["runs"], &result["sample"], &after["runs"]), (&json!(400), &json!(150), &json!(250)));
    assert_eq!((&result["system"], &result["command"], &result["converged"]), (&json!("rules"), &json!("fit"), &json!(true)));
    assert!(before["rms"].as_f64().unwrap() > 0.1 && after["rms"].as_f64().unwrap() < 0.003, "{before} {after}");
    assert!(after["spearman"].as_f64().unwrap() > 0.99, "{after}");
    let machine: Machine = serde_json::from_str(&fs::read_to_string(folder.path("machine.json")).unwrap()).unwrap();
    machine.validate().unwrap();
    assert!(machine.name.starts_with("fitted to full.csv: simulated, 2 ranks"), "{}", machine.name);
    assert!((machine.host.launch / 4e-6 - 1.0).abs() < 0.1, "{machine:?}");
    let launch = &result["parameters"][0];
    assert_eq!((&launch["name"], launch["after"].as_f64()), (&json!("host.launch"), Some(machine.host.launch)));
    let svg = fs::read_to_string(folder.path("scatter.svg")).unwrap();
    // All held out, before and after, and the legend.
    assert_eq!((svg.starts_with("<svg"), svg.matches("<circle").count()), (true, 2 * 251));

    // Another program's simulation can use it, and the same again is the same.
    folder.json("explore halo --platform sim --ranks 4 --machine machine.json --iterations 5 --output halo.csv");
    let text = folder.good("fit full.csv --matrix m.mtx --sample 150 --output again.json");
    let [first, again] = ["machine.json", "again.json"].map(|name| fs::read(folder.path(name)).unwrap());
    assert!(first == again);
    for part in ["host.launch", "2.200 µs", "not known", "held out, fitted", "Fitted to 150 of 400 runs.", "Written: again.json"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    folder.good("fit full.csv --matrix m.mtx --seed 5 --machine known.json --output again.json --plot again.png");
    assert!(fs::read(folder.path("again.png")).unwrap().starts_with(b"\x89PNG"));
    assert!(fs::read(folder.path("again.json")).unwrap() != first, "it replaces what is there");
    let left = ["again.json", "again.png", "full.csv", "halo.csv", "known.json", "m.mtx", "machine.json", "scatter.svg"];
    assert_eq!(folder.files(), left);
}

#[test]
fn other_runs_are_predicted() {
    let folder = Folder::measured();
    folder.explore_known("--ranks 4 --iterations 100 --output four.csv");
    let mut shared: Machine = serde_json::from_str(&fs::read_to_string(folder.path("known.json")).unwrap()).unwrap();
    shared.gpu.ranks = 2;
    folder.write("known.json", &serde_json::to_string(&shared).unwrap());
    folder.explore_known("--ranks 4 --iterations 100 --output shared.csv");
    let predicted = |options: &str| {
        let result = folder.json(&format!("fit full.csv --matrix m.mtx --output machine.json --predict {options}"));
        let machine: Machine = serde_json::from_str(&fs::read_to_string(folder.path("machine.json")).unwrap()).unwrap();
        assert_eq!(machine.gpu.ranks, 1, "that is of the runs to predict alone");
        (result["predicted"]["ranks"].as_u64().unwrap(), result["predicted"]["rms"].as_f64().unwrap())
    };
    let (ranks, alone) = predicted("four.csv");
    assert!(ranks == 4 && alone < 0.01, "{alone}");
    let (_, right) = predicted("shared.csv --predict-ranks-per-gpu 2");
    let (_, wrong) = predicted("shared.csv");
    assert!(right < 0.01 && wrong > right, "{right} {wrong}");

    // The machine that is fitted to them has as many ranks to a GPU.
    folder.explore_known("--ranks 4 --iterations 150 --output shared.csv --resume");
    folder.change("known.json", ["\"ranks\":2", "\"ranks\":1"], "alone.json");
    let before = |options: &str| {
        let fit = format!("fit shared.csv --machine alone.json --matrix m.mtx --output machine.json {options}");
        folder.json(&fit)["before"]["rms"].as_f64().unwrap()
    };
    assert!(before("") > 1e-4 && before("--ranks-per-gpu 2") < 1e-9);
    let machine: Machine = serde_json::from_str(&fs::read_to_string(folder.path("machine.json")).unwrap()).unwrap();
    assert_eq!(machine.gpu.ranks, 2);
}

#[test]
fn where_messages_lay_is_read_off_the_file() {
    let folder = Folder::measured();
    folder.explore_known("--ranks 2 --staging device --iterations 300 --output plain.csv");
    folder.change("plain.csv", ["\"platform\":\"", "\"platform\":\"messages in the GPU's memory, "], "device.csv");
    let rms = |options: &str| {
        let result = folder.json(&format!("fit {options} --machine known.json --matrix m.mtx --output machine.json"));
        result["before"]["rms"].as_f64().unwrap()
    };
    // The machine is the right one: nothing is to be fitted.
    assert!(rms("device.csv") < 1e-9);
    assert!(rms("plain.csv --staging device") < 1e-9);
    assert!(rms("plain.csv") > 0.02 && rms("device.csv --staging host") > 0.02);
}

#[test]
fn what_is_wrong_is_said_and_nothing_is_written() {
    let folder = Folder::measured();
    let bad = |options: &str, sentence: &str| folder.bad(&format!("fit {options}"), sentence);
    let fit = |runs: &str| format!("{runs} --matrix m.mtx --output machine.json --plot plot.svg");
    bad(&fit("none.csv"), "none.csv: ");
    bad("full.csv", "--output <MACHINE.JSON>");
    bad("full.csv --output full.csv", "full.csv can't be written: it is to be read");
    bad("full.csv --matrix m.mtx --output m.mtx", "m.mtx can't be written: it is to be read");
    bad("full.csv --output no/machine.json", "no/machine.json can't be written: there is no directory");
    bad("full.csv --output machine.json --plot plot.gif", "the name must end in .png or .svg");
    bad("full.csv --output plot.svg --plot plot.svg", "plot.svg can't be written: it is to be written twice");
    bad("full.csv --output machine.json --sample 0", "not a whole number above 0");
    bad("full.csv --output machine.json --predict-ranks-per-gpu 2", "--predict <OTHER.CSV>");
    bad("full.csv --output machine.json --cells 8,8,8", "--cells is for halo");
    bad(&format!("{} --functions 8", fit("full.csv")), "--functions is for pipeline");
    bad(&format!("{} --sample 20", fit("full.csv")), "full.csv: nothing to learn: 23 numbers can't be fitted to 20 of 400 runs");
    bad("full.csv --matrix none.mtx --output machine.json", "none.mtx");
    folder.write("broken.json", "{}");
    bad(&format!("{} --machine broken.json", fit("full.csv")), "broken.json: missing field");

    // Invalid files of runs, or runs of another program.
    let text = fs::read_to_string(folder.path("full.csv")).unwrap();
    folder.write("cut.csv", &text[..text.len() / 2]);
    bad(&fit("cut.csv"), "cut.csv: it was cut short");
    folder.change("full.csv", ["\"program\":\"spmv\"", "\"program\":\"other\""], "other.csv");
    bad(&fit("other.csv"), "other.csv: its runs are of the program `other`; known are spmv, halo and pipeline");
    folder.change("full.csv", ["\"program\":\"spmv\"", "\"program\":\"halo\""], "halo.csv");
    bad(&fit("halo.csv"), "halo.csv: it has runs of a program `halo` with other operations or edges");
    folder.change("full.csv", ["\"ranks\":2", "\"ranks\":5000"], "many.csv");
    bad(&fit("many.csv"), "5000 ranks");
    let seconds = text.lines().nth(3).unwrap().split(',').nth(1).unwrap();
    folder.change("full.csv", [seconds, "0"], "zero.csv");
    bad(&fit("zero.csv"), "zero.csv: nothing to learn: a run took 0 s, which has no logarithm");

    // What is to be predicted.
    folder.json("explore halo --platform sim --iterations 5 --output steps.csv");
    bad(&format!("{} --predict steps.csv", fit("full.csv")), "steps.csv: it has runs of the program `halo`, not of `spmv`");
    bad(&format!("{} --predict cut.csv", fit("full.csv")), "cut.csv: ");
    bad(&format!("{} --predict many.csv", fit("full.csv")), "5000 ranks");

    // A machine of before stays.
    folder.write("machine.json", "mine");
    bad(&fit("zero.csv"), "zero.csv");
    assert_eq!(fs::read_to_string(folder.path("machine.json")).unwrap(), "mine");
    assert_eq!(Runs::read(&folder.path("full.csv")).unwrap().runs.len(), 400);
}

#[test]
fn programs_without_a_matrix() {
    let folder = Folder::of("rules");
    folder.json("explore pipeline --blocks 3 --platform sim --ranks 2 --functions 500 --iterations 120 --output pipeline.csv");
    let result = folder.json("fit pipeline.csv --functions 500 --output machine.json");
    assert!(result["after"]["rms"].as_f64().unwrap() < 0.01, "{result}");
    folder.bad("fit pipeline.csv --staging host --output other.json", "--staging is for spmv and halo");
    folder.json("explore halo --platform sim --ranks 2 --cells 32,32,32 --iterations 120 --output halo.csv");
    let result = folder.json("fit halo.csv --cells 32,32,32 --output machine.json");
    assert!(result["after"]["rms"].as_f64().unwrap() < 0.01, "{result}");
}

/// Times that have nothing to do with their schedules fit no machine, and the command says so.
#[test]
fn a_machine_of_no_use_is_called_that() {
    let folder = Folder::measured();
    let warning = "doesn't put these schedules in order";
    assert!(!folder.good("fit full.csv --matrix m.mtx --output machine.json").contains(warning));
    let text = fs::read_to_string(folder.path("full.csv")).unwrap();
    let (head, table) = text.split_at(text.match_indices('\n').nth(2).unwrap().0 + 1);
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.splitn(3, ',').collect()).collect();
    let mixed: String = (0..rows.len()).map(|i| format!("{i},{},{}\n", rows[(i * 7 + 5) % rows.len()][1], rows[i][2])).collect();
    folder.write("mixed.csv", &format!("{head}{mixed}"));
    assert!(folder.good("fit mixed.csv --matrix m.mtx --output machine.json").contains(warning));
}
