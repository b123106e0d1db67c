//! Matrices whose computation was ended, and goes on.

use std::{
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
    engine::{Cancel, Checkpoint, Control, Engine, EngineError, NpyFile, Queue, Settings},
    io::files::Destination,
    pcf::{Layout, Pairwise, io, random},
};

use crate::folder::Folder;

fn engine(block_side: Option<usize>) -> Engine {
    Engine::new([Device::best().unwrap()]).unwrap().with_settings(Settings { block_side, ..Settings::default() })
}

fn resume(path: &Path, n: usize, identity: u64) -> Result<(NpyFile<f64>, Checkpoint), EngineError> {
    let destination = Destination::prepare(path)?;
    let begun = NpyFile::resume_at(destination, &[n * (n - 1) / 2], None)?;
    let checkpoint = begun.checkpoint(identity)?;
    Ok((begun.wait()?, checkpoint))
}

/// The engine computes the blocks that are missing, and no other.
#[test]
fn what_is_in_place_is_not_computed_again() {
    let folder = Folder::of("pcf");
    let path = folder.path("d.npy");
    let set = random::uniform::<f64>(100, 10, 1).unwrap();
    let matrix = Pairwise::pdist(&set, 1.0).unwrap();
    let expected = matrix.compute(&engine(None), Layout::Condensed, Control::default()).unwrap();
    // Blocks of side 10: 55 of them. The computation is cancelled twice, after some.
    let mut runs = 0;
    loop {
        let (mut file, checkpoint) = resume(&path, 100, 7).unwrap();
        let (found, side) = (checkpoint.blocks_found(), checkpoint.block_side());
        assert_eq!((found > 0, side), (runs > 0, (runs > 0).then_some(10)));
        // Entries that are in place; those of others are made worthless, to see which are written.
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
        let control = Control {
            progress: Some(&progress),
            cancel: Some(&cancel),
            queue: Some(&checkpoint as &dyn Queue),
            ..Control::default()
        };
        let result = matrix.compute_into(&engine(Some(10)), Layout::Condensed, file.as_mut_slice(), control);
        if runs == 2 {
            result.unwrap();
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

/// A file that has no block is nobody's loss: none is left before its table is there.
#[test]
fn a_file_without_a_block_goes() {
    let folder = Folder::of("pcf");
    let (path, partial) = (folder.path("d.npy"), folder.path("d.npy.partial"));
    // More than a thread takes at a time.
    let begin = |len: usize| NpyFile::<f64>::resume_at(Destination::prepare(&path).unwrap(), &[len], None);
    let begun = begin(20 << 20).unwrap();
    assert!(partial.exists() && begun.checkpoint(7).unwrap().block_side().is_none());
    drop(begun);
    assert!(!partial.exists());
    drop(begin(20 << 20).unwrap().wait().unwrap());
    assert!(!partial.exists());
    drop(resume(&path, 40, 7).unwrap());
    assert!(!partial.exists());
    let error = begin(1 << 50).unwrap_err().to_string();
    assert!(error.contains("d.npy can't be written: it takes 8.0 PiB, and the disk has "), "{error}");
    assert!(!partial.exists());

    // With its room and a table it stays, whatever happens.
    let set = random::uniform::<f64>(40, 10, 1).unwrap();
    let schedule = Pairwise::pdist(&set, 1.0).unwrap().schedule(&engine(Some(8))).unwrap();
    let (file, checkpoint) = resume(&path, 40, 7).unwrap();
    checkpoint.prepare(&schedule).unwrap();
    drop((file, checkpoint));
    assert!(partial.exists());
    let begun = begin(40 * 39 / 2).unwrap();
    assert_eq!(begun.checkpoint(7).unwrap().block_side(), Some(8));
    drop(begun);
    assert!(partial.exists());
}

#[test]
fn parts_of_other_matrices_stay_as_they_are() {
    let folder = Folder::of("pcf");
    let path = folder.path("d.npy");
    let set = random::uniform::<f64>(40, 10, 1).unwrap();
    let matrix = Pairwise::pdist(&set, 1.0).unwrap();
    let run = |side: usize| {
        let (mut file, checkpoint) = resume(&path, 40, 7).unwrap();
        let control = Control { queue: Some(&checkpoint), ..Control::default() };
        let error = resume(&path, 40, 7).unwrap_err().to_string();
        assert!(error.ends_with("d.npy.partial can't be written: another process is writing it"), "{error}");
        matrix.compute_into(&engine(Some(side)), Layout::Condensed, file.as_mut_slice(), control)
    };
    run(8).unwrap();
    let before = fs::read(folder.path("d.npy.partial")).unwrap();
    for (n, identity) in [(40, 8), (41, 7), (30, 7), (4, 7)] {
        let error = resume(&path, n, identity).unwrap_err().to_string();
        assert!(error.contains("d.npy.partial: has a part of another matrix"), "{error}");
    }
    let error = run(9).unwrap_err().to_string();
    assert!(
        error.contains("d.npy.partial: has blocks of side 8, and with the memory that there is they would be of side 9"),
        "{error}"
    );
    assert!(fs::read(folder.path("d.npy.partial")).unwrap() == before);
    // What has no table yet was killed before the first block, and a table that is not whole is of something else.
    fs::write(folder.path("d.npy.partial"), &before[..100]).unwrap();
    assert_eq!(resume(&path, 40, 7).unwrap().1.blocks_found(), 0);
    fs::write(folder.path("d.npy.partial"), &before[..before.len() - 1]).unwrap();
    assert!(resume(&path, 40, 7).unwrap_err().to_string().contains("has a part of another matrix"));
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

/// Ranks begin one after the other: what one has noted stays when another one begins.
#[test]
fn processes_that_share_a_file() {
    let folder = Folder::of("pcf");
    let path = folder.path("d.npy");
    let set = random::uniform::<f64>(40, 10, 1).unwrap();
    let matrix = Pairwise::pdist(&set, 1.0).unwrap();
    let schedule = matrix.schedule(&engine(Some(8))).unwrap();
    let (file, first) = resume(&path, 40, 7).unwrap();
    first.prepare(&schedule).unwrap();
    assert_eq!((first.block_side(), first.blocks_found()), (Some(8), 0));
    let join = || NpyFile::<f64>::join_at(Destination::prepare(&path).unwrap(), &[40 * 39 / 2], None, 7).unwrap();
    let (_, second) = join();
    assert_eq!(second.block_side(), Some(8));
    second.begin(&schedule).unwrap();
    second.done(3).unwrap();
    first.begin(&schedule).unwrap();
    first.done(5).unwrap();
    assert_eq!(join().1.blocks_found(), 2);
    drop((file, first));
    assert_eq!(resume(&path, 40, 7).unwrap().1.blocks_found(), 2);
}
