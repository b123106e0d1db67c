//! Programs of the user's own: their operations from a file, and schedules measured by a command. Here it is a script.

use std::{collections::HashMap, fs};

use serde_json::{Value, json};
use warpsmith::design_rules::{Dag, Kind, Runs, schedule::count};

use crate::folder::Folder;

const MINE: &str = r#"{"name": "exchange", "operations": [
    {"name": "Pack", "kind": "gpu"},
    {"name": "Inner", "kind": "gpu"},
    {"name": "Send", "kind": "cpu", "after": ["Pack"]},
    {"name": "Outer", "kind": "gpu", "after": ["Send", "Inner"]}
]}"#;

/// A program that writes down what it hears, and answers each schedule with `answer`: lines of a shell's `case`. By
/// default a time that depends on the schedule's length.
fn program(folder: &Folder, answer: &str) {
    folder.write("mine.json", MINE);
    let script = format!(
        r#"read -r line
echo "$line" > "$1.hello"
echo started >> "$1.starts"
echo 'this is not for warpsmith'
echo '{{"platform": "a shell", "ranks": 3}}'
while read -r line; do
    echo "$line" >> "$1.heard"
    case "$line" in
        {answer}
        *) echo "{{\"seconds\": ${{#line}}e-9}}";;
    esac
done
"#
    );
    folder.write("mine.sh", &script);
}

/// Measures its schedules. Gives what is printed, and what is said on stderr.
#[track_caller]
fn explore(folder: &Folder, options: &str) -> (Value, String) {
    let output = folder.run(&format!("explore mine.json --json {options} -- sh mine.sh log"));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    (serde_json::from_slice(&output.stdout).unwrap(), said)
}

