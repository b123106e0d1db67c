//! Faults in the middle of every command that writes: a disk that is or gets full, a signal, an input that has lost its
//! end, a fault of the device. An older output stays as it was, and nothing else is left.
//!
//! Matrices that can go on are in `tests/pcf/resume.rs`, the packer's searches in `tests/overlap/cli.rs`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::process::ExitStatusExt as _,
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use assert_cmd::cargo::cargo_bin;
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    fake_driver, files,
    folder::{Folder, text},
    signals,
};

/// Commands with the names of their outputs, which begin with `x`.
const WRITERS: &[&str] = &[
    "tree root t.txt --output x.npz",
    "tree root t.npy --output xs",
    "tree lca t.txt q.txt --output x.npy",
    "tree sums t.npy w.npy --output x.npz",
    "graph components g.npy --output xs",
    "graph bridges g.gr --output x.npz",
    "graph bcc g.npy --output xs",
    "graph bcc l.geojson --output x.geojson",
    "graph components g.gr --output x.csv",
    "graph random --vertices 1e5 --output x.npy",
    "list-rank --n 2e5 --output x.npy --order xo.npy",
    "list-rank --input next.npy --weights next.npy --output x.npy",
    "list-rank --input next.npy --forest --output x.npy --lists xl.npy",
    "pcf random --count 5000 --points 30 --output x.csv",
    "pcf random --count 5000 --points 30 --output x.npz",
    "pcf random --count 30 --points 3 --output x.npy",
    "pcf convert a.npz --output x.csv",
    "pcf betti bars.csv --output x.npz",
    "pcf stable-rank bars.csv --output x.csv",
    "pcf mean b.npy --output x.npz",
    "pcf cluster b.npy --clusters 2 --output x.csv",
    "pcf pdist b.npy --output x.npy",
    "pcf pdist b.npy --output x.csv",
    "pcf plot k.npy --output x.png",
    "pcf plot k.npy --output x.svg",
    "overlap total p.csv --output x.csv",
    "overlap total p.csv --boundary 9 --shape l.json --output x.npy",
    "overlap pairs p.csv --output x.json",
    "overlap pairs p.csv --output x.npy",
    "overlap gradient p.csv --output x.csv",
    "overlap plot p.csv --output x.svg",
    "overlap plot p.csv --output x.png",
    "overlap lattice --shape s.svg --copies 1 --output x.csv",
    "nest s.svg:3 p.json --sheet 5x4 --time 100ms --output x.svg",
    "rules explore spmv --platform sim --matrix m.mtx --iterations 20 --output x.csv",
    "rules emit runs.csv --output x.cpp",
    "rules draw spmv --output x.dot",
    "rules report runs.csv --output x.html",
    "concurrency --repeat 1 --streams 1 --batch 4 --poses 8 --iterations 1 --output xs",
];

