//! Outputs: mapped `.npy` files, and large arrays in memory.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::marker::PhantomData;
use std::path::Path;

use bytemuck::Zeroable;
use memmap2::{MmapMut, MmapOptions};

use super::{EngineError, checkpoint::Checkpoint, room::Room};
use crate::device::{Bytes, memory::memory};
use crate::io::{
    files::{Destination, FileError, Temporary},
    npy::{self, Element},
};

/// A `.npy` file of a known shape, written through a mapping into memory: an array larger than the memory can be filled
/// in any order.
///
/// It is written under another name in the same directory, and gets its own once it is
/// [finished](NpyFile::finish). Until then, an older file of that name stays as it is.
///
/// ```
/// use warpsmith::engine::NpyFile;
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("matrix.npy");
/// let mut file = NpyFile::<f32>::create(&path, &[2, 3])?;
/// file.as_mut_slice().copy_from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
/// file.finish()?;
///
/// let matrix: ndarray::Array2<f32> = ndarray_npy::read_npy(&path)?;
/// assert_eq!(matrix[[1, 0]], 4.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NpyFile<T> {
    // The mapping goes before the file.
    map: MmapMut,
    file: Temporary,
    destination: Destination,
    /// The header's size in bytes.
    data: usize,
    element: PhantomData<T>,
}

impl<T: Element> NpyFile<T> {
    /// Makes a file of zeros, in C order. It takes all of its room on the disk at once, so that a
    /// full disk is an error here instead of a fault of the process later.
    ///
    /// # Errors
    /// [`File`](EngineError::File), for the reasons that [`Destination::prepare`] has, and if the
    /// disk has too little room.
    pub fn create(path: &Path, shape: &[usize]) -> Result<Self, EngineError> {
        Self::create_at(Destination::prepare(path)?, shape, None)
    }

    /// As [`create`](NpyFile::create), for a destination that was prepared before.
    ///
    /// With a `field`, elements are structures of one field of this name, which takes no space:
    /// NumPy reads the numbers as `load(path)[field]`, and a reader that expects plain numbers
    /// fails.
    pub fn create_at(destination: Destination, shape: &[usize], field: Option<&str>) -> Result<Self, EngineError> {
        let (room, file) = Self::begin_at(destination, shape, field)?;
        room.wait()?;
        Ok(file)
    }

    /// As [`create_at`](NpyFile::create_at), but a thread takes a large file's room: [`Room::wait`] waits for it.
    pub(super) fn begin_at(destination: Destination, shape: &[usize], field: Option<&str>) -> Result<(Room, Self), EngineError> {
        let (start, size) = header::<T>(&destination, shape, field)?;
        let file = destination.temporary()?;
        let room = begin(&destination, file.file(), &start, size)?;
        Ok((room, Self::map(destination, file, start.len(), size)?))
    }

    /// As [`begin_at`](NpyFile::begin_at), in a [partial](Destination::partial) file. One that has some blocks of a
    /// matrix is taken as it is, and [`checkpoint`](Self::checkpoint) knows them. Otherwise the file is removed if it is dropped
    /// before it has a [table](Checkpoint::prepare) of its blocks.
    pub(super) fn resume_at(destination: Destination, shape: &[usize], field: Option<&str>) -> Result<(Room, Self), EngineError> {
        let (start, size) = header::<T>(&destination, shape, field)?;
        let file = destination.partial()?;
        let io_error = |error| FileError::unwritten(file.path(), error);
        let mut found = Vec::new();
        file.file().take(start.len() as u64).read_to_end(&mut found).map_err(io_error)?;
        if !start.starts_with(&found) {
            return Err(FileError::new(file.path(), "has a part of another matrix; remove it to begin anew").into());
        }
        // A file that ends before its table has no block.
        let room = if file.file().metadata().map_err(io_error)?.len() <= size as u64 {
            file.goes();
            file.file().set_len(0).map_err(io_error)?;
            file.file().rewind().map_err(io_error)?;
            begin(&destination, file.file(), &start, size)?
        } else {
            Room::default()
        };
        Ok((room, Self::map(destination, file, start.len(), size)?))
    }

    /// The [partial](Destination::partial) file that another process has begun, and whose table it has
    /// [prepared](Checkpoint::prepare).
    pub(super) fn join_at(
        destination: Destination,
        shape: &[usize],
        field: Option<&str>,
        identity: u64,
    ) -> Result<(Self, Checkpoint), EngineError> {
        let (start, size) = header::<T>(&destination, shape, field)?;
        let file = destination.shared_partial()?;
        let file = Self::map(destination, file, start.len(), size)?;
        let checkpoint = file.checkpoint(identity)?;
        if checkpoint.block_side().is_none() {
            let reason = "is not what another process has begun: do they share the directory?";
            return Err(FileError::new(file.temporary_path(), reason).into());
        }
        Ok((file, checkpoint))
    }

