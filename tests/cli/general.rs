//! The command line, on the backend that `WARPSMITH_BACKEND` names, by default on the best device.

use std::{
    fs,
    io::Read as _,
    process::{Command, Stdio},
};

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use warpsmith::{device::no_cuda_reason, list_rank::generate};

use crate::{
    folder::{Folder, has, text},
    walk,
};

/// The elements in the list's order.
fn order_of(next: &[i32]) -> Vec<usize> {
    let ranks = walk::ranks(&next.iter().copied().map(i64::from).collect::<Vec<_>>());
    let mut order = vec![0; next.len()];
    ranks.into_iter().enumerate().for_each(|(element, rank)| order[rank as usize] = element);
    order
}

/// Each command has a manual page, help that fits a screen, and all of it behind `help`.
#[test]
fn help_of_every_command() {
    let folder = Folder::of("");
    assert_eq!(folder.good("manual pages/man1"), "Written: pages/man1\n");
    let pages = fs::read_dir(folder.path("pages/man1")).unwrap().map(|page| page.unwrap().file_name().into_string().unwrap());
    // Names of commands have hyphens, too.
    let words = |page: String| {
        let hyphened = ["list-rank", "l2-kernel", "stable-rank"];
        let name = hyphened.iter().fold(page, |name, word| name.replace(word, &word.replace('-', "_")));
        name.strip_prefix("warpsmith-")?.strip_suffix(".1").map(|name| name.replace('-', " ").replace('_', "-"))
    };
    let commands: Vec<String> = pages.filter_map(words).collect();
    assert!(commands.len() > 40, "{commands:?}");
    let narrow = |text: &str| text.lines().all(|line| line.chars().count() <= 80);
    let brief = folder.good("--help");
    assert!(brief.lines().count() <= 60 && narrow(&brief), "{brief}");
    for command in &commands {
        let brief = folder.good(&format!("{command} --help"));
        assert!(brief.lines().count() <= 60 && narrow(&brief) && brief.contains("Examples:"), "{command}: {brief}");
        assert!(brief.contains(&format!("warpsmith help {command}\n")), "{brief}");
        let whole = folder.good(&format!("help {command}"));
        assert!(whole.contains("--backend <BACKEND>") && whole.contains("Examples:") && narrow(&whole), "{command}: {whole}");
    }
    let brief = folder.good("pcf pdist -h");
    assert!(!brief.contains("--decimal-comma") && brief.contains("-o, --output"), "{brief}");
    assert!(folder.good("help pcf pdist").contains("--decimal-comma"));
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(folder.good(&format!("completions {shell}")).contains("memory-budget"), "{shell}");
    }
    // A folder can't be made below a file.
    folder.good("list-rank --n 10 -o ranks.npy");
    folder.bad("manual ranks.npy/man1", "ranks.npy/man1 can't be written: ");
}

#[test]
fn no_warnings_if_quiet() {
    let folder = Folder::of("");
    folder.write("ends.csv", "function,t,v\n0,0,1\n1,0,2\n");
    assert!(folder.warned("pcf pdist ends.csv --output d.npy", true).contains("Written"));
    assert!(folder.good("pcf pdist ends.csv -q --output d.npy").contains("Written"));
    folder.bad("pcf pdist ends.csv -q -v --output d.npy", "cannot be used with");
}

