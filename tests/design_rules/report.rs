//! Pages about runs.

use roxmltree::{Document, Node, ParsingOptions};
use rquickjs::{Context, Runtime};
use serde_json::{Value, json};
use warpsmith::design_rules::{
    About, Dag, LabelOptions, LearnOptions, Model, Run, Runs, Schedule, Span, Timeline, TraversalTable, programs, report,
    schedule::Schedules,
};

/// Every so many schedules, and the times that a formula gives them.
fn runs(dag: &Dag, every: usize, time: impl Fn(usize, &Schedule) -> f64) -> Runs {
    let schedules = Schedules::new(dag, 2).unwrap().step_by(every).enumerate();
    let run = |(index, schedule): (usize, Schedule)| Run::new(time(index, &schedule), schedule.text(dag).parse().unwrap());
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
    Runs { about, runs: schedules.map(run).collect(), failed: Vec::new() }
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
    let options = LearnOptions { labels: LabelOptions::Paper { radius: None, percentile }, ..LearnOptions::PAPER };
    Model::learn_all(&table, &runs.times(), &options).unwrap()
}

#[track_caller]
fn parse(page: &str) -> Document<'_> {
    Document::parse_with_options(page, ParsingOptions { allow_dtd: true, ..ParsingOptions::default() }).unwrap()
}

fn classed<'a>(node: Node<'a, 'a>, class: &'a str) -> impl Iterator<Item = Node<'a, 'a>> {
    node.descendants().filter(move |node| node.attribute("class").is_some_and(|all| all.split(' ').any(|one| one == class)))
}

fn all_text(node: Node<'_, '_>) -> String {
    node.descendants().filter_map(|node| node.text().filter(|_| node.is_text())).collect()
}

/// The text of the page's element that starts so.
fn element<'a>(page: &'a str, start: &str) -> &'a str {
    let (_, rest) = page.split_once(start).unwrap();
    rest.split_once("</script>").unwrap().0
}

/// Evaluates an expression in the page's script, as JSON.
fn evaluate(page: &str, expression: &str) -> Value {
    let source = format!("{};JSON.stringify({expression})", element(page, "<script id=\"draw\">"));
    let context = Context::full(&Runtime::new().unwrap()).unwrap();
    context.with(|context| match context.eval::<String, _>(source) {
        Ok(text) => serde_json::from_str(&text).unwrap(),
        Err(_) => panic!("{:?}", context.catch()),
    })
}

/// Runs the page's script and returns the drawing.
fn draw(page: &str) -> String {
    let data = element(page, "<script type=\"application/json\" id=\"data\">");
    let drawn = evaluate(page, &format!("page({data})"));
    format!("<body>{}</body>", drawn.as_str().unwrap())
}

/// Checks what must hold for every page, and returns the drawing.
#[track_caller]
fn check(page: &str, runs: &Runs, model: &Model) -> String {
    assert!(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\"") && page.len() < 1_000_000, "{}", page.len());
    // The data, what draws, and what calls it: no text of the data ends its element, or begins another.
    assert_eq!([page.matches("<script").count(), page.matches("</script").count()], [3, 3]);
    assert!(!page.contains("<!--") && !page.contains("{{data}}"));
    let drawn = draw(page);
    let document = parse(&drawn);
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
        assert!(!["script", "link", "iframe", "object", "embed", "img", "image", "use"].contains(&node.tag_name().name()));
    }
    let addresses = [page.matches("://").count(), page.matches("xmlns=\"http://www.w3.org/").count()];
    assert!(!page.contains("url(") && !page.contains("@import") && addresses[0] == addresses[1], "{addresses:?}");
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), ids.len(), "an id stands twice");
    for id in ["answer", "times", "schedules", "labelling", "reading"] {
        assert!(ids.contains(&id), "{id}");
    }
    for id in ["rules", "tree", "training"] {
        assert_eq!(ids.contains(&id), model.search.is_some(), "{id}");
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
        classed(document.root(), "sets").flat_map(|list| list.children().filter(Node::is_element)).map(all_text).collect();
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
    assert_eq!(rows, [steps(runs.fastest()), steps(runs.slowest()), model.labels.count()]);
    // No number went wrong.
    assert!(!["NaN", "Infinity", "undefined", "null"].iter().any(|word| drawn.contains(word)), "a number is none");
    drawn
}

