//! Programs with choices: their schedules are those of the programs that have one alternative each.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};
use warpsmith::design_rules::{
    Dag, DagBuilder, Feature, Kind, LearnOptions, Model, Runs, Schedule, Space, Traversal, TraversalTable, program_of,
    schedule::{Schedules, count},
};

use crate::{fixtures::searches_exhaust, folder::Folder};

/// An operation, or several, each an alternative: names and kinds, each after the one before it.
type Way = Vec<(String, Kind)>;

/// Operations and choices with edges between them.
#[derive(Clone, Debug)]
struct Described {
    items: Vec<Vec<Way>>,
    edges: Vec<(usize, usize)>,
}

fn item(index: usize) -> String {
    format!("i{index}")
}

impl Described {
    /// With its choices. An item of one way is no choice.
    fn dag(&self) -> Dag {
        let mut builder = Dag::builder("any");
        for (index, ways) in self.items.iter().enumerate() {
            for (way, parts) in ways.iter().enumerate() {
                if ways.len() == 1 {
                    builder = builder.operation(item(index), parts[0].1);
                    continue;
                }
                let label = |part: usize| format!("{}=w{way}/{}", item(index), parts[part].0);
                for (part, (name, kind)) in parts.iter().enumerate() {
                    builder = builder.part(item(index), format!("w{way}"), name, *kind);
                    if part > 0 {
                        builder = builder.edge(label(part - 1), label(part));
                    }
                }
            }
        }
        self.edges.iter().fold(builder, |builder, &(u, v)| builder.edge(item(u), item(v))).build().unwrap()
    }

    /// The ways to settle the choices.
    fn settled(&self) -> Vec<Vec<usize>> {
        self.items.iter().fold(vec![Vec::new()], |all, ways| {
            all.iter().flat_map(|before| (0..ways.len()).map(move |way| [&before[..], &[way]].concat())).collect()
        })
    }

    /// The program with these alternatives, and what its schedules begin with.
    fn plain(&self, ways: &[usize]) -> (Dag, String) {
        let mut builder: DagBuilder = Dag::builder("any");
        let mut start = String::new();
        let parts = |index: usize| -> Way {
            if self.items[index].len() == 1 {
                vec![(item(index), self.items[index][0][0].1)]
            } else {
                self.items[index][ways[index]].clone()
            }
        };
        for (index, &way) in ways.iter().enumerate() {
            if self.items[index].len() > 1 {
                start += &format!("{}=w{way};", item(index));
            }
            let parts = parts(index);
            for (name, kind) in &parts {
                builder = builder.operation(name, *kind);
            }
            for pair in parts.windows(2) {
                builder = builder.edge(&pair[0].0, &pair[1].0);
            }
        }
        for &(u, v) in &self.edges {
            builder = builder.edge(&parts(u).last().unwrap().0, &parts(v)[0].0);
        }
        (builder.build().unwrap(), start)
    }
}

/// Removes the sources of waits from a schedule: waits name them only if there are several in any
/// alternative.
fn short(text: &str) -> String {
    let part = |step: &str| match (step.strip_prefix("C").and(step.split_once("-after-")), step.split_once('@')) {
        (Some((wait, _)), stream) if wait.contains("-b4-") => format!("{wait}@{}", stream.map_or("", |(_, stream)| stream)),
        _ if step.contains("-b4-") => step.to_owned() + if step.contains('@') { "" } else { "@" },
        _ => step.to_owned(),
    };
    text.split(';').map(part).collect::<Vec<_>>().join(";")
}

fn agrees(described: &Described, streams: usize) {
    let dag = described.dag();
    let found: Vec<String> = Schedules::new(&dag, streams).unwrap().map(|schedule| schedule.text(&dag)).collect();
    assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), found.len(), "one is listed twice");
    let mut expected = Vec::new();
    for ways in described.settled() {
        let (plain, start) = described.plain(&ways);
        expected
            .extend(Schedules::new(&plain, streams).unwrap().map(|schedule| short(&(start.clone() + &schedule.text(&plain)))));
    }
    let mut shorter: Vec<_> = found.iter().map(|text| short(text)).collect();
    shorter.sort();
    expected.sort();
    assert_eq!(shorter, expected, "{}", dag.signature());
    assert_eq!(count(&dag, streams).unwrap(), expected.len() as u128, "{}", dag.signature());
    for text in &found {
        assert_eq!(Schedule::parse(&dag, streams, text).unwrap().text(&dag), *text);
        assert_eq!(text.parse::<Traversal>().unwrap().to_string(), *text);
    }
}