#[test]
fn json_has_its_fields() {
    let value = Folder::of("list-rank").json("--n 10_000 --strategy split");
    assert_eq!(value["system"], "list-rank");
    assert!(value["backend"] == "cpu" || value["backend"] == "cuda", "{value}");
    assert!(!value["device"].as_str().unwrap().is_empty());
    assert_eq!(value["n"], 10_000);
    assert!(value["sublists"].as_u64().unwrap() > 1);
    assert_eq!(value["strategy"], "split");
    assert!(value["verified"].is_null());
    let steps = value["steps"].as_array().unwrap();
    let names: Vec<_> = steps.iter().map(|step| step["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["head", "walk", "sublists", "ranks"]);
    assert!(steps.iter().all(|step| step["bytes"].as_u64().unwrap() > 0));
    let sum: f64 = steps.iter().map(|step| step["ms"].as_f64().unwrap()).sum();
    assert!((sum - value["total_ms"].as_f64().unwrap()).abs() < 1e-9 && sum > 0.0);
}

#[test]
fn the_table_has_a_row_a_step() {
    let folder = Folder::of("list-rank");
    let table = folder.good("--n 1e4 --strategy packed --seed 3 --repeat 3 --verify");
    let header = table.lines().next().unwrap();
    assert!(header.contains("10,000 elements (random)") && header.contains("sublists, strategy packed"), "{header}");
    let parts = ["head", "copy", "walk", "sublists", "ranks", "total", "kB", "GB/s", "100.0 %", "median of 3 runs", "Verified: "];
    has(&table, &parts);
    assert!(folder.good("--n 1").contains("Not verified"));
}

#[test]
fn all_kinds_and_strategies_verify() {
    let folder = Folder::of("list-rank");
    for kind in ["random", "sequential", "reversed", "strided", "block-shuffled"] {
        for strategy in ["split", "packed", "binned"] {
            let value = folder.json(&format!("--n 5e3 --kind {kind} --strategy {strategy} --verify"));
            assert_eq!((&value["verified"], &value["list"], &value["strategy"]), (&true.into(), &kind.into(), &strategy.into()));
        }
    }
    let value = folder.json("--n 3k --verify --splitters first --sublists 100 --trusted");
    assert_eq!((&value["verified"], &value["sublists"]), (&true.into(), &100.into()));
}

#[test]
fn ranks_and_order_are_right() {
    let folder = Folder::of("list-rank");
    let next = generate::random(3000, 5);
    let order = order_of(&next);
    folder.write_numbers("next.npy", &next);
    folder.write_numbers("wide.npy", &next.iter().map(|&next| i64::from(next)).collect::<Vec<_>>());
    for (input, more) in [("next.npy", String::new()), ("wide.npy", format!("--head {}", order[0]))] {
        let table = folder.good(&format!("--input {input} --output ranks.npy --order order.npy --verify {more}"));
        assert!(table.contains(input) && table.contains("Written: ranks.npy\nWritten: order.npy\n"), "{table}");
        let ranks = folder.numbers::<i32>("ranks.npy");
        assert!(order.iter().enumerate().all(|(rank, &element)| ranks[element] == rank as i32));
        assert_eq!(folder.numbers::<i32>("order.npy"), order.iter().map(|&element| element as i32).collect::<Vec<_>>());
    }
    assert_eq!(folder.files(), ["next.npy", "order.npy", "ranks.npy", "wide.npy"]);
}

#[test]
fn sums_of_all_types() {
    let folder = Folder::of("list-rank");
    let n = 2000;
    let next = generate::random(n as u32, 6);
    let order = order_of(&next);
    let weights: Vec<i32> = (0..n).map(|element| element % 7 - 3).collect();
    let mut expected = vec![0; n as usize];
    let mut sum = 0;
    for &element in &order {
        expected[element] = sum;
        sum += weights[element];
    }
    folder.write_numbers("next.npy", &next);
    // Small whole numbers and halves are exact in any order.
    macro_rules! sums {
        ($($kind:ident: $t:ty, $weight:expr;)*) => {$({
            let weight: fn(i32) -> $t = $weight;
            let all = |values: &[i32]| values.iter().map(|&value| weight(value)).collect::<Vec<_>>();
            let file = concat!(stringify!($kind), ".npy");
            folder.write_numbers(file, &all(&weights));
            let value = folder.json(&format!("--input next.npy --weights {file} --output sums.npy --verify"));
            let kind = stringify!($kind);
            assert_eq!((&value["verified"], &value["weights"], &value["result"]), (&true.into(), &kind.into(), &"sums".into()));
            assert_eq!(folder.numbers::<$t>("sums.npy"), all(&expected));
        })*};
    }
    sums! {
        int32: i32, |w| w;
        int64: i64, |w| i64::from(w) << 33;
        float32: f32, |w| w as f32;
        float64: f64, |w| f64::from(w) * 0.5;
    }
    // Without a list, one is generated that is as long.
    let value = folder.json("--weights float64.npy --verify");
    assert_eq!((&value["n"], &value["verified"]), (&n.into(), &true.into()));
}

#[test]
fn a_forest_is_ranked_list_by_list() {
    let folder = Folder::of("list-rank");
    let mut next = generate::random(1000, 7);
    let order = order_of(&next);
    let mut expected = Vec::new();
    for piece in order.chunks(70) {
        next[*piece.last().unwrap()] = -1;
        expected.push(piece);
    }
    expected.sort_by_key(|piece| piece[0]);
    folder.write_numbers("next.npy", &next);
    let value = folder.json("--forest --input next.npy --output ranks.npy --lists lists.npy --verify");
    assert_eq!((&value["verified"], &value["lists"], &value["result"]), (&true.into(), &15.into(), &"forest".into()));
    let (ranks, lists) = (folder.numbers::<i32>("ranks.npy"), folder.numbers::<i32>("lists.npy"));
    for (number, piece) in expected.iter().enumerate() {
        for (rank, &element) in piece.iter().enumerate() {
            assert_eq!((lists[element], ranks[element]), (number as i32, rank as i32));
        }
    }
    assert!(folder.good("--forest --input next.npy").contains("a forest of 15 lists"));
    folder.write_numbers("end.npy", &[1, -2, 3, -1]);
    folder.wrong("--forest --input end.npy --trusted --verify", "next[1] is -2, which is neither an element nor -1");
    folder.write_numbers("one.npy", &[-1]);
    for command in ["--input one.npy", "--input one.npy --forest"] {
        has(&folder.good(command), &["1 element ", ", 1 sublist, "]);
    }
}

#[test]
fn a_list_over_ranks() {
    let folder = Folder::of("--backend cpu list-rank");
    let next = generate::random(1000, 7);
    folder.write_numbers("next.npy", &next);
    let value = folder.json("--gpus 3 --input next.npy --output ranks.npy --verify --repeat 2");
    assert_eq!((&value["verified"], &value["runs"], &value["n"]), (&true.into(), &2.into(), &1000.into()));
    let ranks = folder.numbers::<i64>("ranks.npy");
    assert!(order_of(&next).into_iter().enumerate().all(|(rank, element)| ranks[element] == rank as i64));
}

#[test]
fn backends() {
    let folder = Folder::of("");
    assert_eq!(folder.json("--backend cpu list-rank --n 100")["backend"], "cpu");
    match no_cuda_reason() {
        Some(reason) => {
            folder.bad("list-rank --backend cuda --n 10", &format!("no CUDA device: {reason}"));
            folder.bad("list-rank --device 0 --n 10", &reason);
            folder.bad("devices --backend cuda", &reason);
        }
        None => {
            let value = folder.json("list-rank --backend cuda --n 100 --verify");
            assert_eq!((&value["backend"], &value["verified"]), (&"cuda".into(), &true.into()));
            folder.bad("list-rank --device 4000 --n 10", "");
        }
    }
    let mut command = Command::new(cargo_bin!("warpsmith"));
    let output = command.env("WARPSMITH_BACKEND", "quantum").args(["list-rank", "--n", "10"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("error: WARPSMITH_BACKEND is \"quantum\""));
}

#[test]
fn devices_are_listed() {
    let folder = Folder::of("devices");
    let value = folder.json("");
    let devices = value["devices"].as_array().unwrap();
    let cpu = devices.last().unwrap();
    assert_eq!(cpu["backend"], "cpu");
    assert!(cpu["multiprocessors"].as_u64().unwrap() > 0 && cpu["memory_total"].as_u64().unwrap() > 0);
    assert_eq!(value["no_cuda_reason"].as_str().map(str::to_owned), no_cuda_reason());
    for gpu in &devices[..devices.len() - 1] {
        assert_eq!(gpu["backend"], "cuda");
        assert!(gpu["compute_capability"].as_str().unwrap().contains('.'));
        assert!(gpu["ptx_image"].is_null() || gpu["ptx_image"] == "sm_75" || gpu["ptx_image"] == "sm_80", "{gpu}");
    }
    let table = folder.good("");
    assert!(table.contains("workers") && table.contains("By default commands run on"), "{table}");
    assert_eq!(table.contains("No GPU: "), no_cuda_reason().is_some());
    assert!(!folder.good("--backend cpu").contains("cuda "));
}

#[test]
fn the_demonstration_is_the_default() {
    let folder = Folder::of("");
    let shown = folder.good("");
    assert!(shown.starts_with("warpsmith ") && shown.lines().next().unwrap().contains("running on "), "{shown}");
    let parts = [
        "sequential walk",
        "strategy split",
        "strategy packed",
        "rooting, from edges",
        "lowest common ancestors",
        "the reference",
        "equal",
        "pdist, L1",
        "l2_kernel",
        "areas and derivatives, f64",
        "equal to rounding",
        "tree search, then ",
        "some, for real",
        "Try next:",
        "--help",
    ];
    has(&shown, &parts);
    assert!(!shown.contains("WRONG"));
    // In the width of a pipe.
    let mut command = Command::new(cargo_bin!("warpsmith"));
    command.current_dir(&folder.directory).args(["--backend", "cpu", "demo"]).env_remove("COLUMNS");
    let output = command.output().unwrap();
    let shown = text(&output.stdout);
    assert!(output.status.success() && shown.contains("not on a GPU: --backend cpu was given."), "{shown}");
    assert!(shown.starts_with("warpsmith ") && shown.lines().next().unwrap().contains("running on "), "{shown}");
    assert!(!shown.contains("WRONG"));
    tables_fit(&shown);
}

/// Checks that there are tables, of at most 80 columns.
#[track_caller]
fn tables_fit(shown: &str) {
    // A table is from its first rule to its third.
    let mut rules = 0;
    for line in shown.lines() {
        rules += usize::from(line.starts_with(['─', '═']));
        let within = rules % 3 > 0 || line.starts_with('─');
        assert!(!within || line.chars().count() <= 80, "{shown}");
    }
    assert!(rules > 0 && rules % 3 == 0, "{shown}");
}

/// Every command's tables at 80 columns, and in the default width of a pipe.
#[test]
fn tables_fit_the_terminal() {
    let folder = Folder::of("").with_matrix();
    let long = "a_file_with_a_name_that_is_longer_than_a_terminal_is_wide_and_goes_on_and_on_for_a_while.npz";
    for arguments in [
        format!("pcf random --count 20 --points 4 --output {long}"),
        "pcf random --count 20 --points 4 --output s.npz".to_owned(),
        "rules explore spmv --platform sim --matrix m.mtx --streams 1 --exhaustive --output full.csv".to_owned(),
        "rules explore spmv --platform sim --matrix m.mtx --streams 1 --search mcts --iterations 60 --output runs.csv".to_owned(),
    ] {
        folder.good(&arguments);
    }
    let poses: String = (0..12).map(|index| format!("{},{},0.1,0.2\n", index / 6, 0.1 * f64::from(index))).collect();
    folder.write("p.csv", &format!("packing,x,y,theta\n{poses}"));
    for arguments in [
        "devices",
        "list-rank --n 1e4 --verify --repeat 2",
        &format!("pcf info {long}"),
        &format!("pcf pdist {long} --output d.npy"),
        &format!("--backend cpu pcf cdist s.npz {long} --gpus 3 --output d.npy"),
        "pcf l2-kernel s.npz --output d.npy",
        "overlap total p.csv --boundary 4",
        "overlap pairs p.csv --lattice 3,0,0,3",
        "overlap pack --count 2 --steps 20 --starts 1 --output packed.csv",
        "concurrency --streams 1,2 --batch 4..8 --poses 30 --iterations 1 --repeat 2",
        "rules count halo --streams 3",
        "rules explore spmv --platform sim --matrix m.mtx --iterations 20 --force --output few.csv",
        "rules learn runs.csv --against full.csv",
        "rules study full.csv --seeds 2 --iterations 20,40,60",
    ] {
        for columns in [Some("80"), None] {
            let mut command = Command::new(cargo_bin!("warpsmith"));
            let command = command.current_dir(&folder.directory).args(arguments.split(' ')).env_remove("COLUMNS");
            let output = columns.iter().fold(command, |command, columns| command.env("COLUMNS", columns)).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{arguments}: {}", text(&output.stderr));
            tables_fit(&text(&output.stdout));
        }
    }
}

/// Commands with little memory, which includes the threads' stacks, do their work or end with a
/// sentence.
#[cfg(target_os = "linux")]
#[test]
fn limits_are_no_panics() {
    let folder = Folder::of("");
    let limited = |limit: &str, arguments: &str| {
        let output = folder.shell(&format!("ulimit {limit} && exec \"$0\" {arguments}"));
        let stderr = text(&output.stderr);
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 2)) && !stderr.contains("panicked"), "{limit}, {arguments}: {code:?} {stderr}");
        assert!(code == Some(0) || stderr.starts_with("error: "), "{limit}, {arguments}: {stderr}");
        (code, stderr)
    };
    for arguments in [
        "list-rank --n 1000 --verify",
        "list-rank --n 1e8",
        "pcf random --count 10 --points 10 --output a.npz",
        "pcf random --count 1e6 --points 1e3 --output b.npz",
        "concurrency --streams 1 --batch 4 --poses 4 --iterations 1 --repeat 1",
        "overlap pack --count 2 --steps 10 --starts 1 --output p.csv",
        "overlap pack --count 1e6 --steps 10 --starts 8 --output p.csv",
        "nest 'POLYGON((0 0,40 0,40 30,0 30)):9000000' --sheet 1000x1000 --time 1s --output v.csv",
        "devices",
    ] {
        limited("-v 500000", &format!("--backend cpu {arguments}"));
    }
    // A mean takes about twice what its functions do.
    folder.good("pcf random --count 20000 --points 200 --output s.npz");
    limited("-v 300000", "--threads 1 --backend cpu pcf mean s.npz --output m.npz");
    let poses: String = (0..60_000).map(|i| format!("{},{},0\n", i % 245, i / 245)).collect();
    folder.write("poses.csv", &format!("x,y,theta\n{poses}"));
    for limit in ["-v 650000", "-v 700000", "-v 750000"] {
        for picture in ["a.png", "a.svg"] {
            limited(limit, &format!("--threads 2 --backend cpu overlap plot poses.csv --output {picture}"));
        }
    }
    let (code, stderr) = limited("-v 500000", "--threads 2000 --backend cpu list-rank --n 1000");
    assert!(code == Some(2) && stderr.contains("thread"), "{stderr}");
}