/// Runs a command that fails, and returns its stderr.
#[track_caller]
fn fails(folder: &Folder, arguments: &str) -> String {
    let output = folder.run(arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    said
}

fn lines(folder: &Folder, name: &str) -> Vec<Value> {
    let text = fs::read_to_string(folder.path(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn programs_from_files() {
    let folder = Folder::of("rules");
    folder.write("mine.json", MINE);
    let dag = Dag::read(&folder.path("mine.json")).unwrap();
    let built = Dag::builder("exchange").gpu("Pack").gpu("Inner").cpu("Send").gpu("Outer");
    assert_eq!(dag, built.edge("Pack", "Send").edge("Send", "Outer").edge("Inner", "Outer").build().unwrap());
    assert_eq!(dag.kind(dag.find("Send").unwrap()), Kind::Cpu);
    let counted = folder.json("count mine.json");
    assert_eq!(counted["counts"][1]["schedules"], json!(count(&dag, 2).unwrap().to_string()));
    folder.write("unnamed.json", r#"{"operations": [{"name": "A", "kind": "cpu"}]}"#);
    assert_eq!(Dag::read(&folder.path("unnamed.json")).unwrap().name(), "unnamed");
    folder.write("bad.json", "");
    folder.bad("count bad.json", "bad.json: EOF while parsing");
    folder.bad("count missing.json", "missing.json");
    folder.bad("check mine.json --streams 99", "99 streams are not possible: it takes 1 to 8");
    let piped = folder.shell("\"$0\" rules count - --json <mine.json");
    assert_eq!(serde_json::from_slice::<Value>(&piped.stdout).unwrap()["counts"], counted["counts"]);
    folder.bad("count other", "it is neither spmv nor halo, nor the file of a program (.json, or `-`)");
}

/// The program hears every question, and its answers become runs.
#[test]
fn a_program_measures_its_schedules() {
    let folder = Folder::of("rules");
    program(&folder, "");
    let (result, said) = explore(&folder, "--repeats-at-most 1 --output runs.csv");
    assert_eq!(said, "");
    let space: usize = folder.json("count mine.json")["counts"][1]["schedules"].as_str().unwrap().parse().unwrap();
    assert_eq!((&result["runs"], &result["failed"], &result["program"]), (&json!(space), &json!(0), &json!("exchange")));
    assert_eq!((&result["platform"], &result["ranks"]), (&json!("a shell"), &json!(3)));

    let hello = &lines(&folder, "log.hello")[0];
    assert_eq!((&hello["warpsmith"], &hello["program"], &hello["streams"]), (&json!(1), &json!("exchange"), &json!(2)));
    assert_eq!(hello["operations"][2], json!({"name": "Send", "kind": "cpu"}));
    assert_eq!(hello["operations"].as_array().unwrap().len(), 4);

    let runs = Runs::read(&folder.path("runs.csv")).unwrap();
    let heard = fs::read_to_string(folder.path("log.heard")).unwrap();
    assert_eq!((heard.lines().count(), runs.runs.len(), runs.failed.len()), (space, space, 0));
    // Each wait is for the one operation of the GPU that comes before.
    let waited = HashMap::from([("Send", "Pack"), ("Outer", "Inner"), ("end", "Outer")]);
    for (line, run) in heard.lines().zip(&runs.runs) {
        let question: Value = serde_json::from_str(line).unwrap();
        let text = question["schedule"].as_str().unwrap();
        assert_eq!((text, run.seconds), (&*run.traversal.to_string(), format!("{}e-9", line.len()).parse().unwrap()));
        let stream_of = |name: &str| {
            let bound = text.split(';').find_map(|step| step.strip_prefix(name)?.strip_prefix('@')).unwrap();
            bound.parse::<usize>().unwrap()
        };
        let expected: Vec<Value> = text
            .split(';')
            .map(|step| match step.split_once('@') {
                Some((step, stream)) => {
                    let stream: usize = stream.parse().unwrap();
                    match step.strip_prefix("CSWE-b4-") {
                        Some(before) => json!({"wait": waited[before], "stream": stream}),
                        None => json!({"run": step, "stream": stream}),
                    }
                }
                None => match (step.strip_prefix("CER-after-"), step.strip_prefix("CES-b4-")) {
                    (Some(after), _) => json!({"record": after, "stream": stream_of(after)}),
                    (_, Some(before)) => json!({"wait": waited[before]}),
                    _ => json!({"run": step}),
                },
            })
            .collect();
        assert_eq!(question["steps"], json!(expected), "{text}");
    }
    assert_eq!(fs::read_to_string(folder.path("log.starts")).unwrap(), "started\n");
    // By default it is asked more than once, and for the first one now and then; equal times have no noise.
    let (result, _) = explore(&folder, "--output twice.csv");
    let asked = fs::read_to_string(folder.path("log.heard")).unwrap().lines().count() - space;
    let twice = Runs::read(&folder.path("twice.csv")).unwrap();
    assert_eq!((result["measurements"].as_u64(), result["noise"].as_f64()), (Some(asked as u64), Some(0.0)));
    assert!(twice.runs.iter().all(|run| run.times.len() >= 2) && twice.runs.len() == space);
    let seconds = |runs: &Runs, text: &str| runs.runs.iter().find(|run| run.traversal.to_string() == text).unwrap().seconds;
    for run in &runs.runs {
        assert_eq!(seconds(&twice, &run.traversal.to_string()), run.seconds);
    }
    // These runs can be learned from like any others.
    assert_eq!(folder.json("learn runs.csv")["runs"], json!(space));
}

/// Several processes add to one file, and no row is lost.
#[test]
fn many_add_at_a_time() {
    let folder = Folder::of("rules");
    folder.write("mine.json", MINE);
    let list = folder.good("count mine.json --list");
    let wanted: Vec<&str> = list.lines().take(12).collect();
    let add = |(index, schedule): (usize, &&str)| {
        std::process::Command::new(assert_cmd::cargo::cargo_bin!("warpsmith"))
            .args(["rules", "add", "mine.json", "--runs", "runs.csv", schedule, &format!("{}e-6", index + 1)])
            .current_dir(&folder.directory)
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = wanted.iter().enumerate().map(add).collect();
    children.into_iter().for_each(|mut child| assert!(child.wait().unwrap().success()));
    let runs = Runs::read(&folder.path("runs.csv")).unwrap();
    assert_eq!(runs.runs.len(), wanted.len());
    for (index, schedule) in wanted.iter().enumerate() {
        let found = runs.runs.iter().find(|run| run.traversal.to_string() == *schedule).unwrap();
        assert_eq!(found.seconds, format!("{}e-6", index + 1).parse::<f64>().unwrap());
    }
    assert_eq!(folder.files(), ["mine.json", "runs.csv"]);
}

/// A schedule that the program refuses, or that ends it, has no time; others do.
#[test]
fn failures_are_written_down() {
    let folder = Folder::of("rules");
    let refused = r#"*'"schedule":"Inner'*) echo '{"error": "Inner comes first"}';;"#;
    let crashed = r#"*'"schedule":"Pack@0;CER-after-Pack;CES'*) exit 3;;"#;
    program(&folder, &format!("{refused}\n{crashed}"));
    let (result, said) = explore(&folder, "--repeats-at-most 1 --search dfs --output runs.csv");
    let runs = Runs::read(&folder.path("runs.csv")).unwrap();
    let begins = |text: &str| runs.failed.iter().filter(|failed| failed.traversal.to_string().starts_with(text)).count();
    let (first, second) = (begins("Inner"), begins("Pack@0;CER-after-Pack;CES"));
    assert!(first > 0 && second > 0 && runs.failed.len() == first + second && !runs.runs.is_empty(), "{runs:?}");
    assert_eq!((&result["runs"], &result["failed"]), (&json!(runs.runs.len()), &json!(runs.failed.len())));
    assert_eq!(said.matches("Inner comes first").count(), first, "{said}");
    assert_eq!(said.matches("it ended without an answer (exit status: 3)").count(), second, "{said}");
    // Each that ended the program was tried twice.
    assert_eq!(fs::read_to_string(folder.path("log.starts")).unwrap().lines().count(), 1 + 2 * second);
    assert_eq!(runs.rows().filter(|(seconds, _)| seconds.is_none()).count(), runs.failed.len());

    // In parts, with the same outcome; what failed isn't tried again.
    let parted = Folder::of("rules");
    program(&parted, &format!("{refused}\n{crashed}"));
    explore(&parted, "--repeats-at-most 1 --search dfs --output runs.csv --iterations 8");
    explore(&parted, "--repeats-at-most 1 --search dfs --output runs.csv --resume");
    let timed = fails(&parted, "explore mine.json --search dfs --output runs.csv --resume -- sh mine.sh log");
    assert!(timed.contains("runs.csv: it can't be resumed with repeats"), "{timed}");
    assert_eq!(Runs::read(&parted.path("runs.csv")).unwrap(), runs);
    let piped = parted.shell("\"$0\" rules explore - --json --output piped.csv --iterations 2 -- sh mine.sh piped < mine.json");
    assert_eq!(piped.status.code(), Some(0), "{}", String::from_utf8_lossy(&piped.stderr));
    assert_eq!(Runs::read(&parted.path("runs.csv")).unwrap(), runs);
    let other = fails(&parted, "explore mine.json --search dfs --output runs.csv --resume -- sh mine.sh other");
    assert!(other.contains("its runs are of times by `sh mine.sh log`, and this search is of `sh mine.sh other`"), "{other}");
    assert_eq!(
        fs::read_to_string(parted.path("log.heard")).unwrap().lines().count(),
        fs::read_to_string(folder.path("log.heard")).unwrap().lines().count()
    );
}

/// The error alone, as --quiet leaves it, says why a search gives up.
#[test]
fn many_failures_end_a_search() {
    let folder = Folder::of("rules");
    program(&folder, "*) echo '{\"error\": \"never\"}';;");
    let said = fails(&folder, "explore mine.json -q --output runs.csv -- sh mine.sh log");
    assert!(said.starts_with("error: ") && said.ends_with(": never; 20 schedules in a row have failed\n"), "{said}");
}

/// A program that writes the line `$3` before or after (`$1`) its `$2`th answer, or before all. It may be behind pipes, so
/// that it hears and is heard late.
const UNASKED: &str = r#"
if [ "$1" = first ]; then echo "$3"; fi
read -r line
echo '{}'
n=0
while read -r line; do
    n=$((n + 1))
    if [ "$1 $2" = "before $n" ]; then echo "$3"; fi
    if [ "$1" = before ]; then sleep 0.01; fi
    echo "{\"seconds\": ${#line}e-9}"
    if [ "$1 $2" = "after $n" ]; then echo "$3"; fi
done
"#;

/// A line that nothing asked for may be taken for an answer, and each answer for the next. No time is kept then.
#[test]
fn lines_that_answer_nothing() {
    let folder = Folder::of("rules");
    folder.write("mine.json", MINE);
    folder.write("mine.sh", UNASKED);
    folder.write("piped.sh", r#"cat | sh mine.sh "$@" | cat"#);
    let space = folder.json("count mine.json")["counts"][1]["schedules"].as_str().unwrap().to_owned();
    let explore = "explore mine.json --repeats-at-most 1 --search random --force --output runs.csv";
    folder.good(&format!("{explore} --iterations 8 -- sh mine.sh"));
    let before = fs::read(folder.path("runs.csv")).unwrap();
    let said = r#"{"seconds":7}"#;
    for (script, place, number) in [
        ("mine.sh", "first", "0"),
        ("mine.sh", "before", "1"),
        ("mine.sh", "after", "9"),
        ("mine.sh", "before", &space),
        ("mine.sh", "after", &space),
        ("piped.sh", "before", "1"),
        ("piped.sh", "after", "9"),
        ("piped.sh", "before", &space),
        ("piped.sh", "after", &space),
    ] {
        let stderr = fails(&folder, &format!("{explore} -- sh {script} {place} {number} {said}"));
        assert!(stderr.contains("without being asked"), "{script} {place} {number}: {stderr}");
        assert!(fs::read(folder.path("runs.csv")).unwrap() == before, "{script} {place} {number}");
        assert_eq!(folder.files(), ["mine.json", "mine.sh", "piped.sh", "runs.csv"]);
    }
    // Lines of another kind are no matter.
    folder.good(&format!("{explore} -- sh mine.sh after 3 seconds:7"));
    // Its command is another one, which a file need not state.
    let unstated = String::from_utf8(before).unwrap().replacen(r#""conditions":"sh mine.sh","#, "", 1);
    fs::write(folder.path("runs.csv.partial"), &unstated).unwrap();
    // A resumed search keeps the measurements that it began with.
    fails(&folder, &format!("{explore} --resume -- sh mine.sh after 9 {said}"));
    fs::write(folder.path("runs.csv.partial"), &unstated).unwrap();
    let rows = |name: &str| Runs::read(&folder.path(name)).unwrap().runs;
    assert_eq!(rows("runs.csv.partial").len(), 8);
    folder.good(&format!("{explore} --resume -- sh mine.sh"));
    assert_eq!(rows("runs.csv").len().to_string(), space);
    for run in rows("runs.csv") {
        assert!(run.seconds < 1e-6, "{run:?}");
    }
}

/// Programs that don't do as they should, as scripts of the shell. The file `pids` has their processes, and the file
/// `ready` appears when they have started.
#[cfg(target_os = "linux")]
mod odd {
    use std::{
        fs,
        process::{Child, Command, Stdio},
        thread,
        time::{Duration, Instant},
    };

    use rustix::process::{Pid, Signal, kill_process};

    use super::{Folder, MINE};

    const TALK: &str = "while read -r line; do echo '{\"seconds\": 1}'; done";
    const READY: &str = "echo $$ >> pids; touch ready;";

    /// A folder with the program, and one whose first line is longer than a pipe.
    fn folder(script: &str) -> Folder {
        let folder = Folder::of("rules");
        folder.write("mine.json", MINE);
        let long = |index: usize| format!(r#"{{"name": "{}{index}", "kind": "cpu"}}"#, "x".repeat(4000));
        let operations: Vec<_> = (0..40).map(long).collect();
        folder.write("long.json", &format!(r#"{{"operations": [{}]}}"#, operations.join(",")));
        folder.write("mine.sh", script);
        folder
    }

    fn start(folder: &Folder, arguments: &str) -> Child {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("warpsmith"));
        crate::signals::heed_interrupts(&mut command)
            .args(format!("rules explore {arguments} --output runs.csv -- sh mine.sh").split_whitespace())
            .current_dir(&folder.directory)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Waits until it has ended. Gives its exit code, its last words, its greatest memory in MiB, and how long it took.
    fn wait(mut child: Child) -> (Option<i32>, String, u64, Duration) {
        let (start, mut most) = (Instant::now(), 0);
        while child.try_wait().unwrap().is_none() {
            let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
            let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
            most = most.max(peak.map_or(0, |kib| kib.parse::<u64>().unwrap() >> 10));
            if start.elapsed() > Duration::from_secs(60) {
                child.kill().unwrap();
            }
            thread::sleep(Duration::from_millis(5));
        }
        let took = start.elapsed();
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap(), most, took)
    }

    /// The processes that still run, of those that the program has named.
    #[track_caller]
    fn none_is_left(folder: &Folder) {
        for pid in fs::read_to_string(folder.path("pids")).unwrap().lines() {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
        }
    }

    /// Each wait has its limit, no output fills the memory, and nothing is left running.
    #[test]
    fn limits_hold() {
        let greet = "read -r line; echo '{}';";
        let cases = [
            ("mine", "exec sleep 1000".to_owned(), "", 2, "no answer in 0.3 s"),
            ("mine", "exec yes noise".to_owned(), "", 2, "no answer in 0.3 s"),
            ("mine", "exec yes '{}'".to_owned(), "", 2, "without being asked"),
            ("long", "exec sleep 1000".to_owned(), "", 2, "no answer in 0.3 s"),
            ("mine", "exec 0<&-; sleep 1000".to_owned(), "", 2, "it has closed its input"),
            ("mine", "read -r line; printf '%03000000d' 0; sleep 1000".to_owned(), "", 2, "a line is longer than 1048576 bytes"),
            ("mine", format!("{greet} exec 0<&-; sleep 1000"), "--iterations 2", 2, "it has closed its input"),
            ("mine", format!("{greet} sleep 1000"), "--iterations 2", 2, "no answer in 0.3 s"),
            ("mine", format!("{greet} exec yes noise"), "--iterations 2", 2, "no answer in 0.3 s"),
            ("mine", format!("{greet} read -r line; exec yes noise"), "--iterations 2", 2, "no answer in 0.3 s"),
            (
                "mine",
                format!("{greet} {}; sleep 1000", TALK.replace("\"seconds\": 1", "\"error\": \"no\"")),
                "--iterations 2",
                2,
                "no schedule",
            ),
            ("mine", format!("{greet} {TALK}; sleep 1000"), "--iterations 2", 0, ""),
            ("mine", format!("{greet} {TALK}; exec yes noise"), "--iterations 2", 0, ""),
            ("mine", format!("{greet} {TALK}; exec yes '{{}}'"), "--iterations 2", 2, "without being asked"),
        ];
        // Two at a time: they wait more than they work.
        for two in cases.chunks(2) {
            thread::scope(|scope| {
                for (program, script, options, code, said) in two {
                    scope.spawn(move || {
                        let folder = folder(&format!("{READY} {script}"));
                        let (found, stderr, memory, took) =
                            wait(start(&folder, &format!("{program}.json --limit 0.3 {options}")));
                        assert!(found == Some(*code) && stderr.contains(said), "{script}: {stderr}");
                        assert!(memory < 500 && took.as_secs() < 30, "{script}: {memory} MiB, {took:?}");
                        assert_eq!(folder.path("runs.csv").exists(), *code == 0, "{script}");
                        assert!(!said.starts_with("no schedule") || !folder.path("runs.csv.partial").exists());
                        none_is_left(&folder);
                    });
                }
            });
        }
    }

    /// A signal ends this program and the other one with all its processes, whatever they heed, in any of the waits.
    #[test]
    fn signals_end_both() {
        let heeds_nothing = "trap '' TERM HUP INT; sleep 1000 & echo $! >> pids;";
        for (program, script) in [
            ("mine", format!("{READY} sleep 1000")),
            ("long", format!("{READY} sleep 1000")),
            ("mine", format!("{READY} exec yes noise")),
            ("mine", format!("read -r line; echo '{{}}'; {READY} sleep 1000")),
            ("mine", format!("read -r line; echo '{{}}'; read -r line; {READY} sleep 1000")),
            ("mine", format!("read -r line; echo '{{}}'; {TALK}; {READY} exec yes noise")),
        ] {
            for signals in [1, 2] {
                let folder = folder(&format!("{heeds_nothing} {script}"));
                let mut child = start(&folder, &format!("{program}.json --iterations 3"));
                while !folder.path("ready").exists() {
                    assert!(child.try_wait().unwrap().is_none(), "it has ended: {script}");
                    thread::sleep(Duration::from_millis(5));
                }
                for _ in 0..signals {
                    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
                    thread::sleep(Duration::from_millis(50));
                }
                let (code, stderr, _, took) = wait(child);
                assert!(code == Some(143) && stderr.ends_with("error: cancelled\n"), "{script}: {code:?}, {stderr}");
                assert!(took.as_secs() < 10, "{script}: {took:?}");
                none_is_left(&folder);
            }
        }
    }
}

#[test]
fn programs_that_are_none() {
    let folder = Folder::of("rules");
    folder.write("mine.json", MINE);
    for (command, said) in [
        ("explore mine.json --output x.csv", "mine.json has a program's operations, and not the program: say behind `--`"),
        ("explore mine.json --output x.csv -- ./not-there", "./not-there: it can't be started: No such file"),
        ("explore mine.json --output x.csv -- true", "true: it ended without an answer"),
        ("explore mine.json --output x.csv -- false", "false: it ended without an answer (exit status: 1)"),
        ("explore mine.json --output x.csv -- cat", "ranks"),
        ("explore mine.json --output x.csv --limit 0.1 -- sleep 100", "sleep: no answer in 0.1 s"),
        ("explore mine.json --output x.csv --limit 0 -- true", "not a number of seconds above 0"),
        ("explore mine.json --output x.csv --check -- true", "--check is for spmv and halo"),
        ("explore mine.json --output x.csv --platform sim -- true", "--platform is for spmv and halo"),
        ("explore spmv --output x.csv -- true", "measures a program of your own, which a file describes"),
        ("explore mine.json --output mine.json -- true", "mine.json can't be written: it is to be read"),
    ] {
        if command.ends_with("cat") {
            // It answers with the question, which is no answer: ranks are one then, and there is no time.
            let said = fails(&folder, command);
            assert!(said.contains("its answer has neither `seconds` nor `error`"), "{said}");
            continue;
        }
        folder.bad(command, said);
        assert!(!folder.path("x.csv").exists(), "{command}");
    }
}

/// Measurements from elsewhere: a table with schedules and times, in any order, with whatever else.
#[test]
fn tables_of_ones_own() {
    let folder = Folder::of("rules");
    let text = "when,schedule,time\nmonday,A@0;B@0,1.0\ntuesday,B@0;A@0,2\nwednesday,A@0;B@1,failed\n";
    folder.write("own.csv", text);
    let runs = Runs::read(&folder.path("own.csv")).unwrap();
    assert_eq!((runs.times(), runs.failed.len()), (vec![1.0, 2.0], 1));
    assert_eq!(runs.runs[1].traversal.to_string(), "B@0;A@0");
    for (text, said) in [
        ("schedule\nA\n", "own.csv: it is not a file of runs"),
        ("seconds,schedule\n1,A\nx,A\n", "own.csv: line 3: `x` is not a time in seconds"),
        ("seconds,schedule\n1,A\n-1,A\n", "own.csv: line 3: `-1` is not a time in seconds"),
        ("seconds,schedule\n1,A\n1e400,A\n", "own.csv: line 3: `1e400` is not a time in seconds"),
        ("seconds,schedule\n1,A\n1,B\n", "own.csv: line 3: the schedule has other operations than the first"),
        ("seconds,schedule\n1,A\n1\n", "own.csv: line 3: there is 1 field for 2 columns"),
        ("seconds,schedule\n1,A@x\n", "own.csv: line 2"),
    ] {
        folder.write("own.csv", text);
        folder.bad("learn own.csv", said);
    }
}

/// Answers outside of the protocol: the error names the field and its value.
#[test]
fn answers_that_are_none() {
    for (about, answer, said) in [
        (r#"{"ranks": 0}"#, "", "it says that it has 0 ranks"),
        (r#"{"ranks": -1}"#, "", "it answered `{\"ranks\": -1}`: `ranks`: invalid value: integer `-1`"),
        (r#"{"platform": 1}"#, "", "`platform`: invalid type: integer `1`, expected a string"),
        (r#"{"warpsmith": 2}"#, "", "it speaks version 2 of the protocol, and this is 1"),
        ("{", "", "it answered `{`: EOF while parsing"),
        ("{}", r#"{"seconds": "1"}"#, "`seconds`: invalid type: string \"1\", expected f64"),
        ("{}", r#"{"seconds": -1}"#, "-1 s is not a time"),
        ("{}", r#"{"seconds": 1e999}"#, "number out of range"),
        ("{}", r#"{"error": 1}"#, "`error`: invalid type: integer `1`"),
        ("{}", r#"{"seconds": 1} {"#, "trailing characters"),
        ("{}", "{}", "its answer has neither `seconds` nor `error`"),
        ("{}", r#"{"debug": "so"}"#, "its answer has neither `seconds` nor `error`"),
        (r#"{"ranks": 16777216}"#, r#"{"error": "so"}"#, "so"),
        (r#"{"ranks": 16777217}"#, "", "it says that it has 16777217 ranks: 1 to 16777216 are possible"),
        (r#"{"ranks": 18446744073709551615}"#, "", "it says that it has 18446744073709551615 ranks"),
    ] {
        let folder = Folder::of("rules");
        folder.write("mine.json", MINE);
        folder.write("mine.sh", &format!("read -r line\necho '{about}'\nwhile read -r line; do echo '{answer}'; done\n"));
        let said_by = fails(&folder, "explore mine.json --iterations 1 --limit 5 --output none.csv -- sh mine.sh");
        assert!(said_by.contains(said), "{said_by}\nlacks: {said}");
        assert!(!folder.path("none.csv").exists());
    }
}
