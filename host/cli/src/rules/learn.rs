//! `warpsmith rules learn`.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use clap::Args;
use serde::Serialize;
use warpsmith::design_rules::{
    About, Class, Model, Ruleset, Runs, SpaceComparison,
    learn::{
        labels::ClassSummary,
        rules::{Advice, Comparison, Effect, Gain, Mark, MeasuredRows, Recommendation, Verdict, imperative},
        tree::{DecisionTree, TreeSearch},
    },
    measure::Origin,
    program_of,
};

use super::learning::Learning;
use crate::{failure::Failure, format, terminal};

/// Number of rulesets of a class that are shown, as in the paper's tables.
const SHOWN: usize = 3;

#[derive(Args, Debug)]
#[command(
    long_about = "Learn rules from runs: group them into classes by time, grow a decision tree that tells the classes apart, and derive \
        what the fastest runs have in common.\n\n\
        Classes are the peaks of the density of the times; class 1 is the fastest. Cross-validation chooses the size of the tree. A \
        few rules set class 1 apart, each with its gain and a 95 % interval. --second measures these gains again by other runs.\n\n\
        --full grows the tree as in the paper, with as many leaves as lower its training error, and prints all rules of all classes. A \
        schedule that follows all rules of a set is in the class. `insufficient rules` marks sets that runs of other classes follow, \
        too. --labels paper also takes the paper's classes.\n\n\
        With --against, FULL.CSV has the whole space, and the runs are part of it. The rules predict the class of each schedule: the class \
        accuracy is the share whose time is in the range of that class. The rules of the whole space are canonical, and those of the part \
        are shown beside them: + marks rules that no canonical one asks for, - missing rules, ! contradictory rules.\n\n\
        Several RUNS.CSV are runs of one program with several inputs. One tree is then learned for all, with limits of the numbers that \
        describe the inputs: those in the files, and those of --inputs. --against names runs of unseen inputs.",
    after_help = "Examples:\n  \
        warpsmith rules learn runs.csv\n  \
        warpsmith rules learn runs.csv --second more.csv       do the rules hold in other runs?\n  \
        warpsmith rules learn runs.csv --labels paper --percentile 99      as the paper's authors\n  \
        warpsmith rules learn runs.csv --criterion entropy --max-leaf-nodes 6\n  \
        warpsmith rules learn runs.csv --against full.csv      how well they hold in the whole space\n  \
        warpsmith rules learn a.csv b.csv c.csv --inputs table.csv --against unseen.csv\n  \
        warpsmith rules learn runs.csv --json                  the tree and the rules as one JSON object; times in s"
)]
pub struct LearnArgs {
    /// Runs that `warpsmith rules explore` wrote; several are of one program with several inputs
    #[arg(value_name = "RUNS.CSV", required = true)]
    pub runs: Vec<PathBuf>,
    /// Runs of the whole space, to compare the rules with; with several RUNS.CSV, runs of unseen inputs
    #[arg(long, value_name = "FULL.CSV", num_args = 1..)]
    pub against: Vec<PathBuf>,
    /// Numbers that describe the input of each RUNS.CSV, with several of them: a table whose first column names the files
    #[arg(long, value_name = "TABLE.CSV")]
    pub inputs: Option<PathBuf>,
    /// With several RUNS.CSV, the most classes of each [default: the number that all have]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..))]
    pub classes: Option<u16>,
    /// Independent runs of the same program, to test the rules
    #[arg(long, value_name = "RUNS.CSV")]
    pub second: Option<PathBuf>,
    #[command(flatten)]
    pub learning: Learning,
    /// Print one JSON object instead of tables
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Object<'a> {
    system: &'static str,
    command: &'static str,
    input_file: String,
    #[serde(flatten)]
    origin: Origin<'a>,
    runs: usize,
    noise: Option<f64>,
    classes: &'a [ClassSummary],
    features: usize,
    leaves: Option<usize>,
    depth: Option<usize>,
    error: Option<f64>,
    tree_search: Option<&'a TreeSearch>,
    rules: &'a [Ruleset],
    advice: Option<&'a Advice>,
    /// The same advice, measured by the second runs.
    second: Option<&'a Advice>,
    against: Option<&'a Against>,
}

/// The comparison with the whole space.
#[derive(Serialize)]
struct Against {
    input_file: String,
    /// `None` if there is only one class on either side.
    #[serde(flatten)]
    comparison: Option<SpaceComparison>,
    /// The reason why the whole space has no classes.
    #[serde(skip)]
    without: Option<String>,
}