#[test]
fn three_classes_with_timelines() {
    let dag = programs::spmv::dag();
    let pack = dag.find("Pack").unwrap();
    // Three levels that features can tell apart.
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
    // By default, with the answer first.
    let table = TraversalTable::new(runs.runs.iter().map(|run| &run.traversal));
    let default = Model::learn_all(&table, &runs.times(), &LearnOptions::default()).unwrap();
    assert_eq!(default.labels.count(), 3);
    let page = check(&report::page(&runs, &default), &runs, &default);
    let shown = all_text(parse(&page).root());
    assert!(shown.contains("launch Pack before") && shown.contains("% faster") && shown.contains("Bayesian Blocks"), "{shown}");
    assert!(page.contains("class=\"differs\""));
    let drawn = check(&report::page(&runs, &model), &runs, &model);
    let document = parse(&drawn);
    let text = all_text(document.root());
    for part in ["539", "of 5,390: 10.0 %", "100.0 µs", "tree search", "seed 7", "an input", "a platform"] {
        assert!(text.contains(part), "{part}");
    }
    // Eight of the 20 ranks are drawn: the last to finish (here all of them) and seven others. Each
    // step has a bar and a name.
    let lanes: Vec<_> = classed(document.root(), "lanes").collect();
    assert_eq!(lanes.len(), 8 + 2);
    for lane in &lanes {
        let bars = lane.descendants().filter(|node| node.tag_name().name() == "rect").count();
        let names = lane.descendants().filter(|node| matches!(node.attribute("class"), Some("in" | "out"))).count();
        assert!(bars == names && bars > 12, "{bars} {names}");
    }
    // The tree has its nodes, or the first of them.
    let trees: Vec<_> = classed(document.root(), "tree").map(|tree| classed(tree, "face").count()).collect();
    assert_eq!(trees.last(), Some(&model.search.unwrap().tree.nodes().len()));
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
    check(&report::page(&levels, &model), &levels, &model);

    // Without a peak there is one class.
    let small = Dag::builder("small").gpu("a").gpu("b").cpu("c").build().unwrap();
    let line = runs(&small, 1, |index, _| 1.0 + index as f64);
    let model = learn(&line, 98.0);
    assert_eq!(model.labels.count(), 1);
    let drawn = check(&report::page(&line, &model), &line, &model);
    assert!(drawn.contains("No classes could be told apart: the noise is unknown.") && drawn.contains("without traces"));
    // Some take no time at all.
    let nothing = runs(&small, 1, |index, _| (index % 2) as f64);
    let table = TraversalTable::new(nothing.runs.iter().map(|run| &run.traversal));
    let model = Model::learn_all(&table, &nothing.times(), &LearnOptions::default()).unwrap();
    assert_eq!(model.labels.count(), 2);
    check(&report::page(&nothing, &model), &nothing, &model);
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
    let drawn = check(&report::page(&runs, &model), &runs, &model);
    let text = all_text(parse(&drawn).root());
    for part in [&*runs.about.input, "\"quotes\" & 'more'\u{fffd}", "<b>&", "<i>", "of <u>", "größe"] {
        assert!(text.contains(part), "{part}");
    }
}