/// Counts of any size and form are accepted or refused with a sentence.
#[test]
fn counts_have_bounds() {
    let folder = Folder::of("");
    folder.good("pcf random --count 3 --points 2 --output s.npz");
    for (command, option) in [
        ("list-rank", "--n"),
        ("list-rank --n 10", "--sublists"),
        ("list-rank --n 10", "--repeat"),
        ("list-rank --n 10", "--gpus"),
        ("graph random --output e.npy", "--vertices"),
        ("tree root t.txt", "--vertices"),
        ("pcf cluster s.npz --output g.csv", "--clusters"),
        ("pcf random --points 2 --output a.npz", "--count"),
        ("pcf random --count 2 --output a.npz", "--points"),
        ("pcf pdist s.npz --output d.npy", "--gpus"),
        ("pcf pdist s.npz --output d.npy", "--memory-budget"),
        ("overlap pack --steps 10 --output p.csv", "--count"),
        ("overlap pack --count 2 --steps 10 --output p.csv", "--starts"),
        ("overlap pack --count 2 --output p.csv", "--steps"),
        ("concurrency --batch 4", "--streams"),
        ("concurrency --streams 1", "--batch"),
        ("concurrency", "--poses"),
        ("concurrency", "--iterations"),
        ("concurrency", "--repeat"),
        ("list-rank --n 10", "--threads"),
    ] {
        for wrong in ["0", "-1", "-9223372036854775808", "9223372036854775807000", "1e400", "nan", "x", ""] {
            let between = if wrong.is_empty() { "=" } else { " " };
            folder.bad(&format!("{command} {option}{between}{wrong}"), &option[2..]);
        }
    }
    folder.bad("list-rank --backend cpu --n 10 --gpus 1000", "'--gpus <N>': it must be at most 64");
    for option in ["graph random --output e.npy --vertices", "pcf cluster s.npz --output g.csv --clusters"] {
        folder.bad(&format!("{option} 0"), "it must be at least 1");
    }
    assert_eq!(folder.files(), ["s.npz"]);
}