pub fn run(arguments: &LearnArgs) -> Result<(), Failure> {
    let (path, against) = match (&arguments.runs[..], &arguments.against[..]) {
        ([path], []) if arguments.inputs.is_none() => (path, None),
        ([path], [against]) if arguments.inputs.is_none() => (path, Some(against)),
        _ => return super::across::run(arguments),
    };
    if arguments.classes.is_some() {
        return Err(Failure::error("--classes is for the runs of several inputs"));
    }
    let runs = Runs::read(path)?.merged();
    let (_, model) = arguments.learning.learn(path, &runs)?;
    let full = against.map(|path| compare(arguments, path, &runs, &model)).transpose()?;
    let second = arguments.second.as_deref().map(|path| again(arguments, path, &runs, &model)).transpose()?.flatten();
    let classes = model.labels.summary();
    let tree = model.search.as_ref().map(|search| &search.tree);
    if arguments.json {
        return terminal::print_json(&Object {
            system: "rules",
            command: "learn",
            input_file: path.display().to_string(),
            origin: runs.about.origin(),
            runs: runs.runs.len(),
            noise: runs.about.noise,
            classes: &classes,
            features: model.features.features().len(),
            leaves: tree.map(DecisionTree::leaves),
            depth: tree.map(DecisionTree::depth),
            error: tree.map(DecisionTree::training_error),
            tree_search: model.search.as_ref(),
            rules: model.rules.all(),
            advice: model.advice.as_ref(),
            second: second.as_ref(),
            against: full.as_ref(),
        });
    }
    print(&runs, &model, &classes, arguments.learning.is_full())?;
    match &model.advice {
        Some(advice) => advise(&runs.about, advice, second.as_ref(), "To be fast (class 1):")?,
        None => terminal::print(format_args!("\n{}", model.without_advice(runs.about.noise).unwrap_or_default()))?,
    }
    full.as_ref().map_or(Ok(()), |full| full.print(runs.runs.len()))
}

/// Measures the advice by second runs, classified in the same way.
fn again(arguments: &LearnArgs, path: &Path, runs: &Runs, model: &Model) -> Result<Option<Advice>, Failure> {
    let second = Runs::read(path)?.merged();
    same_program(&arguments.runs[0], runs, path, &second)?;
    let (table, theirs) = arguments.learning.learn(path, &second)?;
    let (rows, times) = ((0..table.len()).collect::<Vec<_>>(), second.times());
    Ok(model.advice.as_ref().map(|advice| advice.again(theirs.labels.classes(), &MeasuredRows::new(&table, &rows, &times))))
}

/// Compares the model with that of the whole space.
fn compare(arguments: &LearnArgs, path: &Path, runs: &Runs, model: &Model) -> Result<Against, Failure> {
    let full = Runs::read(path)?.merged();
    let first = &arguments.runs[0];
    same_program(first, runs, path, &full)?;
    let (ours, theirs) = (&runs.about, &full.about);
    let lacks = |theirs: &str, ours: &str| {
        let (path, first) = (path.display(), first.display());
        Err(Failure::error(format_args!(
            "{path}: its schedules are {theirs}, and those of {first} {ours}: it hasn't all of them"
        )))
    };
    if theirs.streams < ours.streams {
        return lacks(&format!("on {}", format::counted(theirs.streams, "stream", "streams")), &format!("on {}", ours.streams));
    }
    if theirs.named_space != ours.named_space {
        return lacks(&format!("of the space `{}`", theirs.named_space.name()), &format!("of `{}`", ours.named_space.name()));
    }
    let (table, canonical) = arguments.learning.learn(path, &full)?;
    let comparison = SpaceComparison::of(model, &canonical, &table, &full.times())?;
    let without = canonical.without_advice(full.about.noise).filter(|_| canonical.search.is_none());
    Ok(Against { input_file: path.display().to_string(), comparison, without })
}

/// Checks that both files are about one program.
pub fn same_program(first: &Path, runs: &Runs, second: &Path, others: &Runs) -> Result<(), Failure> {
    if runs.about.signature == others.about.signature {
        return Ok(());
    }
    let (ours, theirs) = (&runs.about.program, &others.about.program);
    let of = if ours == theirs { format!("another version of `{ours}`") } else { format!("the program `{theirs}`") };
    Err(Failure::error(format_args!("{} has runs of {of}, and {} of `{ours}`", second.display(), first.display())))
}

