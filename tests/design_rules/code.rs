//! Schedules as code, compiled and run with streams of the CPU; and the client for programs in C++.

use std::{collections::HashMap, env, fs, path::Path, process::Command};

use warpsmith::design_rules::{
    Dag, Kind, Runs, Schedule, Step,
    emit::{Language, differences, emit, overlaps, program},
    programs,
    schedule::Schedules,
};

use crate::folder::{Folder, text};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The compiler for C++: that of `CXX`, or `c++`; `None` if it can't be run.
fn compiler() -> Option<String> {
    let name = env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let found = Command::new(&name).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("no C++ compiler: nothing is compiled");
    }
    found.then_some(name)
}

#[track_caller]
fn compile(compiler: &str, folder: &Folder, arguments: &[&str]) {
    let mut command = Command::new(compiler);
    command.current_dir(&folder.directory).args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-pthread"]);
    let clients = Path::new(ROOT).join("clients/cpp");
    command.arg("-I").arg(&clients).arg("-I").arg(clients.join("stub")).args(arguments);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

fn exchange() -> Dag {
    let dag = Dag::builder("exchange").gpu("Pack").cpu("Send").alternative("y_L", "tiles", Kind::Gpu);
    let dag = dag.part("y_L", "rows", "Sort", Kind::Gpu).part("y_L", "rows", "y_L", Kind::Gpu).gpu("add");
    let dag = dag.edge("y_L=rows/Sort", "y_L=rows/y_L").edge("Pack", "Send");
    dag.edge("Send", "add").edge("y_L", "add").build().unwrap()
}

const ONE: &str =
    "y_L=tiles;y_L@0;Pack@1;CER-after-Pack;CES-b4-Send;Send;CER-after-y_L;CSWE-b4-add@1;add@1;CER-after-add;CES-b4-end";

/// When each operation starts and ends if it takes so long; calls take no time.
fn times(dag: &Dag, schedule: &Schedule, takes: impl Fn(&str) -> f64) -> HashMap<String, (f64, f64)> {
    let (mut host, mut streams, mut events) = (0.0f64, [0.0f64; 8], HashMap::new());
    let mut found = HashMap::new();
    let mut home = HashMap::new();
    for &step in schedule.steps() {
        match step {
            Step::Cpu(op) => {
                let start = host;
                host += takes(dag.name_of(op));
                found.insert(dag.name_of(op).to_owned(), (start, host));
            }
            Step::Gpu { op, stream } => {
                let time = &mut streams[usize::from(stream)];
                let start = time.max(host);
                *time = start + takes(dag.name_of(op));
                found.insert(dag.name_of(op).to_owned(), (start, *time));
                home.insert(op, stream);
            }
            Step::EventRecord { after } => _ = events.insert(after, streams[usize::from(home[&after])]),
            Step::EventSync { after, .. } => host = host.max(events[&after]),
            Step::StreamWait { after, stream, .. } => {
                let time = &mut streams[usize::from(stream)];
                *time = time.max(events[&after]);
            }
            Step::Choose { .. } => {}
        }
    }
    found
}

/// Two operations may overlap exactly where the later one starts before the earlier one ends, if that takes forever.
#[test]
fn what_may_overlap() {
    for (dag, every) in [(exchange(), 1), (programs::spmv::dag(), 97)] {
        for schedule in Schedules::new(&dag, 2).unwrap().step_by(every) {
            let found = overlaps(&dag, &schedule);
            let order = schedule.names(&dag);
            let operations: Vec<_> = order.iter().filter(|name| !name.contains(['-', '=']) && *name != "end").collect();
            for (index, a) in operations.iter().enumerate() {
                let times = times(&dag, &schedule, |name| if name == *a { 1e6 } else { 1.0 });
                for b in &operations[index + 1..] {
                    let overlap = times[*b].0 < times[*a].1;
                    let said = found.contains(&((*a).clone(), (*b).clone()));
                    assert_eq!(said, overlap, "{a} and {b} of {}", schedule.text(&dag));
                }
            }
        }
    }
}

#[test]
fn the_textbook_s_order() {
    let dag = programs::spmv::dag();
    let text =
        "Pack@0;CER-after-Pack;CES-b4-PostSend;PostSend;PostRecv;WaitSend;WaitRecv;y_L@0;y_R@0;add@0;CER-after-add;CES-b4-end";
    assert_eq!(Schedule::textbook(&dag).text(&dag), text);
    let text = "y_L=tiles;Pack@0;CER-after-Pack;CES-b4-Send;Send;y_L@0;add@0;CER-after-add;CES-b4-end";
    assert_eq!(Schedule::textbook(&exchange()).text(&exchange()), text);
    assert_eq!(Schedule::textbook(&programs::halo::dag()).streams(), 1);
}

#[test]
fn what_differs() {
    let dag = exchange();
    let (one, textbook) = (Schedule::parse(&dag, 2, ONE).unwrap(), Schedule::textbook(&dag));
    let said = differences(&dag, &one, &textbook);
    let expected = [
        "y_L at the start, not after Send",
        "CER-after-y_L after Send, which the other doesn't have",
        "CSWE-b4-add after CER-after-y_L, which the other doesn't have",
        "Pack and y_L don't share a stream",
        "add and y_L don't share a stream",
        "Pack and y_L may overlap",
        "Send and y_L may overlap",
    ];
    assert_eq!(said, expected);
    assert!(differences(&dag, &one, &one).is_empty());
    let rows = "y_L=rows;Sort@0;y_L@0;Pack@0;CER-after-Pack;CES-b4-Send;Send;add@0;CER-after-add;CES-b4-end";
    let said = differences(&dag, &Schedule::parse(&dag, 1, rows).unwrap(), &textbook);
    assert_eq!(
        &said[..3],
        ["y_L as rows, not as tiles", "Sort at the start, which the other doesn't have", "y_L after Sort, not after Send"]
    );
}

/// The code of schedules compiles, and keeps the program's order on streams that run side by side.
#[test]
fn in_cuda() {
    let Some(compiler) = compiler() else { return };
    let folder = Folder::of("rules");
    let dag = exchange();
    folder.write("one.hpp", &emit(&dag, &Schedule::parse(&dag, 2, ONE).unwrap(), Language::Cuda));
    let main = r#"
        #include "one.hpp"
        #include <chrono>
        #include <iostream>
        static std::mutex mutex;
        static void work(const char* name) {
            std::this_thread::sleep_for(std::chrono::milliseconds(name[0] == 'y' ? 20 : 2));
            std::lock_guard lock(mutex);
            std::cout << name << std::endl;
        }
        struct Mine : exchange::Operations {
            void y_L_tiles(cudaStream_t stream) override { stream->push([] { work("y_L"); }); }
            void Pack(cudaStream_t stream) override { stream->push([] { work("Pack"); }); }
            void Send() override { work("Send"); }
            void add(cudaStream_t stream) override { stream->push([] { work("add"); }); }
        };
        int main() {
            Mine mine;
            exchange::Schedule schedule;
            schedule.run(mine);
            std::cout << "end" << std::endl;
        }
    "#;
    folder.write("main.cpp", main);
    compile(&compiler, &folder, &["main.cpp", "-o", "main"]);
    let output = Command::new(folder.path("main")).output().unwrap();
    // y_L takes longest and isn't waited for before add.
    assert_eq!(text(&output.stdout), "Pack\nSend\ny_L\nadd\nend\n");

    // Names that C++ doesn't have, none of the GPU's, and programs of many operations.
    let odd = Dag::builder("2 odd\nnames\\").gpu("new").gpu("a.b").gpu("a+b").cpu("über").cpu("Schedule").build().unwrap();
    let host = Dag::builder("delete").cpu("only").build().unwrap();
    // Names of CUDA's runtime, and macros of C.
    let cudas = Dag::builder("cudaStream_t").gpu("cudaStream_t").gpu("cudaEvent_t").cpu("NULL").gpu("stream").gpu("events");
    let cudas = cudas.cpu("op_cudaStream_t").cpu("EOF").cpu("errno").edge("cudaStream_t", "EOF").build().unwrap();
    // A function of C, and names without a letter of ASCII.
    let letters = Dag::builder("time").gpu("é").gpu("ü").cpu("op").build().unwrap();
    let text = emit(&letters, &Schedule::textbook(&letters), Language::Cuda);
    assert!(!text.contains("__"), "{text}");
    for dag in [odd, host, cudas, letters, programs::halo::dag()] {
        folder.write("any.hpp", &emit(&dag, &Schedules::new(&dag, 3).unwrap().next().unwrap(), Language::Cuda));
        folder.write("any.cpp", "#include <cerrno>\n#include <cstdio>\n#include \"any.hpp\"\n");
        compile(&compiler, &folder, &["-fsyntax-only", "any.cpp"]);
    }
}

#[test]
fn as_a_graph() {
    let dag = exchange();
    let graph = emit(&dag, &Schedule::parse(&dag, 2, ONE).unwrap(), Language::Dot);
    let edges: Vec<_> = graph.lines().filter(|line| line.contains("->")).map(str::trim).collect();
    // Pack, Send, y_L as tiles, Sort, y_L as rows, add.
    assert_eq!(edges, ["op0 -> op1;", "op1 -> op5;", "op2 -> op5;"], "{graph}");
    assert!(graph.contains(r#"op2 [label="y_L as tiles\nstream 0", shape=box"#) && !graph.contains("Sort"), "{graph}");
    let drawn = program(&dag);
    assert_eq!(drawn.matches("->").count(), dag.edges().count());
    assert!(drawn.contains(r#"label="y_L, one of""#) && drawn.contains(r#"label="rows""#), "{drawn}");
    assert_eq!(drawn.matches('{').count(), drawn.matches('}').count());

    let folder = Folder::of("rules");
    folder.write("mine.json", r#"{"operations": [{"name": "A", "kind": "gpu"}, {"name": "B", "kind": "cpu", "after": ["A"]}]}"#);
    assert!(folder.good("draw mine.json").contains("op0 -> op1;"));
    folder.write("odd.json", r#"{"name": "a\u0000\u001b\"b", "operations": [{"name": "A", "kind": "gpu"}]}"#);
    for command in ["draw odd.json", "emit textbook --program odd.json --language dot"] {
        assert!(folder.good(command).starts_with("digraph \"a  \\\"b\" {"), "{command}");
    }
    assert_eq!(folder.good("draw mine.json --output mine.dot"), "Written: mine.dot\n");
    assert!(fs::read_to_string(folder.path("mine.dot")).unwrap().starts_with("digraph \"mine\" {"));
    folder.bad("draw mine.json --output mine.png", "mine.png: the name must end in .svg, .dot or .gv");
    for program in ["mine.json", "odd.json", "spmv", "halo"] {
        folder.good(&format!("draw {program} --output drawn.svg"));
        let text = fs::read_to_string(folder.path("drawn.svg")).unwrap();
        let document = roxmltree::Document::parse(&text).unwrap();
        let count =
            |name: &str| document.descendants().filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", name))).count();
        let drawn = folder.good(&format!("draw {program}"));
        // An edge is a line and its head; a node has a text.
        assert_eq!(count("path"), 2 * drawn.matches("->").count(), "{program}");
        assert_eq!(count("text"), drawn.matches("shape=").count(), "{program}");
    }
}

#[test]
fn the_command() {
    let folder = Folder::of("rules");
    let slow =
        "PostRecv;Pack@0;CER-after-Pack;CES-b4-PostSend;PostSend;y_L@0;WaitRecv;y_R@0;WaitSend;add@0;CER-after-add;CES-b4-end";
    folder.write("own.csv", &format!("schedule,seconds\n{},1\n{slow},2\n", programs::spmv::BY_THE_RULE));
    let dag = programs::spmv::dag();
    let fast = Schedule::parse(&dag, 1, programs::spmv::BY_THE_RULE).unwrap();
    let code = emit(&dag, &fast, Language::Cuda);
    assert_eq!(folder.good("emit own.csv --program spmv"), code);
    folder.good("emit own.csv --program spmv --output fast.hpp");
    assert_eq!(fs::read_to_string(folder.path("fast.hpp")).unwrap(), code);
    let said = folder.good("emit own.csv --program spmv --against textbook");
    assert_eq!(said, "y_L after CER-after-Pack, not after PostSend\nPostSend and y_L may overlap\n");
    assert_eq!(folder.good(&format!("emit {slow} --program spmv --against textbook")), "No difference.\n");
    for (arguments, said) in [
        ("emit textbook", "which program? Name it with --program"),
        ("emit own.csv", "own.csv: it doesn't say of which program: name it with --program"),
        ("emit missing.csv", "missing.csv"),
        ("emit Pack@0;x --program spmv", "`x` can't come next"),
        ("emit own.csv --program halo", "own.csv: the schedule"),
        ("emit own.csv --program spmv --output own.csv", "own.csv can't be written: it is to be read"),
    ] {
        folder.bad(arguments, said);
    }
}

/// A search by hand finds what a search finds, each schedule once.
#[test]
fn measured_by_hand() {
    let folder = Folder::of("rules");
    folder.write(
        "mine.json",
        r#"{"name": "mine", "operations": [{"name": "A", "kind": "gpu"},
            {"name": "B", "alternatives": [{"name": "x", "kind": "cpu"}, {"name": "y", "kind": "gpu"}]}]}"#,
    );
    let dag = Dag::read(&folder.path("mine.json")).unwrap();
    let all: Vec<_> = Schedules::new(&dag, 2).unwrap().map(|schedule| schedule.text(&dag)).collect();
    let first = folder.good("next mine.json --runs runs.csv");
    assert_eq!(first, folder.good("next mine.json --runs runs.csv"));
    let several = folder.good("next mine.json --runs runs.csv --count 1000");
    let mut sorted: Vec<_> = several.lines().map(str::to_owned).collect();
    sorted.sort();
    let mut expected = all.clone();
    expected.sort();
    assert_eq!(sorted, expected);
    let steps = folder.good("next mine.json --runs runs.csv --steps");
    assert!(steps.starts_with(&format!("{{\"schedule\":\"{}\",\"steps\":[", first.trim_end())), "{steps}");
    for index in 0..5 {
        let next = folder.good("next mine.json --runs runs.csv");
        let time = if index == 2 { "failed".to_owned() } else { format!("{}e-6", index + 1) };
        folder.good(&format!("add mine.json --runs runs.csv --platform paper {} {time}", next.trim_end()));
    }
    let runs = Runs::read(&folder.path("runs.csv")).unwrap();
    assert_eq!((runs.runs.len(), runs.failed.len(), &*runs.about.platform), (4, 1, "paper"));
    let rest = folder.good("next mine.json --runs runs.csv --count 1000");
    let mut every: Vec<_> = runs.rows().map(|(_, traversal)| traversal.to_string()).collect();
    every.extend(rest.lines().map(str::to_owned));
    every.sort();
    assert_eq!(every, expected);
    assert_eq!(
        folder.good("check mine.json --runs runs.csv"),
        "mine: 3 operations, 1 choice, 0 dependences. Checked: 5 schedules.\n"
    );
    let good = &all[0];
    let add = |rest: &str| format!("add mine.json --runs runs.csv {rest}");
    for (arguments, said) in [
        (add("A@0 1"), "`A@0` can't come next"),
        (add(&format!("{good} -1")), "neither a time in seconds, above 0, nor `failed`"),
        (add(&format!("{good} 0")), "neither a time in seconds, above 0, nor `failed`"),
        (add(&format!("{good} nan")), "neither a time in seconds, above 0, nor `failed`"),
        (add(&format!("{good} 1 --streams 3")), "runs.csv: its runs are on 2 streams, not on 3"),
        (format!("add spmv --runs runs.csv {good} 1"), "runs.csv: it has runs of the program `mine`, not of `spmv`"),
        (format!("add mine.json --runs mine.json {good} 1"), "mine.json can't be written: it is to be read"),
        ("check mine.json --schedule B=z".to_owned(), "`B=z` can't come next"),
        ("check spmv --runs runs.csv".to_owned(), "runs.csv: it has runs of the program `mine`"),
    ] {
        folder.bad(&arguments, said);
    }
    // `next` reads a table of one's own; `add` leaves it alone.
    folder.write("own.csv", &format!("schedule,seconds\n{good},1\n"));
    assert!(!folder.good("next mine.json --runs own.csv --count 1000").lines().any(|line| line == good));
    folder.bad(&format!("add mine.json --runs own.csv {good} 1"), "own.csv: it is a table of your own");
    folder.write("own.csv", "schedule,seconds\nA@0,1\n");
    folder.bad("next mine.json --runs own.csv", "own.csv: the schedule `A@0` of program `mine`: `A@0` can't come next");
}

/// Explores a program, and returns the JSON that is printed.
#[track_caller]
fn explored(folder: &Folder, arguments: &str) -> serde_json::Value {
    serde_json::from_str(&folder.good(&format!("explore --json {arguments}"))).unwrap()
}

/// The client runs a whole exploration, with streams and events of the CPU.
#[test]
fn the_client_in_cpp() {
    let Some(compiler) = compiler() else { return };
    let folder = Folder::of("rules");
    folder.write(
        "mine.json",
        r#"{"name": "mine", "operations": [{"name": "Pack", "kind": "gpu"}, {"name": "Send", "kind": "cpu", "after": ["Pack"]},
            {"name": "Inner", "alternatives": [{"name": "fast", "kind": "gpu"}, {"name": "slow", "kind": "gpu"}]}]}"#,
    );
    let main = r#"
        #include "warpsmith.hpp"
        #include <atomic>
        int main() {
            auto sleep = [](int us) { std::this_thread::sleep_for(std::chrono::microseconds(us)); };
            std::atomic<int> packed{0}, sent{0};
            warpsmith::Program program;
            program.gpu("Pack", [&](cudaStream_t stream) { stream->push([&] { sleep(300); ++packed; }); });
            program.cpu("Send", [&] { sent = packed.load(); });
            program.gpu("Inner", "fast", [&](cudaStream_t stream) { stream->push([&] { sleep(300); }); });
            program.gpu("Inner", "slow", [&](cudaStream_t stream) { stream->push([&] { sleep(8000); }); });
            program.reset([&] { packed = sent = 0; });
            program.check([&]() -> std::string { return packed == 1 && sent == 1 ? "" : "it was sent too early"; });
            warpsmith::Options options;
            options.seconds = 0;
            options.warm_up = 1;
            options.least = 3;
            return program.serve(options);
        }
    "#;
    folder.write("mine.cpp", main);
    compile(&compiler, &folder, &["-O1", "mine.cpp", "-o", "mine"]);
    let found = explored(&folder, "mine.json --exhaustive --passes 2 --raw raw.csv --output runs.csv -- ./mine");
    let dag = Dag::read(&folder.path("mine.json")).unwrap();
    let all: Vec<_> = Schedules::new(&dag, 2).unwrap().map(|schedule| schedule.text(&dag)).collect();
    assert_eq!((found["runs"].as_u64(), found["failed"].as_u64()), (Some(all.len() as u64), Some(0)));
    assert_eq!(found["platform"], "threads in the place of CUDA");
    // One alternative takes 8 ms at least; how long the other takes depends on what else the machine does.
    let runs = Runs::read(&folder.path("runs.csv")).unwrap();
    assert!(runs.fastest().unwrap().traversal.to_string().starts_with("Inner=fast;"));
    // Each schedule once per pass.
    let raw = Runs::read(&folder.path("raw.csv")).unwrap();
    let slow = raw.runs.iter().filter(|run| run.traversal.to_string().starts_with("Inner=slow;"));
    let slow: Vec<_> = slow.map(|run| run.seconds).collect();
    assert!(!slow.is_empty() && slow.iter().all(|&seconds| seconds >= 8e-3), "{slow:?}");
    let mut twice: Vec<_> = raw.runs.iter().map(|run| run.traversal.to_string()).collect();
    let mut pass = twice.split_off(all.len());
    let mut expected = all.clone();
    for texts in [&mut twice, &mut pass, &mut expected] {
        texts.sort();
    }
    assert_eq!((&twice, &pass), (&expected, &expected));
    // A third pass goes on from these.
    let before = raw.times();
    explored(&folder, "mine.json --exhaustive --passes 3 --resume --raw raw.csv --output runs.csv -- ./mine");
    let raw = Runs::read(&folder.path("raw.csv")).unwrap();
    assert_eq!((raw.runs.len(), &raw.times()[..before.len()]), (3 * all.len(), &before[..]));

    // Other operations than the file's.
    folder.write("more.json", r#"{"operations": [{"name": "Other", "kind": "gpu"}]}"#);
    let output = folder.run("explore more.json --output more.csv -- ./mine");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("the operation `Other`, for which no function is given") && said.contains("exit status: 2"), "{said}");
    folder.write("kind.json", r#"{"operations": [{"name": "Pack", "kind": "cpu"}]}"#);
    let said = text(&folder.run("explore kind.json --output more.csv -- ./mine").stderr);
    assert!(said.contains("the operation `Pack` is of the host in the program's file"), "{said}");
    // Without the dependence, results are wrong, and the schedules that make them so fail.
    let wrong = fs::read_to_string(folder.path("mine.json")).unwrap().replace(r#", "after": ["Pack"]"#, "");
    folder.write("wrong.json", &wrong);
    let output = folder.run("explore wrong.json --streams 1 --search dfs --iterations 15 --json --output wrong.csv -- ./mine");
    assert!(text(&output.stderr).contains("a wrong result: it was sent too early"), "{}", text(&output.stderr));
}

/// A setting is made once for each schedule, before all else.
#[test]
fn settings_in_cpp() {
    let Some(compiler) = compiler() else { return };
    let folder = Folder::of("rules");
    let file = |last: &str| {
        let settings = format!(r#"{{"name": "Cores", "settings": ["first", "{last}"]}}"#);
        folder.write("mine.json", &format!(r#"{{"operations": [{{"name": "Work", "kind": "cpu"}}, {settings}]}}"#));
    };
    file("all");
    let main = r#"
        #include "warpsmith.hpp"
        std::string mine() {
            cpu_set_t set;
            sched_getaffinity(0, sizeof set, &set);
            std::string list;
            for (int core = 0; core < CPU_SETSIZE; ++core)
                if (CPU_ISSET(core, &set)) list += "," + std::to_string(core);
            return list.substr(1);
        }
        int main() {
            const std::string all = mine(), first = all.substr(0, all.find(','));
            for (const char* wrong : {"", "x", "0-", "0,", "1;2", "-1", "9999999", "3-1"}) {
                try {
                    warpsmith::bind(wrong);
                    return std::cerr << "bound to " << wrong << std::endl, 1;
                } catch (const std::runtime_error&) {
                }
            }
            int made = 0, asked = 0;
            std::string wanted;
            auto cores = [&](std::string list, std::string found) {
                return [&, list, found] { warpsmith::bind(list), wanted = found, ++made; };
            };
            warpsmith::Program program;
            program.cpu("Work", [] {}).setting("Cores", "first", cores(first + "-" + first, first));
            program.setting("Cores", "all", cores(all, all));
            program.reset([&] { ++asked; });
            program.check([&] { return std::string(made == asked && mine() == wanted ? "" : "on the cores " + mine()); });
            warpsmith::Options options;
            options.seconds = 0;
            return program.serve(options);
        }
    "#;
    folder.write("mine.cpp", main);
    compile(&compiler, &folder, &["mine.cpp", "-o", "mine"]);
    let found = explored(&folder, "mine.json --output runs.csv -- ./mine");
    assert_eq!((&found["runs"], &found["failed"], &found["space"]), (&2.into(), &0.into(), &"2".into()), "{found}");
    let runs = Runs::read(&folder.path("runs.csv")).unwrap();
    let mut texts: Vec<_> = runs.runs.iter().map(|run| run.traversal.to_string()).collect();
    texts.sort();
    assert_eq!(texts, ["Cores=all;Work", "Cores=first;Work"]);
    file("none");
    let said = text(&folder.run("explore mine.json --output more.csv -- ./mine").stderr);
    assert!(said.contains("no function is given for the setting `Cores` as `none`"), "{said}");
}

/// The example's products are right under the schedules of its program.
#[test]
fn the_example_in_cpp() {
    let Some(compiler) = compiler() else { return };
    let folder = Folder::of("rules");
    let example = Path::new(ROOT).join("clients/cpp/example");
    fs::copy(example.join("spmv.json"), folder.path("spmv.json")).unwrap();
    compile(&compiler, &folder, &["-O1", "-x", "c++", example.join("spmv.cu").to_str().unwrap(), "-o", "spmv"]);
    assert_eq!(folder.json("count spmv.json")["counts"][1]["schedules"], (4 * 5390).to_string());
    let found = explored(&folder, "spmv.json --search random --iterations 25 --output runs.csv -- ./spmv 100");
    assert_eq!((found["runs"].as_u64(), found["failed"].as_u64()), (Some(25), Some(0)), "{found}");
}