    /// The table of blocks behind the array, of the matrix of this `identity`. It is to be written when all of the room is
    /// taken.
    pub(super) fn checkpoint(&self, identity: u64) -> Result<Checkpoint, EngineError> {
        let path = self.temporary_path();
        let file = self.file.file().try_clone().map_err(|error| FileError::unwritten(path, error))?;
        Checkpoint::open(file, path, self.map.len() as u64, identity)
    }

    fn map(destination: Destination, file: Temporary, data: usize, size: usize) -> Result<Self, EngineError> {
        // SAFETY: this process has just made the file or has locked it, or another rank has, which keeps its size until all
        // have let go of it; and this one leaves the array's part of its size as it is. That somebody else shrinks it can't be
        // ruled out; it would end this process by a signal.
        let map = unsafe { MmapOptions::new().len(size).map_mut(file.file()) }.map_err(|error| destination.error(error))?;
        Ok(NpyFile { map, file, destination, data, element: PhantomData })
    }

    /// The array's elements in C order.
    pub fn as_slice(&self) -> &[T] {
        // The header's size is a multiple of 64, and mappings start at a page.
        bytemuck::cast_slice(&self.map[self.data..])
    }

    /// The array's elements in C order, to be written.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.map[self.data..])
    }

    /// The file's temporary name, until it is [finished](NpyFile::finish).
    pub fn temporary_path(&self) -> &Path {
        self.file.path()
    }

    /// Writes to the disk what is still in memory, which may take long. [`finish`](NpyFile::finish) does so, too, and
    /// then has little left to do.
    pub fn flush(&self) -> Result<(), EngineError> {
        self.map.flush().map_err(|error| self.destination.error(error).into())
    }

    /// Writes what is still in memory, and gives the file its name.
    ///
    /// # Errors
    /// [`File`](EngineError::File), and the file is gone.
    pub fn finish(self) -> Result<(), EngineError> {
        self.map.flush().map_err(|error| self.destination.error(error))?;
        // Cuts off the table of blocks.
        self.file.file().set_len(self.map.len() as u64).map_err(|error| self.destination.error(error))?;
        drop(self.map);
        self.destination.persist(self.file)?;
        tracing::info!("wrote {}", self.destination.name().display());
        Ok(())
    }
}

/// An array's header in a file, and the size of the whole file.
fn header<T: Element>(destination: &Destination, shape: &[usize], field: Option<&str>) -> Result<(Vec<u8>, usize), EngineError> {
    let fail = |reason: String| FileError::unwritable(destination.name(), reason);
    let mut descriptor = T::KIND.descriptor();
    if let Some(field) = field {
        if field.contains(['\'', '\\', '\n']) {
            return Err(fail(format!("`{field}` is not a valid field name")).into());
        }
        descriptor = format!("[('{field}', {descriptor})]");
    }
    let start = npy::header(&descriptor, shape);
    let bytes = shape.iter().try_fold(size_of::<T>(), |bytes, &n| bytes.checked_mul(n));
    let size = bytes.and_then(|bytes| bytes.checked_add(start.len())).filter(|&size| size <= isize::MAX as usize);
    let size = size.ok_or_else(|| fail(format!("an array of shape {shape:?} is larger than any file")))?;
    Ok((start, size))
}

/// Writes the header to an empty file, and begins to take the room for all of its size.
fn begin(destination: &Destination, mut file: &File, start: &[u8], size: usize) -> Result<Room, EngineError> {
    // Before the disk is filled up for nothing.
    if let Some(free) = free_space(file).filter(|&free| free < size) {
        let reason = format!("it takes {}, and the disk has {} free", Bytes(size), Bytes(free));
        return Err(FileError::unwritable(destination.name(), reason).into());
    }
    file.write_all(start).map_err(|error| destination.error(error))?;
    Room::take(destination, file, start.len()..size)
}

/// Free space on the file's disk, in bytes. `None` if the system doesn't say.
fn free_space(file: &File) -> Option<usize> {
    #[cfg(target_os = "linux")]
    {
        let disk = rustix::fs::fstatvfs(file).ok().filter(|disk| disk.f_blocks > 0)?;
        usize::try_from(disk.f_bfree.saturating_mul(disk.f_frsize)).ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        None
    }
}

/// A vector of zeros. The system makes a large vector's pages when they are first written.
///
/// # Errors
/// [`OutOfMemory`](EngineError::OutOfMemory), also if the system would promise the memory and later
/// end the process for using it.
pub fn zeroed_vec<T: Zeroable>(len: usize) -> Result<Vec<T>, EngineError> {
    /// Least size, in bytes, that is compared with the system's free memory.
    const LARGE: usize = 1 << 28;
    let requested = len.saturating_mul(size_of::<T>());
    if requested >= LARGE && requested > memory().free {
        return Err(EngineError::OutOfMemory { requested });
    }
    bytemuck::allocation::try_zeroed_vec(len).map_err(|()| EngineError::OutOfMemory { requested })
}