/// Errors of numbers name the option, and say what it takes.
#[test]
fn numbers_of_options() {
    let folder = Folder::of("");
    let whole = "it must be a whole number";
    for (command, option, value, sentence) in [
        ("list-rank", "seed <S>", "-1", "it must be a whole number from 0 on"),
        ("list-rank", "seed <S>", "nan", whole),
        ("list-rank", "seed <S>", "18446744073709551616", "the number has too many digits"),
        ("list-rank", "head <H>", "x", whole),
        ("devices", "device <I>", "x", whole),
        ("pcf pdist a.csv -o d.npy", "dimension <D>", "-1", "-1 is not in 0..=4294967295"),
        ("pcf pdist a.csv -o d.npy", "dimension <D>", "x", whole),
        ("pcf cluster a.csv -o g.csv", "clusters <K>", "-1", "it must be at least 1"),
        ("graph random -o e.npy", "missing <P>", "x", "it must be a number"),
        ("homology a.csv", "threshold <T>", "x", "it must be a number"),
        ("nest a.svg --roll 9 -o n.svg", "value <[PART=]V>", "a=x", "it must be a number"),
        ("nest a.svg --roll 9 -o n.svg", "priority <[PART=]K>", "a=1.5", whole),
        ("rules explore halo", "seed <S>", "-1", "it must be a whole number from 0 on"),
        ("rules explore halo", "iterations <N>", "x", whole),
        ("concurrency", "seed <S>", "-1", "-1 is not in 0..=4294967295"),
    ] {
        let name = option.split(' ').next().unwrap();
        let error = format!("error: invalid value '{value}' for '--{option}': {sentence}\n");
        folder.bad(&format!("{command} --{name} {value}"), &error);
    }
    // No file is called so by mistake.
    folder.bad("graph random -o -1", "unexpected argument '-1'");
}

