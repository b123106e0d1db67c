//! `warpsmith rules learn` from the runs of several inputs.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::json;
use warpsmith::design_rules::{
    DecisionTree, Labels, Runs,
    learn::{Across, Input, InputTable, Judged},
};

use super::learn::{LearnArgs, advise, print_set, same_program};
use crate::{failure::Failure, format, terminal};

/// A file of runs.
struct Read {
    path: PathBuf,
    runs: Runs,
    numbers: Vec<f64>,
}

impl Read {
    /// The input, with its numbers unless there are no `names`.
    fn input(&self, arguments: &LearnArgs, names: &[String]) -> Result<Input<'_>, Failure> {
        let numbers = if names.is_empty() { Vec::new() } else { self.numbers.clone() };
        let labels = arguments.learning.options(&self.runs)?.labels;
        Ok(Input { name: self.path.display().to_string(), runs: &self.runs, numbers, labels })
    }
}

/// An unseen input, judged by the rules of all inputs and by two baselines.
#[derive(Serialize)]
struct Verdict {
    input_file: String,
    #[serde(flatten)]
    across: Judged,
    /// By the rules of the nearest input alone.
    nearest: Judged,
    nearest_file: String,
    /// By the rules of all inputs without their numbers.
    without_inputs: Judged,
}

pub fn run(arguments: &LearnArgs) -> Result<(), Failure> {
    if arguments.second.is_some() {
        return Err(Failure::error("--second is for the runs of one input: name other inputs by --against"));
    }
    let (names, mut files) = read(arguments)?;
    let unseen = files.split_off(arguments.runs.len());
    if let [file] = &files[..] {
        let path = file.path.display();
        return Err(Failure::error(format_args!("{path} is a single input: rules across inputs take the runs of at least two")));
    }
    let across = learn(arguments, &names, &files, arguments.classes.map(usize::from))?;
    let count = across.labels().iter().map(Labels::count).max();
    let without = learn(arguments, &[], &files, count)?;
    let judge = |file: &Read| {
        let nearest = across.nearest(&file.numbers);
        let single = learn(arguments, &[], &files[nearest..=nearest], count)?;
        let by = |across: &Across, names: &[String]| Ok::<_, Failure>(across.judge(&file.input(arguments, names)?)?);
        Ok(Verdict {
            input_file: file.path.display().to_string(),
            across: by(&across, &names)?,
            nearest: by(&single, &[])?,
            nearest_file: files[nearest].path.display().to_string(),
            without_inputs: by(&without, &[])?,
        })
    };
    let verdicts = unseen.iter().map(judge).collect::<Result<Vec<Verdict>, Failure>>()?;
    if arguments.json { print_json(&names, &across, &verdicts) } else { print(arguments, &names, &across, &verdicts) }
}

/// Learns from files of runs, by their numbers unless there are no `names`.
fn learn<'a>(arguments: &LearnArgs, names: &[String], files: &'a [Read], classes: Option<usize>) -> Result<Across<'a>, Failure> {
    let inputs = files.iter().map(|file| file.input(arguments, names)).collect::<Result<_, Failure>>()?;
    Ok(Across::learn(names.to_vec(), inputs, classes, &arguments.learning.options(&files[0].runs)?)?)
}

/// Reads all files of runs, which must be of one program, and the numbers of their inputs.
fn read(arguments: &LearnArgs) -> Result<(Vec<String>, Vec<Read>), Failure> {
    let table = arguments.inputs.as_deref().map(InputTable::read).transpose()?;
    let paths: Vec<_> = arguments.runs.iter().chain(&arguments.against).collect();
    if let Some((_, twice)) = paths.iter().enumerate().find(|&(index, path)| paths[..index].contains(path)) {
        return Err(Failure::error(format_args!("{} is given twice", twice.display())));
    }
    let all = paths.into_iter().map(|path| Ok((path, Runs::read(path)?.merged()))).collect::<Result<Vec<_>, Failure>>()?;
    let (first_path, first) = &all[0];
    let own: Vec<String> = first.about.numbers.keys().cloned().collect();
    let further = table.iter().flat_map(|table| table.names()).filter(|name| !own.contains(name)).cloned();
    let names: Vec<String> = own.iter().cloned().chain(further).collect();
    if names.is_empty() {
        return Err(Failure::error(
            "the files have no numbers of their inputs: describe each input by a row of --inputs TABLE.CSV",
        ));
    }
    let numbers = |(path, runs): &(&PathBuf, Runs)| {
        same_program(first_path, first, path, runs)?;
        let of_table = table.as_ref().map(|table| Ok::<_, Failure>((table.names(), table.numbers(path)?))).transpose()?;
        let number = |name: &String| {
            let place = of_table.and_then(|(names, numbers)| Some(numbers[names.iter().position(|other| other == name)?]));
            place.or_else(|| runs.about.numbers.get(name).copied()).ok_or_else(|| {
                Failure::error(format_args!(
                    "{} has no number `{name}` of its input, unlike {}",
                    path.display(),
                    first_path.display()
                ))
            })
        };
        names.iter().map(number).collect()
    };
    let numbers = all.iter().map(numbers).collect::<Result<Vec<_>, Failure>>()?;
    let file = |((path, runs), numbers): ((&PathBuf, Runs), _)| Read { path: path.clone(), runs, numbers };
    Ok((names, all.into_iter().zip(numbers).map(file).collect()))
}