fn described() -> impl Strategy<Value = Described> {
    let kind = || prop_oneof![Just(Kind::Cpu), Just(Kind::Gpu)];
    let ways = proptest::collection::vec(proptest::collection::vec(kind(), 1..=2), 1..=3);
    (proptest::collection::vec(ways, 1..=3), proptest::collection::vec(any::<bool>(), 3)).prop_map(|(items, edges)| {
        let name = |index: usize, way: usize, part: usize, parts: usize| {
            if parts == 1 { item(index) } else { format!("i{index}.w{way}.{part}") }
        };
        let items: Vec<Vec<Way>> = items
            .into_iter()
            .enumerate()
            .map(|(index, ways)| {
                let named = |(way, kinds): (usize, Vec<Kind>)| {
                    let parts = kinds.len();
                    kinds.into_iter().enumerate().map(|(part, kind)| (name(index, way, part, parts), kind)).collect()
                };
                ways.into_iter().enumerate().map(named).collect()
            })
            .collect();
        let pairs = (0..items.len()).flat_map(|u| (u + 1..items.len()).map(move |v| (u, v)));
        let edges = pairs.zip(edges).filter(|&(_, there)| there).map(|(pair, _)| pair).collect();
        Described { items, edges }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn schedules_are_those_of_each_alternative(described in described(), streams in 1..=3usize) {
        let fewest = described.settled().iter().map(|ways| count(&described.plain(ways).0, streams).unwrap()).sum::<u128>();
        prop_assume!(fewest < 5000);
        agrees(&described, streams);
    }
}

const MULTIPLY: &str = r#"{"name": "multiply", "operations": [
    {"name": "Pack", "kind": "gpu"},
    {"name": "Send", "after": ["Pack"], "alternatives": [
        {"name": "direct", "kind": "cpu"},
        {"name": "staged", "operations": [
            {"name": "Copy", "kind": "gpu"},
            {"name": "SendCopy", "kind": "cpu", "after": ["Copy"]}
        ]}
    ]},
    {"name": "y_L", "alternatives": [{"name": "tiles", "kind": "gpu"}, {"name": "rows", "kind": "gpu"}]},
    {"name": "add", "kind": "gpu", "after": ["y_L", "Send"]}
]}"#;

fn multiply(folder: &Folder) -> Dag {
    folder.write("multiply.json", MULTIPLY);
    Dag::read(&folder.path("multiply.json")).unwrap()
}

proptest! {
    /// A race is data that both of two operations access, one writes, and that schedules access in either order.
    #[test]
    fn races_are_in_schedules_of_either_order(
        edges in prop::collection::btree_set((0usize..5, 0usize..5), 0..8),
        accesses in prop::collection::vec((0usize..5, 0usize..3, any::<bool>()), 1..10),
    ) {
        let mut builder = Dag::builder("host");
        for op in 0..5 {
            builder = builder.cpu(item(op));
            for &(_, data, writes) in accesses.iter().filter(|access| access.0 == op) {
                let data = format!("d{data}");
                builder = if writes { builder.writes(data) } else { builder.reads(data) };
            }
        }
        let edges: Vec<_> = edges.into_iter().filter(|(u, v)| u < v).collect();
        let dag = edges.iter().fold(builder, |builder, &(u, v)| builder.edge(item(u), item(v))).build().unwrap();
        let conflict = |u: usize, v: usize| {
            let of = |op: usize| accesses.iter().filter(move |access| access.0 == op);
            of(u).any(|a| of(v).any(|b| a.1 == b.1 && (a.2 || b.2)))
        };
        let all: Vec<Vec<usize>> = Schedules::new(&dag, 1)
            .unwrap()
            .map(|schedule| schedule.names(&dag).iter().filter_map(|name| name.strip_prefix('i')?.parse().ok()).collect())
            .collect();
        let comes_first = |u: usize, v: usize| {
            all.iter().any(|order| order.iter().position(|&op| op == u) < order.iter().position(|&op| op == v))
        };
        let orders = dag.orders().unwrap();
        let pairs = (0..5).flat_map(|u| (u + 1..5).map(move |v| (u, v)));
        let races: Vec<_> = pairs.filter(|&(u, v)| conflict(u, v) && comes_first(u, v) && comes_first(v, u)).collect();
        prop_assert_eq!(orders.races.iter().map(|(u, v, _)| (u.index(), v.index())).collect::<Vec<_>>(), races);
        let unjustified: Vec<_> = edges.into_iter().filter(|&(u, v)| !conflict(u, v)).collect();
        prop_assert_eq!(orders.unjustified.iter().map(|(u, v)| (u.index(), v.index())).collect::<Vec<_>>(), unjustified);
    }
}