/// Texts that aren't UTF-8 are shown with their option.
#[cfg(unix)]
#[test]
fn texts_that_are_not_utf_8() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};
    let folder = Folder::of("");
    folder.write("p.csv", "x,y,theta\n0,0,0\n");
    for command in [
        "overlap total p.csv --shape",
        "overlap pack --count 2 --output q.csv --shape",
        "overlap plot p.csv --output a.svg --title",
    ] {
        let mut run = Command::new(cargo_bin!("warpsmith"));
        let output =
            run.current_dir(&folder.directory).args(command.split(' ')).arg(OsStr::from_bytes(b"l\xff.json")).output().unwrap();
        let stderr = text(&output.stderr);
        let option = command.rsplit(' ').next().unwrap();
        assert!(output.status.code() == Some(2) && stderr.contains(&format!("for '{option} <")), "{stderr}");
        assert!(stderr.contains("it is not UTF-8 text"), "{stderr}");
    }
}

#[test]
fn verbose_tells_on_stderr() {
    let folder = Folder::of("list-rank --n 100 --json");
    let output = folder.run("-v");
    let (info, code) = (text(&output.stderr), output.status.code());
    assert!(code == Some(0) && info.contains("INFO") && info.contains("warm-up") && !info.contains("DEBUG"), "{info}");
    serde_json::from_slice::<Value>(&output.stdout).unwrap();
    assert!(text(&folder.run("-vv").stderr).contains("DEBUG"));
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let to_stdout = ["list-rank", "--n", "1000", "--output", "-"];
    for arguments in [&to_stdout[..3], &to_stdout, &["devices"], &["--help"]] {
        let mut command = Command::new(cargo_bin!("warpsmith"));
        let mut child = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!((child.wait().unwrap().code(), &*stderr), (Some(0), ""), "{arguments:?}");
    }
    #[cfg(target_os = "linux")]
    for arguments in ["help", "--version", "pcf --help", "completions bash", "devices"] {
        let output = Folder::of("").shell(&format!("exec \"$0\" {arguments} > /dev/full"));
        let expected = (Some(2), "error: stdout can't be written: no space left on device\n".to_owned());
        assert_eq!((output.status.code(), text(&output.stderr)), expected, "{arguments}");
    }
}