#[test]
fn what_the_script_says() {
    let small = Dag::builder("small").gpu("a").gpu("b").cpu("c").build().unwrap();
    let runs = runs(&small, 1, |index, _| 1.0 + index as f64);
    let page = report::page(&runs, &learn(&runs, 98.0));
    let says = |expression: &str, expected: Value| assert_eq!(evaluate(&page, expression), expected, "{expression}");
    says(
        "[1.5, 0.9, 4.53e-5, 2e-9, 0].map(seconds => time(seconds))",
        json!(["1.500 s", "900.0 ms", "45.30 µs", "2.000 ns", "0.000 ns"]),
    );
    // At most four digits, wherever rounding leads.
    says(
        "[0.99994e-3, 0.99996e-3, 9.9996e-5, 999.96, 12345, 1e7, 1.2e-10].map(seconds => time(seconds))",
        json!(["999.9 µs", "1.000 ms", "100.0 µs", "1,000 s", "12,350 s", "10,000,000 s", "0.120 ns"]),
    );
    says("[0.0123456, 999.7e-9].map(seconds => time(seconds, 3))", json!(["12.3 ms", "1.00 µs"]));
    says(
        "(({ low, high, wanted }) => ticks(low, high, wanted).map(([, text]) => text))(around([100, 100.0001], '', 6))",
        json!(["99.0", "99.5", "100.0", "100.5", "101.0"]),
    );
    says("[0, 0.0001, 0.1234, 0.9999, 1].map(percent)", json!(["0 %", "0.01 %", "12.3 %", "> 99.9 %", "100 %"]));
    says("['5390', '187464405585600000', '<u>', ''].map(short)", json!(["5,390", "1.87·10¹⁷", "<u>", ""]));
    says("[counted(1, 'run'), counted(1234567, 'run')]", json!(["1 run", "1,234,567 runs"]));
    says("[0, -0.001, 1.5, 2, 1 / 3, 120].map(px)", json!(["0", "0", "1.5", "2", "0.33", "120"]));
    says("ticks(0, 20000, 5).map(([, text]) => text)", json!(["0", "5,000", "10,000", "15,000", "20,000"]));
    says("ticks(0.97, 1.03, 4).map(([, text]) => text)", json!(["0.98", "1.00", "1.02"]));
    says("ticks(2, 5, 8, true).map(([, text]) => text)", json!(["2", "3", "4", "5"]));
    says("[around([1, 100]).low, around([]).high, around([3, 3]).high > 3]", json!([0, 1, true]));
    // A narrow band has no label, unless it is the last.
    says(
        "chart('id', 100, 'title', 'words', axis(0, 100, 'x'), axis(0, 1, 'y'), [[0, 98], [98, 99], [99, 100]]
            .map(([from, to], index) => ({ draw: 'band', from, to, kind: '', name: `class ${index + 1}`, last: to === 100 })))
            .text.match(/class=\"over\"[^<]*/g).map(text => text.replace(/.*>/, ''))",
        json!(["class 1", "3"]),
    );
    says("wrap('CES-b4-PostSend before y_L?', 23)", json!(["CES-b4-PostSend before", "y_L?"]));
    says("wrap('abcdefgh ij', 5)", json!(["abcde", "fgh", "ij"]));
    says(
        "[['a', 1], ['Inner=tiles', null], ['CER-after-a', null], ['CES-b4-b', null], ['CSWE-b4-c-after-a', 0], ['b', null]]
            .map(([name, stream]) => explain({ name, stream }))",
        json!(["stream 1", "choice", "event behind a", "host waits", "stream 0 waits for a", "host"]),
    );
    // Names keep out of each other's way: each begins after the end of those to its left in its line.
    says(
        "lanesOf([['a_long_name_indeed', 0, 2], ['another_one', 3, 4], ['fits', 5, 200], ['x', 201, 202], ['y', 400, 401]]
            .map(([name, start, end]) => ({ name, start, end, stream: null })), { longest: 500, width: 500 })[0].bars.map(bar => bar.line)",
        json!([1, 0, -1, 0, 0]),
    );
    // Four leaves and a half beside each other, no two of a row nearer than a gap, and parents in the middle.
    let nodes = "[[1, 2], [3, 4], [7, 8], [], [5, 6], [], [], [], []].map(children => ({ children }))";
    let placed = evaluate(&page, &format!("(nodes => [place(nodes), nodes])({nodes})"));
    let number = |node: usize, name: &str| placed[1][node][name].as_f64().unwrap();
    assert_eq!([0, 1, 2, 3, 4, 5, 6, 7, 8].map(|node| number(node, "depth")), [0., 1., 1., 2., 2., 3., 3., 2., 2.]);
    for (a, b) in (0..9).flat_map(|a| (0..a).map(move |b| (a, b))) {
        let apart = (number(a, "middle") - number(b, "middle")).abs();
        assert!(number(a, "depth") != number(b, "depth") || apart >= 186.0 - 1e-9, "{a} {b}");
    }
    assert!((number(0, "middle") - 0.5 * (number(1, "middle") + number(2, "middle"))).abs() < 1e-9);
    assert!(placed[0].as_f64().unwrap() < 5.0 * 186.0);
}
