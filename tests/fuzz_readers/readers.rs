//! Damaged files for the readers of the library.

use std::{
    collections::BTreeMap,
    env, fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use warpsmith::{
    design_rules::{Runs, sim::Machine},
    graph,
    io::{
        TableOptions,
        files::{Destination, Reason},
        npy::{Kind, Reader},
    },
    overlap::io::{Format, PoseLayout, read_poses, read_shape, save_poses_at},
    pcf::{
        PcfReal, PcfSet,
        barcode::Filtration,
        io::{BarcodeOptions, Infinite, PcfData, load, load_as, load_barcodes, load_repaired, save},
    },
    spmv::market,
};

use crate::{Random, kept, memory, mutate::Content};

/// Reads a file. Returns the reason if it is rejected, and panics if a property is broken. The
/// number selects options.
type Read = fn(&Path, u64) -> Result<(), String>;

/// Readers, by the folders of the corpus that they read.
const READERS: &[(&str, Read)] = &[
    ("functions", functions),
    ("bars", bars),
    ("poses", poses),
    ("shapes", shapes),
    ("matrices", matrices),
    ("graphs", graphs),
    ("runs", runs),
    ("machines", machines),
    ("lists", lists),
    #[cfg(feature = "parquet")]
    ("tables", tables),
];

/// Longest duration of a case, on a busy machine.
const LONGEST: Duration = Duration::from_secs(60);
/// Memory limit of a case, in bytes, and its increase per byte of the file: small archives may
/// unpack to 64 MiB, and small matrices have up to 2^20 rows.
const ANY_FILE: usize = 600 << 20;
const A_BYTE: usize = 400;

static CASES: AtomicU64 = AtomicU64::new(0);

/// Runs cases until the time is up.
pub fn run(end: Instant, seed: u64) -> ExitCode {
    thread::spawn(watch);
    let corpus = corpus();
    let folder = tempfile::tempdir().unwrap();
    let mut accepted = BTreeMap::<&str, [u64; 2]>::new();
    let mut case = seed << 32;
    let mut undamaged = corpus.iter().flat_map(|(_, _, contents)| contents).count();
    while Instant::now() < end || undamaged > 0 {
        let mut random = Random::new(case);
        // First each file as it is, so that the corpus is a test of its own.
        let whole = case - (seed << 32);
        let (name, read, extension, content) =
            match corpus.iter().flat_map(|(name, read, all)| all.iter().map(move |of| (name, read, of))).nth(whole as usize) {
                Some((name, read, (extension, content))) => {
                    undamaged -= 1;
                    (*name, *read, extension, content.clone())
                }
                None => {
                    let (name, read, all) = random.of(&corpus);
                    let (extension, content) = random.of(all);
                    let others: Vec<Content> = all.iter().map(|(_, content)| content.clone()).collect();
                    let mut content = content.clone();
                    let times = if random.one_in(2) { 1 } else { 2 + random.below(4) };
                    for _ in 0..times {
                        content.damage(&mut random, &others);
                    }
                    (*name, *read, extension, content)
                }
            };
        let mut bytes = content.bytes();
        if undamaged == 0 && random.one_in(20) && !bytes.is_empty() {
            // Damages bytes regardless of the format.
            for _ in 0..1 + random.below(3) {
                let place = random.below(bytes.len());
                bytes[place] = random.next() as u8;
            }
        }
        let file = format!("case.{extension}");
        let path = folder.path().join(&file);
        fs::write(&path, &bytes).unwrap();
        // A case that ends the process leaves this file behind.
        let last = kept().join(format!("{name}-{file}"));
        fs::write(&last, &bytes).unwrap();
        let before = memory::start();
        let outcome = catch_unwind(AssertUnwindSafe(|| read(&path, case)));
        let taken = memory::peak() - before;
        let wrong = match &outcome {
            Err(_) => Some("it panics".to_owned()),
            _ if taken > ANY_FILE + A_BYTE * bytes.len() => Some(format!("it takes {} MiB", taken >> 20)),
            Ok(Err(sentence)) => odd(sentence, &file),
            Ok(Ok(())) => None,
        };
        if let Some(wrong) = wrong {
            let kept = kept().join(format!("failed-{name}-{case}.{extension}"));
            fs::write(&kept, &bytes).unwrap();
            eprintln!("case {case}: {}: {wrong}", kept.display());
            return ExitCode::FAILURE;
        }
        accepted.entry(name).or_default()[usize::from(matches!(outcome, Ok(Ok(()))))] += 1;
        fs::remove_file(last).unwrap();
        case += 1;
        CASES.fetch_add(1, Relaxed);
    }
    let cases = CASES.load(Relaxed);
    println!("readers: {cases} files from seed {seed}");
    for (name, [refused, accepted]) in &accepted {
        println!("  {name}: {accepted} accepted, {refused} refused");
        // Otherwise only the first line would be tested.
        assert!(cases < 5000 || *accepted > 0 && *refused > 0, "{name}");
    }
    ExitCode::SUCCESS
}

/// Ends the process if a case takes too long.
fn watch() {
    let (mut case, mut since) = (0, Instant::now());
    loop {
        thread::sleep(Duration::from_millis(500));
        let now = CASES.load(Relaxed);
        if now != case {
            (case, since) = (now, Instant::now());
        }
        if since.elapsed() > LONGEST {
            eprintln!("the {now}th case takes longer than {LONGEST:?}");
            std::process::abort();
        }
    }
}

type Group = (&'static str, Read, Vec<(String, Content)>);

/// All files, by readers.
fn corpus() -> Vec<Group> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let group = |&(name, read): &(&'static str, Read)| {
        let folder = tests.join(if name == "tables" { "data/parquet".to_owned() } else { format!("corpus/{name}") });
        let mut files: Vec<PathBuf> = match fs::read_dir(folder) {
            Ok(entries) => entries.map(|entry| entry.unwrap().path()).collect(),
            Err(_) => Vec::new(),
        };
        files.sort();
        let content = |path: &PathBuf| {
            let extension = path.extension().unwrap().to_str().unwrap();
            (extension.to_owned(), Content::of(extension, &fs::read(path).unwrap()))
        };
        let mut contents: Vec<_> = files.iter().map(content).collect();
        if name == "machines" {
            let machines = [Machine::h200_node(), Machine::h200_node_direct(), Machine::cluster()];
            contents.extend(machines.map(|machine| ("json".to_owned(), Content::Text(serde_json::to_vec(&machine).unwrap()))));
        }
        assert!(!contents.is_empty(), "{name}");
        (name, read, contents)
    };
    READERS.iter().map(group).collect()
}

/// Returns the flaw of an error's text, if it has one.
fn odd(sentence: &str, file: &str) -> Option<String> {
    let problem = match () {
        () if sentence.len() > 2000 => "is too long",
        () if !sentence.contains(file) && !sentence.starts_with("shape ") => "doesn't name the file",
        () if sentence.contains("os error") => "has the system's number",
        () => return None,
    };
    Some(format!("the error {problem}: {}", sentence.chars().take(300).collect::<String>()))
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

// ---- the readers

fn functions(path: &Path, pick: u64) -> Result<(), String> {
    fn again<T: PcfReal>(set: &PcfSet<T>, path: &Path) {
        let flat = set.shape().len() == 1;
        for name in ["again.npz", "again.csv"] {
            let path = path.with_file_name(name);
            // Text has no other shapes, and doesn't record the type of an empty set.
            if name == "again.npz" || flat {
                save(set, &path).unwrap();
                assert_eq!(load_as::<T>(&path).unwrap(), *set, "{name}");
            }
        }
        let (same, done) = PcfSet::repaired(set.offsets().to_vec(), set.points().to_vec()).unwrap();
        assert_eq!(done, Default::default());
        assert!(same.points() == set.points() && same.offsets() == set.offsets());
    }
    let both = |data: &PcfData| match data {
        PcfData::F32(set) => again(set, path),
        PcfData::F64(set) => again(set, path),
    };
    match pick % 4 {
        0 => load_as::<f32>(path).map(|set| again(&set, path)).map_err(words),
        1 => load_repaired(path).map(|(data, _)| both(&data)).map_err(words),
        _ => {
            let data = load(path).map_err(words)?;
            both(&data);
            // Valid functions need no repair.
            let (repaired, done) = load_repaired(path).unwrap();
            assert!(repaired == data && done == Default::default());
            Ok(())
        }
    }
}

/// Parquet, Arrow, and CSV.
#[cfg(feature = "parquet")]
fn tables(path: &Path, _pick: u64) -> Result<(), String> {
    warpsmith::io::text(path).map(drop).map_err(|reason| format!("{}: {reason}", path.display()))
}

fn bars(path: &Path, pick: u64) -> Result<(), String> {
    let filtration = if pick.is_multiple_of(2) { Filtration::Sublevel } else { Filtration::Superlevel };
    let dimension = [None, None, Some(0), Some(1)][(pick / 2 % 4) as usize];
    let infinite = [Infinite::Keep, Infinite::Drop, Infinite::Cap(2.0)][(pick / 8 % 3) as usize];
    let read = load_barcodes(path, BarcodeOptions { dimension, filtration, infinite }).map_err(words)?;
    assert!(read.names.is_none_or(|names| names.len() == read.barcodes.len()));
    for barcode in &read.barcodes {
        let long = barcode.bars().iter().filter(|bar| bar.birth != bar.death).count() as f64;
        if let Ok(rank) = barcode.stable_rank::<f64>() {
            assert_eq!(rank.value_at(0.0), long);
        }
        if let Ok(curve) = barcode.betti_curve::<f64>() {
            assert!(curve.points().iter().all(|point| (0.0..=long).contains(&point.v)));
        }
        let _ = (barcode.betti_curve::<f32>(), barcode.stable_rank::<f32>());
    }
    Ok(())
}

fn poses(path: &Path, _: u64) -> Result<(), String> {
    let file = read_poses(path).map_err(words)?;
    let _ = file.packings.check_shapes(2);
    let again = path.with_file_name("again.csv");
    let destination = Destination::prepare(&again).map_err(words)?;
    if save_poses_at(&file.packings, file.layout, &destination, Format::Csv).is_ok() {
        let read = read_poses(&again).unwrap();
        assert_eq!((read.layout, read.packings.offsets()), (file.layout, file.packings.offsets()));
        // Degrees are rounded.
        if file.layout != PoseLayout::Submission {
            assert_eq!(read.packings, file.packings);
        }
    }
    Ok(())
}

fn shapes(path: &Path, _: u64) -> Result<(), String> {
    let shape = read_shape(path.to_str().unwrap()).map_err(words)?;
    assert!(shape.area() > 0.0 && shape.area().is_finite() && shape.radius().is_finite());
    let again = path.with_file_name("again.json");
    fs::write(&again, serde_json::json!({ "pieces": shape.pieces() }).to_string()).unwrap();
    // Pieces that are almost degenerate may be invalid by themselves.
    if let Ok(read) = read_shape(again.to_str().unwrap()) {
        assert!((read.area() - shape.area()).abs() <= 1e-9 * shape.area(), "{} {}", read.area(), shape.area());
    }
    Ok(())
}

fn matrices(path: &Path, _: u64) -> Result<(), String> {
    let matrix = market::read::<f64>(path).map_err(words)?;
    let again = path.with_file_name("again.mtx");
    market::write(&again, &matrix).unwrap();
    // The number of entries limits the number of rows, and removed comments counted.
    match market::read::<f64>(&again) {
        Ok(read) => assert_eq!(read, matrix),
        Err(error) => assert!(error.to_string().contains("in a file of this size"), "{error}"),
    }
    let _ = market::read::<f32>(path);
    Ok(())
}

fn graphs(path: &Path, _: u64) -> Result<(), String> {
    let graph::Graph { list: graph, ids } = graph::io::read(path).map_err(words)?;
    if let Ok((weighted, weights)) = graph::io::read_weighted(path, &TableOptions::default()) {
        assert_eq!(weighted.list, graph);
        assert!(graph.edges.is_empty() || !weights.text(graph.edges.len() - 1).is_empty());
    }
    if let Some(last) = graph.vertices.checked_sub(1) {
        assert_eq!(ids.find(&ids.name(last), graph.vertices), Some(last));
    }
    assert!(graph.edges.iter().flatten().all(|&vertex| usize::try_from(vertex).is_ok_and(|vertex| vertex < graph.vertices)));
    Ok(())
}

fn runs(path: &Path, _: u64) -> Result<(), String> {
    let runs = Runs::read(path).map_err(words)?;
    let again = path.with_file_name("again.csv");
    runs.write(&Destination::prepare(&again).unwrap()).unwrap();
    assert_eq!(Runs::read(&again).unwrap(), runs);
    Ok(())
}

fn machines(path: &Path, _: u64) -> Result<(), String> {
    let machine = Machine::read(path).map_err(words)?;
    let again: Machine = serde_json::from_str(&serde_json::to_string(&machine).unwrap()).unwrap();
    assert!(again == machine);
    Ok(())
}

fn lists(path: &Path, _: u64) -> Result<(), String> {
    let named = |reason: Reason| format!("{}: {reason}", path.display());
    let reader = Reader::open(path).map_err(named)?;
    let (shape, size) = (reader.shape().to_vec(), fs::metadata(path).unwrap().len());
    let all = [Kind::INTEGERS, Kind::FLOATS].concat();
    let kind = reader.kind("it", &all).map_err(named)?;
    let count = match kind {
        Kind::I32 => reader.read::<i32>(|_| {}).map(|values| values.len()),
        Kind::U32 => reader.read::<u32>(|_| {}).map(|values| values.len()),
        Kind::I64 => reader.read::<i64>(|_| {}).map(|values| values.len()),
        Kind::U64 => reader.read::<u64>(|_| {}).map(|values| values.len()),
        Kind::F32 => reader.read::<f32>(|_| {}).map(|values| values.len()),
        Kind::F64 => reader.read::<f64>(|_| {}).map(|values| values.len()),
    };
    let count = count.map_err(named)?;
    assert!(count == shape.iter().product::<usize>() && (count * kind.size()) as u64 <= size);
    Ok(())
}
