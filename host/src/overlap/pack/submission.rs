//! Submissions to Kaggle's Santa 2025 whose packings only ever become smaller.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    time::SystemTime,
};

use rayon::prelude::*;

use super::Packing;
use crate::{
    io::files::Destination,
    overlap::{
        OverlapError, Packings, Shape,
        contest::Check,
        io::{PoseFile, PoseLayout, read_poses, submission_lines},
    },
};

/// The header of a submission.
const HEADER: &str = "id,x,y,deg";
/// A side is smaller than another one only if it is so by more than this share.
const SAME: f64 = 1e-13;

/// The packings of a submission, by their numbers of copies.
#[derive(Clone, Debug)]
pub struct Submission {
    shape: Shape,
    entries: BTreeMap<usize, Entry>,
    /// The file whose packings these are, or smaller ones.
    file: Option<Identity>,
}

/// A file as it was when it was read or written.
#[derive(Clone, Debug, PartialEq)]
struct Identity {
    path: PathBuf,
    /// Length and time of the last change.
    length: u64,
    changed: Option<SystemTime>,
    /// Number of the file in its file system, which another one gets by the same name.
    number: u64,
}

impl Identity {
    fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&metadata);
        #[cfg(not(unix))]
        let number = 0;
        Some(Identity { path: path.to_owned(), length: metadata.len(), changed: metadata.modified().ok(), number })
    }
}

#[derive(Clone, Debug)]
struct Entry {
    packing: Packing,
    /// The packing's lines in the file, which stay as they are until it becomes smaller.
    lines: Vec<String>,
}

impl Submission {
    /// A submission without packings.
    pub fn new(shape: Shape) -> Self {
        Submission { shape, entries: BTreeMap::new(), file: None }
    }

    /// Reads a submission.
    ///
    /// # Errors
    /// If the file can't be read, is no submission, or breaks the contest's rules: copies overlap
    /// or are out of bounds.
    pub fn read(path: &Path, shape: Shape) -> Result<Self, OverlapError> {
        let fail = |what: String| OverlapError::file(path, what);
        // One that is changed meanwhile is not known.
        let file = Identity::of(path);
        let PoseFile { packings, layout, lines } = read_poses(path)?;
        let (PoseLayout::Submission, Some(numbers)) = (layout, lines) else {
            return Err(fail(format!("it is no submission: its header must be {HEADER}")));
        };
        let check = Check::of_submission(&packings, std::slice::from_ref(&shape));
        if let Some(meeting) = check.overlaps.first() {
            let (first, second, size) = (meeting.first, meeting.second, meeting.packing);
            return Err(fail(format!("trees {first} and {second} of {size} overlap by an area of {:e}", meeting.area)));
        }
        if let Some(found) = check.outside.first() {
            let (size, tree) = (found.packing, found.pose);
            return Err(fail(format!("tree {tree} of {size} is out of bounds: {} = {}", found.field, found.value)));
        }
        let text = fs::read_to_string(path).map_err(|error| fail(format!("can't be read: {error}")))?;
        let text: Vec<&str> = text.lines().collect();
        let line = |&number: &u64| text.get(number as usize - 1).map(|line| (*line).to_owned()).unwrap_or_default();
        let entry = |packing: usize| {
            let poses = packings.get(packing).to_vec();
            let lines = numbers[packings.range(packing)].iter().map(line).collect();
            let side = packings.side(packing, std::slice::from_ref(&shape));
            (poses.len(), Entry { packing: Packing::new(poses, side), lines })
        };
        let entries = (0..packings.len()).map(entry).collect();
        Ok(Submission { shape, entries, file })
    }

    /// The packings in ascending order of their numbers of copies. Sides are those of the smallest
    /// squares around them, which need not be about the origin.
    pub fn packings(&self) -> impl Iterator<Item = &Packing> {
        self.entries.values().map(|entry| &entry.packing)
    }

    /// The packing of `count` copies.
    pub fn get(&self, count: usize) -> Option<&Packing> {
        self.entries.get(&count).map(|entry| &entry.packing)
    }

    /// The sum of side² / n.
    pub fn score(&self) -> f64 {
        self.packings().map(|Packing { poses, side, .. }| side * side / poses.len() as f64).sum()
    }

    /// Takes over packings that are smaller and, however the contest rounds, apart. Returns their
    /// numbers of copies.
    pub fn take(&mut self, packings: &[Packing]) -> Vec<usize> {
        // As it will be read again.
        let read = |&[x, y, theta]: &[f64; 3]| [x, y, (theta.to_degrees() % 360.0).to_radians()];
        let valid = |packing: &Packing| {
            Packings::one(packing.poses.iter().map(read).collect()).is_ok_and(|written| {
                let check = Check::of(&written, std::slice::from_ref(&self.shape));
                check.is_valid() && check.touching.is_empty()
            })
        };
        let valid: Vec<&Packing> = packings.par_iter().filter(|packing| self.is_smaller(packing) && valid(packing)).collect();
        let mut taken = Vec::new();
        for packing in valid {
            // Two of them may have the same number of copies.
            if self.is_smaller(packing) {
                let entry = Entry { packing: packing.clone(), lines: submission_lines(&packing.poses).collect() };
                self.entries.insert(packing.poses.len(), entry);
                taken.push(packing.poses.len());
            }
        }
        taken
    }

    /// Takes over the smaller packings of another submission, line by line, if their numbers of
    /// copies are `wanted`. Returns these numbers.
    pub fn take_lines(&mut self, other: Submission, wanted: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut taken = Vec::new();
        for (count, entry) in other.entries {
            if wanted(count) && self.is_smaller(&entry.packing) {
                self.entries.insert(count, entry);
                taken.push(count);
            }
        }
        taken
    }

    fn is_smaller(&self, packing: &Packing) -> bool {
        self.get(packing.poses.len()).is_none_or(|there| packing.side < there.side * (1.0 - SAME))
    }

    /// Writes the submission, with the packings that are smaller in the file by now. Several
    /// processes may do so at once: each locks the file's folder.
    ///
    /// # Errors
    /// If the file can't be locked, read as a valid submission, or written.
    pub fn write(&mut self, destination: &Destination) -> Result<(), OverlapError> {
        let _lock = destination.lock_folder()?;
        // Unless somebody else has written it since, its packings are here.
        if destination.name().exists() && self.file != Identity::of(destination.name()) {
            self.take_lines(Submission::read(destination.name(), self.shape.clone())?, |_| true);
        }
        destination.write(|file| {
            writeln!(file, "{HEADER}")?;
            self.entries.values().flat_map(|entry| &entry.lines).try_for_each(|line| writeln!(file, "{line}"))
        })?;
        self.file = Identity::of(destination.name());
        Ok(())
    }
}
