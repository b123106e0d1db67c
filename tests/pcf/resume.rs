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
    device::{Backend, Device},
    engine::{BegunMatrix, Cancel, Control, Engine, EngineError, PartialMatrix, Parts, Settings},
    io::files::Destination,
    pcf::{Layout, Pairwise, PairwiseError, Pcf, PcfKernel, PcfSet, io, random},
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
    // The sums of another kernel may be rounded otherwise.
    let matrix = Pairwise::pdist(&set, 1.0).unwrap();
    let tiled = Device::best().unwrap().backend() == Backend::Cuda;
    let other = matrix.with_kernel(if tiled { PcfKernel::Direct } else { PcfKernel::Tiled });
    let begun = other.begin_file(Destination::prepare(&path).unwrap(), Layout::Condensed, Parts::RESUME).unwrap();
    let error = other.open_file(begun, Layout::Condensed, &[Device::best().unwrap()], settings(None)).unwrap_err().to_string();
    assert!(error.contains("d.npy.partial: has a part of another matrix"), "{error}");
    // Less memory than blocks of this side take.
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

/// Commands that something ends in the middle: by a signal, at a full disk, at an input that has lost its end.
#[cfg(target_os = "linux")]
mod ended {
    use std::{
        os::unix::process::ExitStatusExt as _,
        process::{Child, Command},
    };

    use rustix::process::{Pid, Signal, kill_process};

    use super::*;
    use crate::{folder::text, signals};

    /// The command, with files of at most `most` bytes: `ulimit` counts in blocks.
    fn command(folder: &Folder, arguments: &str, most: Option<usize>) -> Command {
        let mut command = Command::new("prlimit");
        command.args(most.map(|most| format!("--fsize={most}"))).arg("--").arg(assert_cmd::cargo::cargo_bin!("warpsmith"));
        command.args(["--backend", "cpu", "pcf"]).args(arguments.split(' ')).current_dir(folder.path("."));
        // With more threads, blocks are larger, and the commands may end before they are ended.
        command.env("WARPSMITH_THREADS", "2").stdout(Stdio::piped()).stderr(Stdio::piped());
        signals::heed_interrupts(&mut command);
        command
    }

    /// Sends a signal, and checks the exit code, or the signal, and the message.
    fn end(child: Child, signal: Signal, code: Result<i32, i32>) {
        kill_process(Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code().ok_or(output.status.signal().unwrap_or(0)), code);
        assert_eq!((&*text(&output.stdout), &*text(&output.stderr)), ("", if code.is_ok() { "error: cancelled\n" } else { "" }));
    }

    /// Checks a run at a disk that is full.
    fn full(folder: &Folder, arguments: &str, most: usize, error: &str) {
        let output = command(folder, arguments, Some(most)).output().unwrap();
        assert_eq!((output.status.code(), &*text(&output.stdout)), (Some(2), ""), "{arguments}");
        assert_eq!(text(&output.stderr), format!("error: {error} can't be written: file too large\n"), "{arguments}");
    }

    /// Creates a folder with sets, given their names, numbers of functions and numbers of breakpoints.
    fn inputs(sets: &[(&str, usize, usize)]) -> Folder {
        let folder = Folder::of("pcf");
        for &(name, count, points) in sets {
            io::save(&random::uniform::<f32>(count, points, count as u64).unwrap(), &folder.path(name)).unwrap();
        }
        folder
    }

    const TWO_SETS: [(&str, usize, usize); 2] = [("a.npz", 450, 1500), ("b.npz", 300, 1500)];

    /// A matrix that takes minutes, of this set.
    const LONG: &str = "pdist a.npz --p 2.5 --trace t.json --output x.npy";
    const LARGE: [(&str, usize, usize); 1] = [("a.npz", 6000, 600)];

    /// Starts a command, and waits until it computes: its file is there when that is about to begin.
    fn computing(folder: &Folder, command: &mut Command) -> Child {
        let before = folder.files().len();
        let mut child = command.spawn().unwrap();
        while folder.files().len() == before {
            assert!(child.try_wait().unwrap().is_none(), "it ended before it could be ended");
            thread::sleep(Duration::from_millis(10));
        }
        thread::sleep(Duration::from_millis(500));
        child
    }

    #[test]
    fn ended_at_once_by_a_second_signal() {
        let folder = inputs(&LARGE);
        let child = computing(&folder, &mut command(&folder, LONG, None));
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        // Less than a block takes.
        thread::sleep(Duration::from_millis(20));
        end(child, Signal::INT, Ok(130));
        assert_eq!(folder.files(), ["a.npz"]);
    }

    #[test]
    fn killed() {
        for older in [true, false] {
            let folder = inputs(&LARGE);
            if older {
                folder.write("x.npy", "as it was");
            }
            let child = computing(&folder, &mut command(&folder, LONG, None));
            end(child, Signal::KILL, Err(9));
            assert_eq!(fs::read(folder.path("x.npy")).ok(), older.then(|| b"as it was".to_vec()));
            assert!(!folder.path("t.json").exists());
        }
    }