/// An input of each kind.
fn folder() -> Folder {
    let folder = files::folder();
    let tree: Vec<i32> = (1..40_000).flat_map(|vertex| [vertex, vertex * 7 / 9]).collect();
    let lines = |edges: &[i32]| edges.chunks(2).map(|edge| format!("{} {}\n", edge[0], edge[1])).collect::<String>();
    folder.write("t.txt", &lines(&tree));
    folder.write("q.txt", &lines(&tree[..60_000]));
    let arcs = lines(&tree.iter().map(|vertex| vertex + 1).collect::<Vec<_>>()).replace('\n', " 1\n");
    folder.write("g.gr", &format!("p sp 40000 39999\na {}", arcs.trim_end().replace('\n', "\na ")));
    ndarray_npy::write_npy(folder.path("t.npy"), &ndarray::aview1(&tree).to_shape((39_999, 2)).unwrap()).unwrap();
    folder.write_numbers("w.npy", &[1.0; 40_000]);
    folder.write_numbers("next.npy", &(1..=90_000).map(|next| if next < 90_000 { next } else { -1 }).collect::<Vec<i32>>());
    folder.good("graph random --kind uniform --vertices 3e4 --output g.npy");
    let grid: String = (0..3000).map(|i| format!("{},{},0\n", i % 60, i / 60)).collect();
    folder.write("p.csv", &format!("x,y,theta\n{grid}"));
    let points: Vec<String> = (0..4000).map(|i| format!("[{i},{}]", i % 7)).collect();
    folder.write("l.geojson", &format!(r#"{{"type":"LineString","coordinates":[{}]}}"#, points.join(",")));
    folder.write("bars.csv", &format!("birth,death\n{}", "0,1\n0.5,3\n".repeat(2000)));
    folder.write("p.json", "{\"outline\": [[0, 0], [1, 0], [0, 1]]}");
    folder.write("s.svg", "<svg xmlns='http://www.w3.org/2000/svg' width='2mm' height='2mm' viewBox='0 0 2 2'><polygon points='0,0 2,0 2,1 1,1 1,2 0,2'/></svg>");
    folder
}

/// Returns the files below a folder, with their contents.
fn contents(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for name in folder.files() {
        let path = folder.path(&name);
        match fs::read_dir(&path) {
            Ok(inner) => found.extend(inner.map(|file| {
                let file = file.unwrap();
                (format!("{name}/{}", file.file_name().to_str().unwrap()), fs::read(file.path()).unwrap())
            })),
            Err(_) => drop(found.insert(name, fs::read(path).unwrap_or_default())),
        }
    }
    found
}

/// The files that the command writes into a folder without them, which are then removed.
fn outputs(folder: &Folder, command: &str) -> BTreeMap<String, Vec<u8>> {
    let before = contents(folder);
    folder.good(command);
    let mut written = contents(folder);
    written.retain(|name, _| !before.contains_key(name));
    written.keys().for_each(|name| fs::remove_file(folder.path(name)).unwrap());
    let _ = fs::remove_dir(folder.path("xs"));
    assert!(!written.is_empty() && written.keys().all(|name| name.starts_with('x')), "{command}");
    written
}

/// Puts older files in the place of outputs, or removes them.
fn put_older(folder: &Folder, outputs: &BTreeMap<String, Vec<u8>>, older: bool) {
    for name in outputs.keys() {
        match older {
            true => {
                fs::create_dir_all(folder.path(name).parent().unwrap()).unwrap();
                folder.write(name, "as it was");
            }
            false => drop(fs::remove_file(folder.path(name))),
        }
    }
    if !older {
        let _ = fs::remove_dir(folder.path("xs"));
    }
}

/// The program, started by another one.
fn started_by(folder: &Folder, program: &str, options: &[&str], command: &str) -> Command {
    let mut child = Command::new(program);
    child.args(options).arg(cargo_bin!("warpsmith")).args(command.split(' ')).current_dir(&folder.directory);
    signals::heed_interrupts(&mut child).stdout(Stdio::piped()).stderr(Stdio::piped());
    child
}

/// No byte fits, half of the largest output does, or all but its last byte.
#[test]
fn a_full_disk_is_one_sentence_that_names_the_file() {
    let folder = folder();
    for command in WRITERS {
        let written = outputs(&folder, command);
        let most = written.values().map(Vec::len).max().unwrap();
        for (limit, older) in [(0, false), (most / 2, true), (most - 1, false)] {
            // Times of the study are other ones in each run, and so are the sizes of its plots. Schedules are written before
            // their timelines are.
            if limit > most / 2 && (command.starts_with("concurrency") || command.starts_with("nest"))
                || limit > 0 && command.starts_with("rules explore")
            {
                continue;
            }
            put_older(&folder, &written, older);
            let before = contents(&folder);
            let limit = format!("--fsize={limit}");
            let output = started_by(&folder, "prlimit", &[&limit, "--"], command).output().unwrap();
            let stderr = text(&output.stderr);
            let name = stderr.strip_prefix("error: x").and_then(|rest| rest.strip_suffix(" can't be written: file too large\n"));
            // Each measured schedule is written at once to a file beside the output.
            let name = name.map(|name| format!("x{}", name.trim_end_matches(".partial")));
            assert!(
                output.status.code() == Some(2) && name.is_some_and(|name| written.contains_key(&name)),
                "{command}: {stderr}"
            );
            assert!(contents(&folder) == before, "{command}, {limit}");
        }
        put_older(&folder, &written, false);
    }
}

/// At three moments of each command, but for searches, which write what they have (tests/design_rules/cli.rs).
#[test]
fn a_signal_leaves_the_whole_output_or_none() {
    let folder = folder();
    let mut ended = 0;
    let searches = |command: &str| command.starts_with("rules explore") || command.starts_with("nest");
    for (number, command) in WRITERS.iter().enumerate().filter(|(_, command)| !searches(command)) {
        let start = Instant::now();
        let written = outputs(&folder, command);
        let took = start.elapsed();
        let of_terminal = if number % 2 == 0 { (Signal::INT, 130) } else { (Signal::HUP, 129) };
        for (tenths, (signal, code)) in [(9, of_terminal), (5, (Signal::TERM, 143)), (7, (Signal::KILL, -9))] {
            put_older(&folder, &written, true);
            let older = contents(&folder);
            let child = started_by(&folder, "env", &[], command).spawn().unwrap();
            signals::wait_until_handled(&child);
            thread::sleep((took * tenths / 10).saturating_sub(Duration::from_millis(5)));
            kill_process(Pid::from_child(&child), signal).unwrap();
            let Output { status, stderr, .. } = child.wait_with_output().unwrap();
            let after = contents(&folder);
            if status.success() {
                let new = |name: &String| after[name] != b"as it was";
                assert!(after.keys().eq(older.keys()) && written.keys().all(new) && stderr.is_empty(), "{command}");
                continue;
            }
            ended += 1;
            let killed = signal == Signal::KILL;
            assert_eq!(status.code().or(status.signal().map(|signal| -signal)), Some(code), "{command}");
            assert_eq!(text(&stderr), if killed { "" } else { "error: cancelled\n" }, "{command}");
            // A process that is killed can't remove what it was writing.
            for name in after.keys().filter(|name| killed && name.ends_with(".part")) {
                fs::remove_file(folder.path(name)).unwrap();
            }
            let after = contents(&folder);
            assert!(after.keys().eq(older.keys()), "{command}, {signal:?}");
            let (new, old): (Vec<_>, Vec<_>) = after.iter().partition(|&(name, bytes)| older[name] != *bytes);
            // One file is there after the other.
            assert!(
                new.is_empty() || killed || !old.iter().any(|(name, _)| written.contains_key(*name)),
                "{command}, {signal:?}"
            );
            let whole = |(name, bytes): &(&String, &Vec<u8>)| written.get(*name).is_some_and(|whole| whole.len() == bytes.len());
            assert!(new.iter().all(whole) || command.starts_with("concurrency"), "{command}, {signal:?}");
        }
        put_older(&folder, &written, false);
    }
    assert!(ended > WRITERS.len() / 2, "only {ended} runs were ended");
}

/// Each input empty, as its first half, and without its last four bytes before a line's end.
#[test]
fn an_input_without_its_end_is_an_error_or_a_shorter_one() {
    let folder = folder();
    let inputs = contents(&folder);
    for command in WRITERS {
        let names: BTreeSet<_> = command.split(' ').filter(|word| inputs.contains_key(*word)).collect();
        for &name in &names {
            let bytes = &inputs[name];
            let end = bytes.trim_ascii_end().len();
            for length in [0, end / 2, end - 4] {
                fs::write(folder.path(name), &bytes[..length]).unwrap();
                let before = contents(&folder);
                let output = folder.run(command);
                let stderr = text(&output.stderr);
                let rows = [".txt", ".csv"].iter().any(|extension| name.ends_with(extension));
                if output.status.success() && rows {
                    // Lines that are whole.
                    contents(&folder).keys().filter(|name| !before.contains_key(*name)).for_each(|name| {
                        fs::remove_file(folder.path(name)).unwrap();
                    });
                    continue;
                }
                assert_eq!((output.status.code(), &*text(&output.stdout)), (Some(2), ""), "{command}, {length} bytes: {stderr}");
                assert!(
                    stderr.starts_with("error: ") && names.iter().any(|name| stderr.contains(name)),
                    "{command}, {length} bytes: {stderr}"
                );
                assert!(contents(&folder) == before, "{command}, {length} bytes");
            }
            fs::write(folder.path(name), bytes).unwrap();
        }
    }
}

/// The first or the third launch of a kernel fails.
#[test]
fn a_fault_of_the_device_names_the_kernel() {
    let Some(driver) = fake_driver::library() else { return };
    let folder = folder();
    let mut faults = 0;
    for command in WRITERS {
        let written = outputs(&folder, command);
        put_older(&folder, &written, true);
        let before = contents(&folder);
        for launch in [1, 3] {
            let fail = format!("FAKE_CUDA_FAIL=cuLaunchKernel#{launch}:700");
            let path = format!("LD_LIBRARY_PATH={}", driver.display());
            let options = [&*fail, &path, "WARPSMITH_BACKEND=cuda"];
            let output = started_by(&folder, "timeout", &["100", "env", options[0], options[1], options[2]], command).output();
            let output = output.unwrap();
            let stderr = text(&output.stderr);
            if !stderr.contains("700") {
                // It needs no device, or fewer launches; or what kernels that do nothing leave is refused.
                continue;
            }
            faults += 1;
            assert_eq!(output.status.code(), Some(2), "{command}, launch {launch}: {stderr}");
            assert!(stderr.starts_with("error: ") && stderr.contains("kernel"), "{command}, launch {launch}: {stderr}");
            assert!(contents(&folder) == before, "{command}, launch {launch}");
        }
        put_older(&folder, &written, false);
    }
    assert!(faults > 15, "only {faults} launches failed");
}