/// The number of the CPU's threads comes from the environment; an invalid number, or one that can't
/// be had, is an error and no panic.
#[test]
fn the_number_of_threads() {
    let run = |before: &str, variables: &[(&str, &str)], arguments: &str| {
        let program = cargo_bin!("warpsmith");
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{before} exec \"$0\" {arguments}")]).arg(program);
        command.env_remove("WARPSMITH_THREADS").env_remove("RAYON_NUM_THREADS").envs(variables.iter().copied());
        let output = command.output().unwrap();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let workers = |variables: &[(&str, &str)]| -> Value {
        let (code, out, err) = run("", variables, "devices --backend cpu --json");
        assert_eq!((code, &*err), (Some(0), ""));
        serde_json::from_str::<Value>(&out).unwrap()["devices"][0]["multiprocessors"].clone()
    };
    let cores = std::thread::available_parallelism().unwrap().get();
    assert_eq!(workers(&[]), cores);
    assert_eq!(workers(&[("WARPSMITH_THREADS", "")]), cores);
    assert_eq!(workers(&[("WARPSMITH_THREADS", "5")]), 5);
    assert_eq!(workers(&[("RAYON_NUM_THREADS", "3")]), 3);
    assert_eq!(workers(&[("RAYON_NUM_THREADS", "3"), ("WARPSMITH_THREADS", "7")]), 7);
    let (code, out, err) = run("", &[("WARPSMITH_THREADS", "5")], "devices --backend cpu --threads 3 --json");
    assert!(code == Some(0) && out.contains("\"multiprocessors\": 3"), "{out}{err}");
    for garbage in ["0", "-2", "two", "4097", "1e2"] {
        let (code, out, err) = run("", &[("WARPSMITH_THREADS", garbage)], "list-rank --n 1e3");
        assert_eq!((code, &*out), (Some(2), ""));
        assert_eq!(err, format!("error: WARPSMITH_THREADS is {garbage:?}; it is a number of threads from 1 to 4096\n"));
    }
    // Address space for some threads' stacks, and not for as many.
    let small = "ulimit -v 1000000;";
    let (code, _, err) = run(small, &[("WARPSMITH_THREADS", "4")], "list-rank --n 1e5 --verify --backend cpu");
    assert_eq!((code, &*err), (Some(0), ""));
    let (code, out, err) = run(small, &[("WARPSMITH_THREADS", "4000")], "list-rank --n 1e5 --backend cpu");
    assert_eq!((code, &*out), (Some(2), ""), "{err}");
    assert!(err.starts_with("error: can't start 4000 threads: ") && err.contains("ulimit -u"), "{err}");
    // With less, the stacks of a block's threads may be what doesn't fit.
    let (code, _, err) = run("ulimit -v 500000;", &[], "list-rank --n 1e5 --backend cpu");
    assert!(code == Some(0) || code == Some(2) && err.starts_with("error: ") && err.lines().count() == 1, "{err}");
}