    /// As `nohup` does: the signal of a terminal that is closed is ignored.
    #[test]
    fn ignored_signals_stay_ignored() {
        let folder = inputs(&LARGE);
        let inner = command(&folder, LONG, None);
        let mut command = Command::new("nohup");
        command.arg(inner.get_program()).args(inner.get_args()).current_dir(folder.path("."));
        signals::heed_interrupts(&mut command).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = computing(&folder, &mut command);
        kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
        thread::sleep(Duration::from_millis(500));
        assert!(child.try_wait().unwrap().is_none());
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), &*text(&output.stdout)), (Some(130), ""));
        // nohup has something to say, too.
        assert!(text(&output.stderr).ends_with("error: cancelled\n"), "{}", text(&output.stderr));
        assert_eq!(folder.files(), ["a.npz"]);
    }

    #[test]
    fn a_matrix_goes_on() {
        let folder = inputs(&TWO_SETS);
        let partial = folder.path("d.npy.partial");
        let whole = fs::read(folder.path("a.npz")).unwrap();
        for (matrix, entries, other, signal, code) in [
            ("pdist a.npz", 450 * 449 / 2, "pdist a.npz --p 1.5", Signal::KILL, Err(9)),
            ("cdist b.npz a.npz --p 2", 300 * 450, "cdist b.npz a.npz --inner", Signal::TERM, Ok(143)),
            ("l2-kernel a.npz", 450 * 450, "pdist a.npz --layout dense", Signal::INT, Ok(130)),
        ] {
            let table = 128 + 4 * entries;
            let arguments = format!("{matrix} --output d.npy --resume --json");
            // There is room for the matrix, and none for its table of blocks.
            full(&folder, &arguments, table + 33, "d.npy.partial");
            assert_eq!(folder.files(), ["a.npz", "b.npz"], "{matrix}");
            let mut child = command(&folder, &arguments, None).spawn().unwrap();
            let start = Instant::now();
            let done = || fs::read(&partial).map_or(0, |bytes| bytes.iter().skip(table + 32).filter(|&&done| done == 1).count());
            while done() < 2 {
                assert!(start.elapsed() < Duration::from_secs(120), "no block was done");
                assert!(child.try_wait().unwrap().is_none(), "it ended before it could be ended");
                thread::sleep(Duration::from_millis(2));
            }
            end(child, signal, code);
            assert_eq!(folder.files(), ["a.npz", "b.npz", "d.npy.partial"], "{matrix}");
            let left = fs::read(&partial).unwrap();
            folder.bad(
                &format!("{other} --output d.npy --resume --backend cpu"),
                "error: d.npy.partial: has a part of another matrix",
            );
            folder.write("a.npz", "");
            folder.bad(&arguments, "a.npz");
            fs::write(folder.path("a.npz"), &whole[..whole.len() / 2]).unwrap();
            folder.bad(&arguments, "a.npz");
            fs::write(folder.path("a.npz"), &whole).unwrap();
            assert!(fs::read(&partial).unwrap() == left, "{matrix}");
            // A block that can't be marked as done isn't.
            full(&folder, &arguments, table + 32, "d.npy.partial");
            assert!(fs::read(&partial).unwrap()[table..] == left[table..] && !folder.path("d.npy").exists(), "{matrix}");
            let json: Value = serde_json::from_str(&folder.good(&format!("{arguments} --backend cpu"))).unwrap();
            assert!(json["blocks_found"].as_u64().unwrap() >= 2 && json["merge_steps_per_second"].is_null(), "{json}");
            assert_eq!(folder.files(), ["a.npz", "b.npz", "d.npy"], "{matrix}");
            let resumed = fs::read(folder.path("d.npy")).unwrap();
            folder.good(&format!("{matrix} --output d.npy --backend cpu --gpus 2"));
            assert!(resumed == fs::read(folder.path("d.npy")).unwrap(), "other bits than those of a run that wasn't ended");
            fs::remove_file(folder.path("d.npy")).unwrap();
        }
        folder.bad("pdist a.npz --nearest 3 --resume --output d.npz", "cannot be used with");
    }

    /// Commands that can't resume leave nothing new, and an older output as it was.
    #[test]
    fn nothing_is_left() {
        let folder = inputs(&TWO_SETS);
        for (number, arguments) in [
            "pdist a.npz --p 2.5 --trace t.json --output x.npy",
            "pdist a.npz --p 2.5 --nearest 3 --output x.npz",
            "cdist a.npz b.npz --p 2.5 --below 1 --output x.npz",
            "cdist a.npz b.npz --p 2.5 --row-sums --output x.npy",
            "l2-kernel a.npz --row-sums --output x.npy",
            "cdist a.npz b.npz --inner --output x.npy",
        ]
        .into_iter()
        .enumerate()
        {
            let name = arguments.rsplit(' ').next().unwrap();
            folder.write(name, "as it was");
            let before = folder.files();
            full(&folder, &arguments.replace("--p 2.5", "--p 1"), 1000, name);
            if arguments.contains("2.5") {
                let (signal, code) = [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)][number % 3];
                let child = command(&folder, arguments, None).spawn().unwrap();
                signals::wait_until_handled(&child);
                thread::sleep(Duration::from_millis(100));
                end(child, signal, Ok(code));
            }
            assert_eq!(folder.files(), before, "{arguments}");
            assert_eq!(fs::read(folder.path(name)).unwrap(), b"as it was", "{arguments}");
            fs::remove_file(folder.path(name)).unwrap();
        }
    }
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
