//! Pages about runs.

use roxmltree::{Document, Node, ParsingOptions};
use warpsmith::design_rules::{
    About, Dag, LabelOptions, LearnOptions, Model, Run, Runs, Schedule, Span, Timeline, TraversalTable, programs, report,
    schedule::Schedules,
};

/// Every so many schedules, and the times that a formula gives them.
fn runs(dag: &Dag, every: usize, time: impl Fn(usize, &Schedule) -> f64) -> Runs {
    let schedules = Schedules::new(dag, 2).unwrap().step_by(every).enumerate();
    let run = |(index, schedule): (usize, Schedule)| Run {
        seconds: time(index, &schedule),
        traversal: schedule.text(dag).parse().unwrap(),
    };
    let about = About {
        input: "an input".to_owned(),
        platform: "a platform".to_owned(),
        ranks: 2,
        streams: 2,
        search: "mcts".to_owned(),
        seed: 7,
        space: Some("5390".to_owned()),
        ..About::program(dag)
    };
    Runs { about, runs: schedules.map(run).collect() }
}

/// One step per microsecond, on each of this many ranks.
fn timeline(run: &Run, ranks: usize) -> Timeline {
    let span = |(index, rank): (usize, usize), stream| {
        let start = 1e-6 * index as f64;
        Span { name: run.traversal.steps()[index].name.clone(), rank, stream, start, end: start + 1e-6 }
    };
    let steps = run.traversal.steps();
    let places = (0..ranks).flat_map(|rank| (0..steps.len()).map(move |index| (index, rank)));
    let spans = places.flat_map(|place| {
        let stream = steps[place.0].bound();
        [Some(span(place, None)), stream.map(|stream| span(place, Some(stream)))].into_iter().flatten()
    });
    Timeline { spans: spans.collect() }
}

fn learn(runs: &Runs, percentile: f64) -> Model {
    let table = TraversalTable::new(runs.runs.iter().map(|run| &run.traversal));
    let options = LearnOptions { labels: LabelOptions { percentile, ..LabelOptions::default() }, ..LearnOptions::default() };
    Model::learn_all(&table, &runs.times(), &options).unwrap()
}

#[track_caller]
fn parse(page: &str) -> Document<'_> {
    Document::parse_with_options(page, ParsingOptions { allow_dtd: true, ..ParsingOptions::default() }).unwrap()
}

fn classed<'a>(document: &'a Document<'a>, class: &'a str) -> impl Iterator<Item = Node<'a, 'a>> {
    document.descendants().filter(move |node| node.attribute("class").is_some_and(|all| all.split(' ').any(|one| one == class)))
}

fn all_text(node: Node<'_, '_>) -> String {
    node.descendants().filter_map(|node| node.text().filter(|_| node.is_text())).collect()
}

/// What holds for every page.
#[track_caller]
fn check(page: &str, runs: &Runs, model: &Model) {
    assert!(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\"") && page.len() < 1_000_000, "{}", page.len());
    let document = parse(page);
    // Nothing is loaded from anywhere: links lead to places in the page, and there is nothing else that names a
    // resource.
    let ids: Vec<_> = document.descendants().filter_map(|node| node.attribute("id")).collect();
    for node in document.descendants() {
        for attribute in node.attributes() {
            match attribute.name() {
                "href" => assert!(ids.contains(&attribute.value().strip_prefix('#').unwrap())),
                "src" | "srcset" | "data" | "action" | "poster" => panic!("{}", attribute.name()),
                "aria-labelledby" => assert!(attribute.value().split(' ').all(|id| ids.contains(&id)), "{}", attribute.value()),
                _ => {}
            }
        }
        assert!(!["link", "iframe", "object", "embed", "img", "image", "use"].contains(&node.tag_name().name()));
    }
    let addresses = [page.matches("://").count(), page.matches("xmlns=\"http://www.w3.org/").count()];
    assert!(!page.contains("url(") && !page.contains("@import") && addresses[0] == addresses[1], "{addresses:?}");
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), ids.len(), "an id stands twice");
    for id in ["times", "schedules", "rules", "tree", "labelling", "training", "reading"] {
        assert!(ids.contains(&id), "{id}");
    }
    // Drawings say what they show, and tables, too.
    for svg in document.descendants().filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "svg"))) {
        let has = |name: &str| svg.children().any(|node| node.tag_name().name() == name && !all_text(node).is_empty());
        assert!(has("title") && has("desc"));
    }
    for table in document.descendants().filter(|node| node.tag_name().name() == "table") {
        assert!(table.children().any(|node| node.tag_name().name() == "caption"));
    }
    // A card for each set of rules, with all its sentences; a row for each class, and each step of both schedules.
    let cards: Vec<_> =
        classed(&document, "sets").flat_map(|list| list.children().filter(Node::is_element)).map(all_text).collect();
    assert_eq!(cards.len(), model.rules.all().len());
    for (card, set) in cards.iter().zip(model.rules.all()) {
        assert!(set.rules.iter().all(|rule| card.contains(&rule.to_string())), "{card}");
        assert_eq!(card.contains("insufficient rules"), !set.is_sufficient());
    }
    let rows: Vec<usize> = document
        .descendants()
        .filter(|node| node.tag_name().name() == "tbody")
        .map(|body| body.children().filter(Node::is_element).count())
        .collect();
    let steps = |run: Option<&Run>| run.unwrap().traversal.steps().len();
    assert_eq!(rows, [model.labels.count(), steps(runs.fastest()), steps(runs.slowest())]);
    // No number went wrong.
    assert!(!page.contains("NaN") && !page.contains("inf"), "a number is none");
}