/// Whichever allocation is the first that fails: a signal would dump the memory.
#[test]
#[cfg(target_os = "linux")]
fn too_little_memory_for_anything_is_an_error() {
    let folder = Folder::of("");
    folder.good("graph random --vertices 3e5 --output g.npy");
    let mut errors = 0;
    for megabytes in (100..=450).step_by(5) {
        let script =
            format!("ulimit -v {megabytes}000; exec \"$0\" graph components g.npy --backend cpu --threads 2 --output o.npz");
        let output = folder.shell(&script);
        let (code, stderr) = (output.status.code(), text(&output.stderr));
        assert!(code == Some(0) || code == Some(2) && stderr.starts_with("error: "), "{megabytes} MB: {code:?}: {stderr}");
        errors += usize::from(code == Some(2));
    }
    assert!(errors > 0 && !folder.files().iter().any(|name| name.starts_with('.')), "{:?}", folder.files());
}

/// A terminal obeys control characters: those of files and their names are shown as escapes.
#[test]
fn control_characters_are_escaped() {
    let folder = Folder::of("");
    folder.write("p.csv", "x,y,theta\n0,0,\u{1b}[31m\u{9b}7\n");
    folder.bad("overlap total p.csv", r"line 2: column `theta`: `\u{1b}[31m\u{9b}7`");
    let name = "e\u{1b}]0;\u{7}\u{202e}\r.txt";
    folder.write(name, "0 1\n");
    let obeyed = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    for json in [false, true] {
        let mut command = Command::new(cargo_bin!("warpsmith"));
        let command = command.current_dir(&folder.directory).args(["graph", "bridges", name]);
        let output = command.args(json.then_some("--json")).output().unwrap();
        let shown = text(&output.stdout);
        assert!(output.status.success() && output.stderr.is_empty() && !shown.contains(obeyed), "{shown:?}");
        if json {
            assert_eq!(serde_json::from_str::<Value>(&shown).unwrap()["input"], name);
        } else {
            assert!(shown.contains(r"e\u{1b}]0;\u{7}\u{202e}\r.txt"), "{shown}");
        }
    }
}