/// Asks the system for huge pages under a large slice, before it is first written: they cause fewer
/// page faults and fewer TLB misses. It is advice only, and does nothing on systems without huge
/// pages.
pub fn advise_huge_pages<T>(values: &mut [T]) {
    #[cfg(target_os = "linux")]
    {
        use rustix::mm::{Advice, madvise};
        const HUGE: usize = 2 << 20;
        let page = rustix::param::page_size();
        let first = values.as_mut_ptr().cast::<u8>();
        let before = first.align_offset(page);
        // Whole pages only: the others are shared with somebody else.
        let bytes = size_of_val(values).saturating_sub(before) / page * page;
        if bytes >= 2 * HUGE {
            // SAFETY: the pages lie within the slice, and this advice doesn't change their
            // contents.
            let advised = unsafe { madvise(first.add(before).cast(), bytes, Advice::LinuxHugepage) };
            tracing::debug!(bytes, ?advised, "huge pages");
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = values;
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::ArrayD;
    use std::fs;

    fn write<T: Element>(path: &Path, shape: &[usize], values: &[T]) -> Result<(), EngineError> {
        let mut file = NpyFile::create(path, shape)?;
        assert!(file.as_slice().iter().all(|value| bytemuck::bytes_of(value).iter().all(|&byte| byte == 0)));
        file.as_mut_slice().copy_from_slice(values);
        assert!(bytemuck::cast_slice::<T, u8>(file.as_slice()) == bytemuck::cast_slice::<T, u8>(values));
        file.finish()
    }

    fn count(directory: &tempfile::TempDir) -> usize {
        fs::read_dir(directory).unwrap().count()
    }

    #[test]
    fn arrays_of_any_rank_are_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.npy");
        let shapes: [&[usize]; 8] = [&[5], &[3, 4], &[2, 3, 4], &[1, 2, 1, 3, 2], &[], &[0], &[3, 0], &[1000, 17]];
        for shape in shapes {
            let len = shape.iter().product();
            let doubles: Vec<_> = (0..len).map(|i| i as f64 + 0.5).collect();
            write(&path, shape, &doubles).unwrap();
            let read: ArrayD<f64> = ndarray_npy::read_npy(&path).unwrap();
            assert_eq!((read.shape(), read.as_slice().unwrap()), (shape, &doubles[..]));
            let bytes = fs::metadata(&path).unwrap().len() as usize - len * 8;
            assert!(bytes.is_multiple_of(64), "numpy wants to map the data");

            let floats: Vec<_> = (0..len).map(|i| i as f32 - 7.0).collect();
            write(&path, shape, &floats).unwrap();
            let read: ArrayD<f32> = ndarray_npy::read_npy(&path).unwrap();
            assert_eq!((read.shape(), read.as_slice().unwrap()), (shape, &floats[..]));
            assert_eq!(count(&directory), 1);
        }
    }

    #[test]
    fn the_header_is_numpys() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.npy");
        write(&path, &[3], &[1.0f32, 2.0, 3.0]).unwrap();
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.starts_with(b"\x93NUMPY\x01\0\x76\0{'descr': '<f4', 'fortran_order': False, 'shape': (3,)"), "{bytes:?}");
        assert_eq!((bytes.len(), bytes[127]), (128 + 12, b'\n'));
        assert_eq!(bytes[128..], [1.0f32, 2.0, 3.0].map(f32::to_le_bytes).concat());
    }

    /// `numpy.dtype([("packed", "<f4")])`, which has no padding.
    #[test]
    fn numbers_may_have_a_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.npy");
        let create = |field| NpyFile::<f32>::create_at(Destination::prepare(&path).unwrap(), &[2], Some(field));
        let mut file = create("packed").unwrap();
        file.as_mut_slice().copy_from_slice(&[1.0, 2.0]);
        file.finish().unwrap();
        let bytes = fs::read(&path).unwrap();
        assert!(bytes[10..].starts_with(b"{'descr': [('packed', '<f4')], 'fortran_order': False, 'shape': (2,)"), "{bytes:?}");
        assert_eq!(bytes[bytes.len() - 8..], [1.0f32, 2.0].map(f32::to_le_bytes).concat());
        assert!(ndarray_npy::read_npy::<_, ArrayD<f32>>(&path).is_err(), "it can't be taken for plain numbers");
        assert!(create("it's").unwrap_err().to_string().ends_with("`it's` is not a valid field name"));
    }

    #[test]
    fn the_name_is_given_last() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.npy");
        let mut file = NpyFile::<f64>::create(&path, &[4]).unwrap();
        file.as_mut_slice().fill(1.0);
        file.flush().unwrap();
        assert!(!path.exists() && file.temporary_path().exists());
        drop(file);
        assert_eq!(count(&directory), 0, "what isn't finished leaves nothing");

        write(&path, &[1], &[1.0]).unwrap();
        let before = fs::read(&path).unwrap();
        let mut file = NpyFile::<f64>::create(&path, &[2]).unwrap();
        file.as_mut_slice().fill(2.0);
        assert!(fs::read(&path).unwrap() == before, "the old file stays until then");
        file.finish().unwrap();
        assert_eq!(ndarray_npy::read_npy::<_, ArrayD<f64>>(&path).unwrap(), ndarray::arr1(&[2.0, 2.0]).into_dyn());
        assert_eq!(count(&directory), 1);
    }

    #[test]
    fn what_cannot_be_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.npy");
        let text = |path: &Path, shape: &[usize]| {
            let error = NpyFile::<f64>::create(path, shape).unwrap_err();
            assert!(matches!(error, EngineError::File(_)));
            error.to_string()
        };
        let name = path.display();
        let expected = format!("{name} can't be written: an array of shape [4294967296, 4294967296] is larger than any file");
        assert_eq!(text(&path, &[1 << 32, 1 << 32]), expected);
        assert!(text(&path, &[1 << 60]).contains("is larger than any file"), "more than isize::MAX");
        assert!(text(directory.path(), &[1]).ends_with("it is a directory"));
        assert!(text(&path.join("y"), &[1]).contains("there is no directory"));
        #[cfg(target_os = "linux")]
        {
            let disk = rustix::fs::statvfs(directory.path()).unwrap();
            let room = (disk.f_blocks * disk.f_frsize) as usize;
            let text = text(&path, &[room / 8 * 2 + 1]);
            assert!(text.starts_with(&format!("{name} can't be written: it takes ")) && text.ends_with(" free"), "{text}");
        }
        assert_eq!(count(&directory), 0);
    }

    /// So that a disk that fills up later can do no harm.
    #[test]
    #[cfg(target_os = "linux")]
    fn the_whole_file_has_its_place_at_once() {
        use std::os::unix::fs::MetadataExt as _;
        let directory = tempfile::tempdir().unwrap();
        let file = NpyFile::<f32>::create(&directory.path().join("x.npy"), &[1 << 18]).unwrap();
        assert!(file.file.file().metadata().unwrap().blocks() * 512 >= 1 << 20);
    }

    #[test]
    fn zeros_in_memory() {
        assert_eq!(zeroed_vec::<f32>(3), Ok(vec![0.0; 3]));
        assert_eq!(zeroed_vec::<f64>(0), Ok(vec![]));
        // From 2^28 bytes on, free memory has its say.
        for len in [(1 << 28) - 1, 1 << 28] {
            assert_eq!(zeroed_vec::<u8>(len).unwrap().len(), len);
        }
        let much = 2 * memory().total;
        assert_eq!(zeroed_vec::<u8>(much), Err(EngineError::OutOfMemory { requested: much }));
        assert_eq!(zeroed_vec::<f64>(1 << 60), Err(EngineError::OutOfMemory { requested: 1 << 63 }));
        let error = zeroed_vec::<f64>(usize::MAX).unwrap_err();
        assert_eq!(error, EngineError::OutOfMemory { requested: usize::MAX });
        assert_eq!(zeroed_vec::<u8>(1 << 62).unwrap_err().to_string(), "out of memory: 4.0 EiB asked for");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn huge_pages_under_large_slices() {
        let mut values: Vec<u32> = zeroed_vec(8 << 20).unwrap();
        advise_huge_pages(&mut values[1..]);
        values.iter_mut().zip(0..).for_each(|(value, i)| *value = i);
        advise_huge_pages(&mut values);
        advise_huge_pages::<u32>(&mut []);
        advise_huge_pages(&mut values[..3]);
        assert!(values.iter().copied().eq(0..8 << 20));

        if Path::new("/sys/kernel/mm/transparent_hugepage/enabled").exists() {
            let middle = &raw const values[4 << 20] as usize;
            let maps = fs::read_to_string("/proc/self/smaps").unwrap();
            let contains = |line: &str| {
                let (from, to) = line.split(' ').next()?.split_once('-')?;
                let address = |text| usize::from_str_radix(text, 16).ok();
                Some((address(from)?..address(to)?).contains(&middle))
            };
            let mut lines = maps.lines().skip_while(|line| !contains(line).unwrap_or(false));
            let flags = lines.find(|line| line.starts_with("VmFlags:")).unwrap();
            assert!(flags.split(' ').any(|flag| flag == "hg"), "{flags}");
        }
    }
}