fn print(runs: &Runs, model: &Model, classes: &[ClassSummary], full: bool) -> Result<(), Failure> {
    let about = &runs.about;
    let schedules = match about.space.as_deref() {
        Some(space) => format!("{} of {} schedules", format::grouped(runs.runs.len()), format::grouped_digits(space)),
        None => format::counted(runs.runs.len(), "schedule", "schedules"),
    };
    let known = [&about.program, &about.platform].map(String::as_str).into_iter().filter(|text| !text.is_empty());
    let known = known.collect::<Vec<_>>().join(", ");
    terminal::print(format_args!("{known}{}{schedules}.", if known.is_empty() { "" } else { ": " }))?;
    let mut table = terminal::table(["class", "runs", "fastest", "slowest", "of the fastest"], 0..5);
    let best = model.labels.sorted()[0];
    for row in classes {
        table.add_row([
            row.class.to_string(),
            format::grouped(row.runs),
            format::seconds(row.fastest),
            format::seconds(row.slowest),
            if best > 0.0 { format!("{:.3} to {:.3}", row.fastest / best, row.slowest / best) } else { String::new() },
        ]);
    }
    terminal::print(table)?;
    let Some(TreeSearch { tree, .. }) = &model.search else { return Ok(()) };
    terminal::print(format_args!(
        "A tree of {} and depth {}, from {}: training error {:.2} %.",
        format::counted(tree.leaves(), "leaf", "leaves"),
        tree.depth(),
        format::counted(model.features.features().len(), "feature", "features"),
        100.0 * tree.training_error()
    ))?;
    for class in model.labels.all().filter(|_| full) {
        terminal::print(format_args!("\nClass {class}"))?;
        let mut sets = model.rules.of_class(class).peekable();
        if sets.peek().is_none() {
            terminal::print("  no rules lead to it")?;
        }
        sets.try_for_each(print_set)?;
    }
    Ok(())
}

/// Prints the advice on the fastest class.
pub fn advise(about: &About, advice: &Advice, second: Option<&Advice>, title: &str) -> Result<(), Failure> {
    let dag = program_of(about).ok();
    let sentences = |point: &Recommendation| {
        let all = point.rules.iter().map(|rule| imperative(rule, dag.as_ref()));
        all.collect::<Vec<_>>().join(", and ")
    };
    let worth = |point: &Effect, with: &str, again: Option<&Effect>| {
        let gain = point.gain.map_or("too few runs to say how much faster".to_owned(), |gain| faster(&gain));
        let [members, of_members] = point.members;
        let all = if members == of_members {
            format!("all {} do", format::counted(members, "run of class 1", "runs of class 1"))
        } else {
            format!("{} of {} do", format::grouped(members), format::counted(of_members, "run of class 1", "runs of class 1"))
        };
        let others = point.others[0] as f64 / point.others[1].max(1) as f64;
        let holds = again.map_or(String::new(), |again| match again.gain {
            Some(gain) if gain.is_certain() => format!("; holds in the second runs: {}", faster(&gain)),
            Some(gain) => format!("; doesn't hold in the second runs: {}", faster(&gain)),
            None => "; too few second runs to say whether it holds".to_owned(),
        });
        format!("{with}{gain}; {all}, of the others {}{holds}", format::percent(others))
    };
    let again = |place: usize| second.and_then(|second| second.points().nth(place)).map(|point| &point.effect);
    terminal::print(format_args!("\n{title}"))?;
    for (place, point) in advice.shared.iter().enumerate() {
        let with = if place > 0 { "with the rules above, " } else { "" };
        terminal::print(format_args!("  - {}:\n      {}", sentences(point), worth(&point.effect, with, again(place))))?;
    }
    if !advice.alternatives.is_empty() {
        let and = if advice.shared.is_empty() { "" } else { "and " };
        terminal::print(format_args!("  {and}one of these:"))?;
    }
    for (place, point) in advice.alternatives.iter().enumerate() {
        let with = if advice.shared.is_empty() { "" } else { "with the shared rules, " };
        let text = worth(&point.effect, with, again(advice.shared.len() + place));
        terminal::print(format_args!("  - {}:\n      {text}", sentences(point)))?;
    }
    if advice.shared.len() + advice.alternatives.len() > 1 {
        terminal::print(format_args!("  All of it: {}", worth(&advice.all, "", second.map(|second| &second.all))))?;
    }
    Ok(())
}

/// Formats a gain or a loss, with its interval.
fn faster(gain: &Gain) -> String {
    let (sign, word) = if gain.share < 0.0 { (-1.0, "slower") } else { (1.0, "faster") };
    let percent = |share: f64| format!("{:.1}", 100.0 * sign * share);
    let mut ends = gain.interval.map(|end| sign * end);
    ends.sort_by(f64::total_cmp);
    let [low, high] = ends.map(|end| format!("{:.1}", 100.0 * end));
    format!("{} % {word} ({low} to {high}), {}", percent(gain.share), format::seconds(sign * gain.seconds))
}