#[test]
fn orders_that_data_justify() {
    let folder = Folder::of("rules");
    let file = |operations: &str| folder.write("data.json", &format!(r#"{{"operations": [{operations}]}}"#));
    let pack = r#"{"name": "Pack", "kind": "gpu", "reads": ["x"], "writes": ["buffer"]}"#;
    let inner = r#"{"name": "Inner", "alternatives": [
        {"name": "tiles", "kind": "gpu", "reads": ["x"], "writes": ["y"]},
        {"name": "rows", "kind": "gpu", "reads": ["x"], "writes": ["y"]}
    ]}"#;
    let send = |after: &str| format!(r#"{{"name": "Send", "kind": "cpu", "reads": ["buffer"], "after": [{after}]}}"#);
    let sum = |after: &str| format!(r#"{{"name": "Sum", "kind": "gpu", "writes": ["y"], "after": [{after}]}}"#);
    let all = |after_send: &str, after_sum: &str| file(&[pack, inner, &send(after_send), &sum(after_sum)].join(", "));
    // Two readers need no order, and alternatives are never together.
    all(r#""Pack""#, r#""Inner""#);
    assert_eq!(folder.good("check data.json"), "data: 5 operations, 1 choice, 3 dependences.\n");
    assert_eq!(folder.json("check data.json")["unjustified"], json!([]));
    // An order by way of others is one, too; those that no data justify are listed.
    all(r#""Pack", "Inner""#, r#""Send""#);
    let listed =
        "Orders that no data justify:\n  Inner=tiles/Inner before Send\n  Inner=rows/Inner before Send\n  Send before Sum\n";
    assert!(folder.good("check data.json").ends_with(listed));
    assert_eq!(folder.json("check data.json")["unjustified"].as_array().unwrap().len(), 3);
    // Missing orders.
    all("", r#""Inner""#);
    folder
        .bad("check data.json", "data.json: `Pack` and `Send` access `buffer`, at least one writes it, and neither comes after");
    all(r#""Pack""#, "");
    folder.bad(
        "check data.json",
        "data.json: `Inner=tiles/Inner` and `Sum` access `y`, at least one writes it, and neither comes after",
    );
    // Nothing is said without data.
    file(r#"{"name": "A", "kind": "gpu"}, {"name": "B", "kind": "gpu", "after": ["A"]}"#);
    assert_eq!(folder.json("check data.json")["unjustified"], Value::Null);
}

#[test]
fn choices_from_files() {
    let folder = Folder::of("rules");
    let dag = multiply(&folder);
    let choices: Vec<_> = dag.choices().iter().map(|choice| (choice.name(), choice.alternatives().collect::<Vec<_>>())).collect();
    assert_eq!(choices, [("Send", vec!["direct", "staged"]), ("y_L", vec!["tiles", "rows"])]);
    let edges: BTreeSet<_> = dag.edges().map(|(u, v)| format!("{}>{}", dag.label(u), dag.label(v))).collect();
    let expected = [
        "Pack>Send=direct/Send",
        "Pack>Send=staged/Copy",
        "Send=direct/Send>add",
        "Send=staged/Copy>Send=staged/SendCopy",
        "Send=staged/SendCopy>add",
        "y_L=tiles/y_L>add",
        "y_L=rows/y_L>add",
        "add>end",
    ];
    assert_eq!(edges, expected.map(str::to_owned).into());
    let runs = Runs { about: warpsmith::design_rules::About::program(&dag), ..Runs::default() };
    assert_eq!(program_of(&runs.about).unwrap(), dag);

    // By hand, on one stream: Pack, its record, its wait, Send, in this order; y_L anywhere before add.
    let one: Vec<_> = Schedules::new(&dag, 1).unwrap().map(|schedule| schedule.text(&dag)).collect();
    let direct: Vec<_> = one.iter().filter(|text| text.starts_with("Send=direct;y_L=tiles;")).collect();
    assert_eq!(direct.len(), 5);
    assert!(direct.contains(
        &&"Send=direct;y_L=tiles;Pack@0;CER-after-Pack;y_L@0;CES-b4-Send;Send;add@0;CER-after-add;CES-b4-end".to_owned()
    ));
    let staged = one.iter().filter(|text| text.starts_with("Send=staged;y_L=rows;")).count();
    assert_eq!((staged, one.len()), (6, 2 * (5 + 6)));
    let counted = folder.json("count multiply.json");
    assert_eq!(counted["counts"][0]["schedules"], "22");
    assert_eq!(counted["choices"][1]["alternatives"][0], "tiles");
    assert!(folder.good("count multiply.json").contains("2 choices"));

    for text in ["Pack@0", "y_L=tiles", "Send=direct;y_L=columns", "Send=direct;y_L=tiles;Copy@0"] {
        assert!(Schedule::parse(&dag, 2, text).unwrap_err().to_string().contains("can't come next"), "{text}");
    }
}

/// Programs at the limits of choices and alternatives, and one beyond.
#[test]
fn many_choices() {
    let folder = Folder::of("rules");
    let write = |choices: usize, alternatives: usize| {
        let values = |choice| if choice == 0 { alternatives } else { 2 };
        let setting = |choice| json!({ "name": format!("C{choice}"), "settings": (0..values(choice)).collect::<Vec<_>>() });
        let setting = |choice: usize| {
            let mut setting = setting(choice);
            let values = setting["settings"].as_array_mut().unwrap();
            values.iter_mut().for_each(|value| *value = format!("v{value}").into());
            setting
        };
        let operations: Vec<_> = (0..choices).map(setting).chain([json!({ "name": "k", "kind": "gpu" })]).collect();
        folder.write("many.json", &json!({ "operations": operations }).to_string());
    };
    for alternatives in [255, 256, 257, 4096] {
        write(1, alternatives);
        let listed = folder.good("count many.json --list");
        let distinct: BTreeSet<_> = listed.lines().filter(|line| line.starts_with("C0=v")).collect();
        assert_eq!(distinct.len(), alternatives);
    }
    write(256, 2);
    let next = folder.good("next many.json --runs none.csv");
    assert!(next.starts_with("C0=v0;C1=v0;") && next.contains(";C254=v0;C255=v0;k@0"), "{next}");
    write(257, 2);
    folder.bad("check many.json", "`C256` is one choice too many: there may be 256");
    write(1, 4097);
    folder.bad("check many.json", "`C0` has more than 4096 alternatives");
}

#[test]
fn searches_go_through_all_alternatives() {
    searches_exhaust(Space::default(), &multiply(&Folder::of("rules")), 1, 3);
}

/// Times that depend on a choice teach a rule about it.
#[test]
fn rules_speak_of_choices() {
    let folder = Folder::of("rules");
    let dag = multiply(&folder);
    let mut table = String::from("schedule,seconds\n");
    let (mut seen, mut times) = (Vec::<Traversal>::new(), Vec::new());
    for (index, schedule) in Schedules::new(&dag, 2).unwrap().enumerate() {
        let text = schedule.text(&dag);
        let seconds = if text.contains("y_L=tiles;") { 1.0 } else { 2.0 } + 1e-4 * (index % 7) as f64;
        table += &format!("{text},{seconds}\n");
        seen.push(text.parse().unwrap());
        times.push(seconds);
    }
    let traversals = TraversalTable::new(&seen);
    assert_eq!(traversals.choices(), ["Send=direct", "Send=staged", "y_L=rows", "y_L=tiles"]);
    let model = Model::learn_all(&traversals, &times, &LearnOptions::default()).unwrap();
    let sentence = |class: usize| model.rules.all().iter().find(|set| set.class.number() == class).unwrap().rules[0].to_string();
    assert_eq!((sentence(1), sentence(2)), ("y_L as tiles".to_owned(), "y_L as rows".to_owned()));
    // Of two alternatives one is a feature, and says what the other does.
    let chosen: Vec<_> = model.features.features().iter().filter(|feature| matches!(feature, Feature::Chosen { .. })).collect();
    assert_eq!(chosen.len(), 2);
    folder.write("own.csv", &table);
    assert!(folder.good("learn own.csv").contains("y_L as tiles"));
    folder.write("odd.csv", "schedule,seconds\na=x;a@0,1\na=y;b@0;c,2\na=x;b@0,3\n");
    folder.bad("learn odd.csv", "odd.csv: line 4: the schedule has other operations than the first");
    folder.write("odd.csv", "schedule,seconds\na=x;a=y;a@0,1\n");
    folder.bad("learn odd.csv", "odd.csv: line 2: `a=` stands twice");
    folder.write("odd.csv", "schedule,seconds\n=x;a@0,1\n");
    folder.bad("learn odd.csv", "odd.csv: line 2: there is an empty name");
}