#[test]
fn three_classes_with_timelines() {
    let dag = programs::spmv::dag();
    let pack = dag.find("Pack").unwrap();
    // Three levels, by what can be told from features.
    let time = |_, schedule: &Schedule| {
        let place =
            schedule.steps().iter().position(|step| matches!(step, warpsmith::design_rules::Step::Gpu { op, .. } if *op == pack));
        1e-4 * (1.0 + 0.2 * place.unwrap_or(0).min(2) as f64)
    };
    let mut runs = runs(&dag, 10, time);
    runs.about.fastest = Some(timeline(runs.fastest().unwrap(), 20));
    runs.about.slowest = Some(timeline(runs.slowest().unwrap(), 2));
    let model = learn(&runs, 0.0);
    assert_eq!(model.labels.count(), 3);
    let page = report::page(&runs, &model);
    check(&page, &runs, &model);
    let document = parse(&page);
    let text = all_text(document.root());
    for part in ["539", "of 5,390: 10.0 %", "100.0 µs", "tree search", "seed 7", "an input", "a platform"] {
        assert!(text.contains(part), "{part}");
    }
    // Of 20 ranks some are drawn: the last to be done, which all are, and seven more. Each step has a bar, and is
    // named.
    let lanes: Vec<_> = classed(&document, "lanes").collect();
    assert_eq!(lanes.len(), 8 + 2);
    for lane in &lanes {
        let bars = lane.descendants().filter(|node| node.tag_name().name() == "rect").count();
        let names = lane.descendants().filter(|node| matches!(node.attribute("class"), Some("in" | "out"))).count();
        assert!(bars == names && bars > 12, "{bars} {names}");
    }
    // The tree has its nodes, or the first of them.
    let trees: Vec<_> = classed(&document, "tree").map(|tree| classed_in(tree, "face")).collect();
    assert_eq!(trees.last(), Some(&model.search.tree.nodes().len()));
}

fn classed_in(node: Node<'_, '_>, class: &str) -> usize {
    node.descendants().filter(|node| node.attribute("class").is_some_and(|all| all.split(' ').any(|one| one == class))).count()
}

#[test]
fn a_large_space_makes_no_large_page() {
    let dag = programs::spmv::dag();
    // Times without a rule behind them, so that the tree gets as large as it may.
    let scattered = |index: usize| (index as f64 * 0.618_033_988_749_894_9).fract();
    let runs = runs(&dag, 1, |index, _| 1e-4 * (1.0 + scattered(index)));
    assert_eq!(runs.runs.len(), 5390);
    let model = learn(&runs, 98.0);
    check(&report::page(&runs, &model), &runs, &model);
}

#[test]
fn many_classes_and_one() {
    let dag = programs::spmv::dag();
    let levels = runs(&dag, 50, |index, _| 1e-3 * (1.0 + (index % 11) as f64) + 1e-9 * index as f64);
    let model = learn(&levels, 0.0);
    assert!(model.labels.count() > 10);
    let page = report::page(&levels, &model);
    check(&page, &levels, &model);

    // Without a peak there is one class, and without a feature one leaf.
    let small = Dag::builder("small").gpu("a").gpu("b").cpu("c").build().unwrap();
    let line = runs(&small, 1, |index, _| 1.0 + index as f64);
    let model = learn(&line, 98.0);
    assert_eq!((model.labels.count(), model.search.tree.leaves()), (1, 1));
    let page = report::page(&line, &model);
    check(&page, &line, &model);
    assert!(page.contains("any schedule") && page.contains("without traces"));
    // Of no time at all.
    let nothing = runs(&small, 1, |_, _| 0.0);
    check(&report::page(&nothing, &learn(&nothing, 98.0)), &nothing, &learn(&nothing, 98.0));
}

#[test]
fn what_is_said_of_runs_is_escaped() {
    let dag = Dag::builder("<b>&").gpu("größe").gpu("x.1").cpu("y").edge("größe", "y").build().unwrap();
    let mut runs = runs(&dag, 1, |index, _| 1.0 + (index % 2) as f64);
    runs.about.input = "</style><script>alert(1)</script>".to_owned();
    runs.about.platform = "\"quotes\" & 'more'\u{0}".to_owned();
    runs.about.search = "<i>".to_owned();
    runs.about.space = Some("<u>".to_owned());
    let model = learn(&runs, 98.0);
    let page = report::page(&runs, &model);
    check(&page, &runs, &model);
    let document = parse(&page);
    let scripts = document.descendants().filter(|node| node.tag_name().name() == "script").count();
    let text = all_text(document.root());
    assert!(scripts == 1 && text.contains("alert(1)") && text.contains("\"quotes\" & 'more'\u{fffd}"));
}
