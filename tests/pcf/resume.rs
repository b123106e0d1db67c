//! Matrices whose computation was ended, and goes on.

use std::{
    error::Error,
    fs,
    path::Path,
    process::Stdio,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use warpsmith::{
    device::Device,
    engine::{BegunMatrix, Cancel, Control, Engine, EngineError, PartialMatrix, Parts, Settings},
    io::files::Destination,
    pcf::{Layout, Pairwise, PairwiseError, Pcf, PcfSet, io, random},
    ranks,
};

use crate::folder::Folder;

fn settings(block_side: Option<usize>) -> Settings {
    Settings { block_side, ..Settings::default() }
}

fn begin(path: &Path, len: usize) -> Result<BegunMatrix<f64>, EngineError> {
    PartialMatrix::begin(Destination::prepare(path)?, &[len], None, Parts::RESUME)
}

fn functions(n: usize) -> PcfSet<f64> {
    random::uniform(n, 10, 1).unwrap()
}

/// Opens the condensed matrix of a set's distances.
fn open(path: &Path, set: &PcfSet<f64>, side: Option<usize>) -> Result<(Engine, PartialMatrix<f64>), PairwiseError> {
    let matrix = Pairwise::pdist(set, 1.0)?;
    let begun = matrix.begin_file(Destination::prepare(path).unwrap(), Layout::Condensed, Parts::RESUME)?;
    matrix.open_file(begun, Layout::Condensed, &[Device::best().unwrap()], settings(side))
}

/// The engine computes the blocks that are missing, and no other.
#[test]
fn what_is_in_place_is_not_computed_again() {
    let folder = Folder::of("pcf");
    let path = folder.path("d.npy");
    let set = functions(100);
    let matrix = Pairwise::pdist(&set, 1.0).unwrap();
    let whole = matrix.engine(&[Device::best().unwrap()], settings(None)).unwrap();
    let expected = matrix.compute(&whole, Layout::Condensed, Control::default()).unwrap();
    // Blocks of side 10: 55 of them. The computation is cancelled twice, after some; what is found keeps its side.
    let mut runs = 0;
    loop {
        let (engine, mut file) = open(&path, &set, Some(if runs == 0 { 10 } else { 40 })).unwrap();
        let found = file.blocks_found();
        assert_eq!(found > 0, runs > 0);
        if runs == 2 {
            assert!(found >= 20, "{found}");
            let zeros = file.as_slice().iter().filter(|&&entry| entry == 0.0).count();
            assert!(zeros > 0, "the test has nothing left to see");
        }
        let (cancel, calls) = (Cancel::new(), AtomicUsize::new(0));
        let progress = |done: usize, total: usize| {
            assert!(done <= total);
            if calls.fetch_add(1, Ordering::Relaxed) == 12 && runs < 2 {
                cancel.cancel();
            }
        };
        let control = Control { progress: Some(&progress), cancel: Some(&cancel), ..Control::default() };
        let result = matrix.compute_file(&engine, Layout::Condensed, &mut file, control);
        if runs == 2 {
            assert_eq!(result.unwrap().side, 10);
            assert_eq!(found + calls.into_inner(), 55);
            assert!(file.as_slice() == expected);
            file.finish().unwrap();
            break;
        }
        assert!(result.is_err());
        runs += 1;
    }
    assert!(folder.read::<f64>("d.npy").iter().eq(&expected));
    assert!(!folder.path("d.npy.partial").exists());
}

/// A file without a table of blocks is removed.
#[test]
fn a_file_without_a_block_goes() {
    let folder = Folder::of("pcf");
    let (path, partial) = (folder.path("d.npy"), folder.path("d.npy.partial"));
    // More than a thread takes at a time.
    let mut begun = begin(&path, 20 << 20).unwrap();
    assert!(partial.exists() && begun.side(|| "7", 5).unwrap().is_none());
    drop(begun);
    assert!(!partial.exists());
    let error = begin(&path, 1 << 50).unwrap_err().to_string();
    assert!(error.contains("d.npy can't be written: it takes 8.0 PiB, and the disk has "), "{error}");
    assert!(!partial.exists());

    // With its room and a table it stays, whatever happens.
    let set = functions(40);
    drop(open(&path, &set, Some(8)).unwrap());
    assert!(partial.exists());
    drop(begin(&path, 40 * 39 / 2).unwrap());
    assert!(partial.exists());
    assert_eq!(open(&path, &set, None).unwrap().1.blocks_found(), 0);
}

#[test]
fn parts_of_other_matrices_stay_as_they_are() {
    let folder = Folder::of("pcf");
    let (path, partial) = (folder.path("d.npy"), folder.path("d.npy.partial"));
    let set = functions(40);
    let (engine, mut file) = open(&path, &set, Some(8)).unwrap();
    let error = open(&path, &set, None).unwrap_err().to_string();
    assert!(error.ends_with("d.npy.partial can't be written: another process is writing it"), "{error}");
    Pairwise::pdist(&set, 1.0).unwrap().compute_file(&engine, Layout::Condensed, &mut file, Control::default()).unwrap();
    drop(file);
    let before = fs::read(&partial).unwrap();
    let other = set.take(&(0..40).rev().collect::<Vec<_>>()).unwrap();
    for set in [&other, &functions(41), &functions(30), &functions(4)] {
        let error = open(&path, set, None).unwrap_err().to_string();
        assert!(error.contains("d.npy.partial: has a part of another matrix"), "{error}");
    }
    // Less memory than blocks of this side take.
    let matrix = Pairwise::pdist(&set, 1.0).unwrap();
    let begun = matrix.begin_file(Destination::prepare(&path).unwrap(), Layout::Condensed, Parts::RESUME).unwrap();
    let little = Settings { memory_budget: Some(3000), ..Settings::default() };
    let error = matrix.open_file(begun, Layout::Condensed, &[Device::best().unwrap()], little).unwrap_err().to_string();
    let sentence = "d.npy.partial: has blocks of side 8, and with the memory that there is they would be of side ";
    assert!(error.contains(sentence), "{error}");
    // A run that doesn't ask to resume fails, and leaves the file as it is.
    let alone = Parts { resume: false, ranks: ranks::threads::communicators(1).pop() };
    let begun = matrix.begin_file(Destination::prepare(&path).unwrap(), Layout::Condensed, alone).unwrap();
    let error = matrix.open_file(begun, Layout::Condensed, &[Device::best().unwrap()], settings(None)).unwrap_err().to_string();
    assert!(error.contains("d.npy.partial: may have a part of a matrix; go on from it with --resume, or remove it"), "{error}");
    assert!(fs::read(&partial).unwrap() == before);
    // A file without a table was killed before its first block, and an incomplete table belongs to
    // something else.
    fs::write(&partial, &before[..before.len() - 1]).unwrap();
    assert!(open(&path, &set, None).unwrap_err().to_string().contains("has a part of another matrix"));
    fs::write(&partial, &before[..100]).unwrap();
    assert_eq!(open(&path, &set, None).unwrap().1.blocks_found(), 0);
}

/// The command, killed as it computes.
#[test]
fn a_killed_command_goes_on() {
    let folder = Folder::of("pcf");
    let set = random::uniform::<f32>(450, 200, 1).unwrap();
    io::save(&set, &folder.path("a.npz")).unwrap();
    const COMMAND: &str = "--backend cpu pdist a.npz --p 2.5 --output d.npy --resume --json";
    let (data, partial) = (128 + 4 * 450 * 449 / 2, folder.path("d.npy.partial"));
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("warpsmith"))
        .args(format!("pcf {COMMAND}").split(' '))
        .current_dir(folder.path("."))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    loop {
        let done = fs::read(&partial).map_or(0, |bytes| bytes.iter().skip(data + 32).filter(|&&done| done == 1).count());
        if done >= 2 {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(120), "no block was done");
        assert!(child.try_wait().unwrap().is_none(), "it ended before it could be killed");
        thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(partial.exists() && !folder.path("d.npy").exists());
    folder.bad("--backend cpu pdist a.npz --p 1.5 --output d.npy --resume", "d.npy.partial: has a part of another matrix");
    let json: Value = serde_json::from_str(&folder.good(COMMAND)).unwrap();
    assert!(json["blocks_found"].as_u64().unwrap() >= 2, "{json}");
    assert!(!partial.exists());
    let resumed = fs::read(folder.path("d.npy")).unwrap();
    folder.good("--backend cpu pdist a.npz --p 2.5 --output d.npy --gpus 2");
    assert!(resumed == fs::read(folder.path("d.npy")).unwrap(), "other bits than those of a run that wasn't killed");
    folder.bad("pdist a.npz --nearest 3 --resume --output d.npz", "cannot be used with");
}

/// A partial file is found again by a program of another compiler. The number is that of CPython's
/// SipHash-1-3 (`PYTHONHASHSEED=0`) of the same bytes.
#[test]
#[cfg(all(target_pointer_width = "64", target_endian = "little"))]
fn fingerprints_last() {
    let functions = [Pcf::new([(0.0, 1.0), (1.0, 0.0)]).unwrap(), Pcf::constant(2.0).unwrap()];
    let set = PcfSet::from_functions(functions);
    assert_eq!(Pairwise::pdist(&set, 2.5).unwrap().fingerprint(), 0x72ec_4038_aac2_e1e3);
}

/// Ranks that share a file compute its blocks between them: the same bits, each block once.
#[test]
fn ranks_share_a_file() {
    let folder = Folder::of("pcf");
    let path = folder.path("d.npy");
    let set = functions(100);
    let matrix = Pairwise::pdist(&set, 2.5).unwrap();
    let devices = vec![Device::cpu(); 3];
    let expected =
        matrix.compute(&matrix.engine(&devices[..1], settings(None)).unwrap(), Layout::Condensed, Control::default()).unwrap();
    let reports = ranks::threads::run(&devices, |device, ranks| -> Result<_, Box<dyn Error + Send + Sync>> {
        // Each has other memory: the least counts.
        let rank = ranks.rank();
        let parts = Parts { resume: false, ranks: Some(ranks) };
        let begun = matrix.begin_file(Destination::prepare(&path).unwrap(), Layout::Condensed, parts)?;
        let side = settings(Some([30, 8, 20][rank]));
        let (engine, mut file) = matrix.open_file(begun, Layout::Condensed, std::slice::from_ref(device), side)?;
        let mut report = matrix.compute_file(&engine, Layout::Condensed, &mut file, Control::default())?;
        let names = file.join(&mut report, &format!("rank {rank}"))?;
        file.finish()?;
        Ok((report, names))
    })
    .unwrap();
    let (report, names) = &reports[0];
    assert_eq!((report.side, report.blocks), (8, 91));
    assert_eq!((report.blocks_by_gpu.len(), report.blocks_by_gpu.iter().sum::<usize>()), (3, 91));
    assert_eq!(names[..], ["rank 0", "rank 1", "rank 2"]);
    assert!(folder.read::<f64>("d.npy").iter().eq(&expected));
    assert!(!folder.path("d.npy.partial").exists());
}