/// Prints a set of rules, one per line.
pub fn print_set(set: &Ruleset) -> Result<(), Failure> {
    let insufficient = if set.is_sufficient() {
        String::new()
    } else {
        format!(", insufficient rules: {:.1} % are of other classes", 100.0 * (1.0 - set.purity))
    };
    terminal::print(format_args!("  {}{insufficient}", format::counted(set.samples, "sample", "samples")))?;
    if set.rules.is_empty() {
        terminal::print("    any schedule")?;
    }
    set.rules.iter().try_for_each(|rule| terminal::print(format_args!("    {rule}")))
}

impl Against {
    fn print(&self, runs: usize) -> Result<(), Failure> {
        let Some(SpaceComparison { runs: all, accuracy, within, rules, compared, .. }) = &self.comparison else {
            let text = self.without.as_ref().map(|text| format!("\n{}: {text}", self.input_file));
            return text.map_or(Ok(()), terminal::print);
        };
        terminal::print(format_args!(
            "\nIn all {} of {}: class accuracy {accuracy:.3} ({}).",
            format::counted(*all, "run", "runs"),
            self.input_file,
            format::counted(*within, "schedule", "schedules")
        ))?;
        let names = ["class", "rulesets", "consistent", "overconstrained", "underconstrained", "contradictory", "unmatched"];
        let verdicts = [
            Verdict::Consistent,
            Verdict::Overconstrained,
            Verdict::Underconstrained,
            Verdict::Contradictory,
            Verdict::Unmatched,
        ];
        let mut table = terminal::table(names, 0..names.len());
        let classes: BTreeSet<_> =
            rules.all().iter().chain(compared.iter().map(|found| &found.ruleset)).map(|set| set.class).collect();
        let of_class = |class| compared.iter().filter(move |found| found.ruleset.class == class);
        for &class in &classes {
            let count = |verdict| of_class(class).filter(|found| found.verdict == verdict).count();
            let head = [class.to_string(), of_class(class).count().to_string()];
            table.add_row(head.into_iter().chain(verdicts.map(|verdict| count(verdict).to_string())));
        }
        terminal::print(table)?;
        let titles = [runs, *all].map(|runs| format::counted(runs, "run", "runs"));
        classes.into_iter().try_for_each(|class| {
            let ours = of_class(class).map(|found| cell_lines(&found.ruleset, Some(found))).collect();
            let canonical = rules.of_class(class).map(|ruleset| cell_lines(ruleset, None)).collect();
            print_beside(class, &titles, [ours, canonical])
        })
    }
}

/// Prints the largest rulesets of a class beside the canonical ones, with a line for each rule.
fn print_beside(class: Class, titles: &[String; 2], columns: [Vec<Vec<String>>; 2]) -> Result<(), Failure> {
    let most = columns.iter().map(Vec::len).max().unwrap_or(0);
    let largest = if most > SHOWN { ", the three that most runs follow" } else { "" };
    terminal::print(format_args!("\nRulesets of class {class}{largest}"))?;
    let mut table = terminal::table(titles.iter().map(String::as_str), []);
    for row in 0..SHOWN.min(most) {
        if row > 0 {
            table.add_row(["", ""]);
        }
        let cells = columns.each_ref().map(|column| column.get(row).map_or(&[][..], Vec::as_slice));
        for line in 0..cells[0].len().max(cells[1].len()) {
            table.add_row(cells.map(|lines| lines.get(line).map_or("", String::as_str)));
        }
    }
    terminal::print(table)
}

/// Returns a ruleset's lines: `+` marks extraneous rules, `!` contradictory ones, `-` missing ones.
fn cell_lines(ruleset: &Ruleset, comparison: Option<&Comparison>) -> Vec<String> {
    let sign = |index: usize| match comparison.map(|comparison| comparison.marks[index]) {
        Some(Mark::Extraneous) => "+ ",
        Some(Mark::Contradictory) => "! ",
        _ => "",
    };
    let marked = ruleset.rules.iter().enumerate().map(|(index, rule)| format!("{}{rule}", sign(index)));
    let any = ruleset.rules.is_empty().then(|| "any schedule".to_owned());
    let missing = comparison.iter().flat_map(|comparison| &comparison.missing).map(|rule| format!("- {rule}"));
    let insufficient = (!ruleset.is_sufficient()).then(|| "insufficient rules".to_owned());
    marked.chain(any).chain(missing).chain(insufficient).collect()
}