fn print_json(names: &[String], across: &Across, verdicts: &[Verdict]) -> Result<(), Failure> {
    let inputs = across.inputs().iter().zip(across.labels()).map(|(input, labels)| {
        json!({"input_file": input.name, "runs": input.runs.runs.len(), "numbers": input.numbers, "classes": labels.summary()})
    });
    let tree = across.search().map(|search| &search.tree);
    terminal::print_json(&json!({
        "system": "rules",
        "command": "learn",
        "numbers": names,
        "inputs": inputs.collect::<Vec<_>>(),
        "features": across.features().features().len(),
        "leaves": tree.map(DecisionTree::leaves),
        "error": tree.map(DecisionTree::training_error),
        "tree_search": across.search(),
        "rules": across.rules(),
        "regions": across.regions(),
        "against": verdicts,
    }))
}

fn print(arguments: &LearnArgs, names: &[String], across: &Across, verdicts: &[Verdict]) -> Result<(), Failure> {
    let about = &across.inputs()[0].runs.about;
    let runs = across.inputs().iter().map(|input| input.runs.runs.len()).sum();
    terminal::print(format_args!(
        "{}: {} of {} inputs, described by {}.",
        if about.program.is_empty() { "A program" } else { &about.program },
        format::counted(runs, "run", "runs"),
        across.inputs().len(),
        names.join(", ")
    ))?;
    let mut table = terminal::table(["input", "runs", "classes", "class 1", "fastest", "slowest", "ratio"], 1..7);
    for (input, labels) in across.inputs().iter().zip(across.labels()) {
        let sorted = labels.sorted();
        let (fastest, slowest) = (sorted[0], sorted[sorted.len() - 1]);
        table.add_row([
            input.name.clone(),
            format::grouped(sorted.len()),
            labels.count().to_string(),
            format::grouped(labels.summary()[0].runs),
            format::seconds(fastest),
            format::seconds(slowest),
            if fastest > 0.0 { format!("{:.3}", slowest / fastest) } else { String::new() },
        ]);
    }
    terminal::print(table)?;
    let Some(search) = across.search() else {
        return terminal::print("No classes could be told apart with any input: measure more, or differently.");
    };
    terminal::print(format_args!(
        "A tree of {}, from {}: training error {:.2} %.",
        format::counted(search.tree.leaves(), "leaf", "leaves"),
        format::counted(across.features().features().len(), "feature", "features"),
        100.0 * search.tree.training_error()
    ))?;
    if arguments.learning.is_full() {
        across.rules().all().iter().try_for_each(|set| {
            terminal::print(format_args!("\nClass {}", set.class))?;
            print_set(set)
        })?;
    }
    for region in across.regions() {
        let conditions: Vec<_> = region.conditions.iter().map(ToString::to_string).collect();
        let inputs = format::counted(region.inputs.len(), "input", "inputs");
        let place = if conditions.is_empty() { "For any input".to_owned() } else { format!("Where {}", conditions.join(", ")) };
        let title = format!("{place} ({inputs}), to be fast (class 1):");
        match &region.advice {
            Some(advice) => advise(about, advice, None, &title)?,
            None => terminal::print(format_args!("\n{title}\n  - no rules are faster with 95 % confidence"))?,
        }
    }
    if verdicts.is_empty() {
        return Ok(());
    }
    terminal::print(
        "\nUnseen inputs: runs in their own class, and the advised schedule over the fastest found, by the rules across inputs; by those of the nearest input; by those of all inputs without their numbers",
    )?;
    let header =
        ["input", "classes", "own class", "advised", "nearest: own class", "advised", "no numbers: own class", "advised"];
    let mut table = terminal::table(header, 1..header.len());
    let shown = |number: Option<f64>| number.map_or(String::new(), |number| format!("{number:.3}"));
    let cells = |judged: &Judged| [shown(judged.share()), shown(Some(judged.ratio()))];
    for verdict in verdicts {
        let all = [&verdict.across, &verdict.nearest, &verdict.without_inputs].into_iter().flat_map(cells);
        table.add_row([verdict.input_file.clone(), verdict.across.classes.to_string()].into_iter().chain(all));
    }
    let mean = |of: &dyn Fn(&Verdict) -> &Judged| {
        let mean = |numbers: Vec<f64>| (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64);
        let judged = || verdicts.iter().map(of);
        [shown(mean(judged().filter_map(Judged::share).collect())), shown(mean(judged().map(Judged::ratio).collect()))]
    };
    let means = [mean(&|verdict| &verdict.across), mean(&|verdict| &verdict.nearest), mean(&|verdict| &verdict.without_inputs)];
    table.add_row(["mean".to_owned(), String::new()].into_iter().chain(means.into_iter().flatten()));
    terminal::print(table)
}
