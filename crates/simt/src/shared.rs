//! The shared memory of one block.

use crate::{MAX_SHARED, MAX_STATIC_SHARED};
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::Range;
use std::ptr::{self, NonNull};
#[cfg(simt_check)]
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

/// Fill pattern of uninitialised shared memory, which makes reads of it visible.
const POISON: u8 = 0xA5;

/// The address of an empty dynamic part, and the addresses from there on that only mistaken accesses to it are likely to
/// have. No system has memory there.
pub(crate) const NO_DYNAMIC: Range<usize> = 1 << 15..1 << 16;

/// Name of these addresses in messages.
#[cfg(unix)]
pub(crate) const NO_DYNAMIC_NAME: &str = "dynamic shared memory, of which the launch gave 0 bytes";

/// The largest alignment that can be asked for.
const MAX_ALIGN: usize = 4096;

/// Gap between two arrays, in bytes, so that an access beyond the end of one is detected.
const GAP: usize = if cfg!(simt_check) { MAX_ALIGN } else { 0 };

/// Number of statics that get gaps; further ones have none.
const GAPS: usize = 64;

/// The size of the allocation: there is a gap behind the dynamic part, too.
const SIZE: usize = MAX_SHARED + (GAPS + 1) * GAP;

const LAYOUT: Layout = match Layout::from_size_align(SIZE, MAX_ALIGN) {
    Ok(layout) => layout,
    Err(_) => panic!("the size rounded up fits an isize"),
};

/// One allocation of the largest size, carved up anew for each block. Its address never changes.
#[derive(Default)]
pub(crate) struct Shared {
    base: Option<NonNull<u8>>,
    used: usize,
    dynamic: usize,
    poison: bool,
    statics: Vec<Static>,
    /// Bytes that lie between the parts.
    gaps: usize,
    #[cfg(simt_check)]
    written: Written,
    /// Parts count as unwritten from when they are given out, not from the block's start.
    #[cfg(simt_check)]
    one_by_one: bool,
}

/// Written bytes of a block's shared memory. Other blocks of its cluster write there, too.
#[cfg(simt_check)]
#[derive(Clone)]
pub(crate) struct Written(Arc<[AtomicBool]>);

#[cfg(simt_check)]
impl Default for Written {
    fn default() -> Self {
        Written((0..SIZE).map(|_| AtomicBool::new(false)).collect())
    }
}

#[cfg(simt_check)]
impl Written {
    fn clear(&self, bytes: Range<usize>) {
        self.0[bytes].iter().for_each(|written| written.store(false, Relaxed));
    }
}

struct Static {
    key: *const (),
    size: usize,
    at: *mut u8,
}

impl Shared {
    /// Starts a new block, whose dynamic part has `dynamic` bytes (at most `MAX_SHARED`). With `all` everything is
    /// poisoned at once: others may write there before this block asks for it.
    pub(crate) fn reset(&mut self, dynamic: usize, poison: bool, all: bool) {
        self.statics.clear();
        (self.used, self.gaps) = (0, 0);
        self.dynamic = dynamic;
        self.poison = poison && !all;
        #[cfg(simt_check)]
        {
            self.one_by_one = !all;
            if all {
                self.written.clear(0..SIZE);
            }
        }
        if poison && all {
            // SAFETY: the allocation has this size; kernels hold no references into the memory of a block that has ended.
            unsafe { self.base().write_bytes(POISON, SIZE) };
        }
        if dynamic > 0 {
            self.carve(dynamic);
        }
    }

    /// Returns the dynamic part. If it is empty, the pointer is aligned but must not be read
    /// through.
    pub(crate) fn dynamic(&self) -> *mut u8 {
        match self.base {
            Some(base) if self.dynamic > 0 => base.as_ptr(),
            _ => ptr::without_provenance_mut(NO_DYNAMIC.start),
        }
    }

    /// The block's memory for `key`. The error is a clause.
    #[inline]
    pub(crate) fn for_static(&mut self, key: *const (), size: usize, align: usize) -> Result<*mut u8, String> {
        match self.statics.iter().find(|s| s.key == key) {
            Some(found) if found.size == size => Ok(found.at),
            Some(found) => {
                Err(format!("asks for {size} bytes of a shared static for which the block has {} bytes already", found.size))
            }
            None => self.add_static(key, size, align),
        }
    }

    #[cold]
    fn add_static(&mut self, key: *const (), size: usize, align: usize) -> Result<*mut u8, String> {
        if !align.is_power_of_two() || align > MAX_ALIGN {
            return Err(format!(
                "asks for shared memory aligned to {align} bytes, which is not a power of two up to {MAX_ALIGN}"
            ));
        }
        let all = self.statics.iter().fold(size, |all, other| all.saturating_add(other.size));
        if all > MAX_STATIC_SHARED {
            return Err(format!(
                "asks for {all} bytes of static shared memory in all, and {MAX_STATIC_SHARED} are the limit: use dynamic shared \
                 memory for the rest"
            ));
        }
        let start = self.used.next_multiple_of(align);
        if size > MAX_SHARED.saturating_sub(start) {
            return Err(format!(
                "asks for {size} bytes of static shared memory when {} of the block's {MAX_SHARED} are in use",
                self.used
            ));
        }
        self.used = start;
        let at = self.carve(size);
        self.statics.push(Static { key, size, at });
        Ok(at)
    }

    /// Returns true if the block has memory for `key`.
    pub(crate) fn has(&self, key: *const ()) -> bool {
        self.statics.iter().any(|s| s.key == key)
    }

    /// The first byte of all.
    pub(crate) fn base(&mut self) -> *mut u8 {
        let base = self.base.get_or_insert_with(|| {
            // SAFETY: the layout's size is not zero.
            NonNull::new(unsafe { alloc_zeroed(LAYOUT) }).unwrap_or_else(|| handle_alloc_error(LAYOUT))
        });
        base.as_ptr()
    }

    /// Returns the offset of an address, in bytes, up to and including the end; `None` if it isn't
    /// in this memory.
    pub(crate) fn offset(&self, address: *mut u8) -> Option<usize> {
        let offset = address.addr().checked_sub(self.base?.addr().get())?;
        (offset <= SIZE).then_some(offset)
    }

    /// Takes the next `size` bytes. The caller has checked that they exist.
    fn carve(&mut self, size: usize) -> *mut u8 {
        assert!(size <= MAX_SHARED - self.used);
        let base = self.base();
        // SAFETY: `used` is within the allocation, and so is `used + size`, both by the assertion; what lies between
        // the parts comes on top, in the allocation too.
        let at = unsafe { base.add(self.used + self.gaps) };
        if self.poison {
            // SAFETY: `size` bytes from `at` are within the allocation, by the assertion; kernels hold no references
            // into the memory of a block that has ended, nor to a part that they have not been given yet.
            unsafe { at.write_bytes(POISON, size) };
        }
        #[cfg(simt_check)]
        if self.one_by_one {
            let first = self.used + self.gaps;
            self.written.clear(first..first + size);
        }
        self.used += size;
        self.gaps += if self.statics.len() < GAPS { GAP } else { 0 };
        at
    }
}

#[cfg(simt_check)]
impl Shared {
    /// Returns the base of this memory and its written bytes.
    pub(crate) fn known(&self) -> Option<(usize, &Written)> {
        Some((self.base?.addr().get(), &self.written))
    }

    /// The part with the byte at `offset`: where it starts, and its size. The error is a clause.
    fn part(&self, offset: usize) -> Result<(usize, usize), String> {
        let start = self.base.map_or(0, |base| base.addr().get());
        let parts = self.statics.iter().map(|part| (part.at.addr() - start, part.size));
        let last = parts.chain([(0, self.dynamic)]).filter(|part| part.0 <= offset && part.1 > 0).max();
        match last {
            Some((first, size)) if offset < first + size => Ok((first, size)),
            Some((first, size)) => {
                Err(format!("in shared memory, {} bytes behind the end of an array of {size} bytes", offset - first - size))
            }
            None => Err("in shared memory, of which the block has none".to_owned()),
        }
    }

    /// An access to bytes that start in shared memory with this base, which is this block's, or another's with the same
    /// parts: whether all have been written before, or a clause that says where they are instead. `None` where it is
    /// other memory.
    pub(crate) fn access(
        &self,
        bytes: &Range<usize>,
        writes: bool,
        (base, written): (usize, &Written),
    ) -> Option<Result<bool, String>> {
        let offset = bytes.start.checked_sub(base).filter(|&offset| offset < SIZE)?;
        Some(self.part(offset).and_then(|(first, size)| {
            let end = offset + bytes.len();
            if end > first + size {
                let beyond = end - first - size;
                return Err(format!("in shared memory, and goes {beyond} bytes beyond the end of an array of {size} bytes"));
            }
            let written = &written.0[offset..end];
            let all = written.iter().all(|written| written.load(Relaxed));
            if writes {
                written.iter().for_each(|written| written.store(true, Relaxed));
            }
            Ok(all)
        }))
    }

    /// Describes an address of shared memory with this base, in words.
    pub(crate) fn name(&self, address: usize, base: usize) -> Option<String> {
        let offset = address.checked_sub(base).filter(|&offset| offset < SIZE)?;
        let (first, size) = self.part(offset).ok()?;
        Some(format!("byte {} of the {size} of a shared array", offset - first))
    }
}

/// The addresses of the shared memory with this base.
#[cfg(simt_check)]
pub(crate) fn addresses(base: usize) -> Range<usize> {
    base..base + SIZE
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(base) = self.base {
            // SAFETY: allocated with this layout, and nothing uses it once its worker is gone.
            unsafe { dealloc(base.as_ptr(), LAYOUT) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: usize) -> *const () {
        ptr::without_provenance(n)
    }

    #[test]
    fn parts_are_apart_aligned_and_stable() {
        let mut shared = Shared::default();
        shared.reset(100, true, false);
        let dynamic = shared.dynamic() as usize;
        let a = shared.for_static(key(1), 3, 1).unwrap();
        let b = shared.for_static(key(2), 64, 64).unwrap();
        assert_eq!(dynamic % 16, 0);
        assert!(a as usize >= dynamic + 100 && b as usize >= a as usize + 3);
        assert_eq!(b as usize % 64, 0);
        assert_eq!(shared.for_static(key(1), 3, 1), Ok(a));
        // SAFETY: 64 bytes at `b` were just given out.
        assert_eq!(unsafe { b.add(63).read() }, POISON);
        shared.reset(0, true, false);
        assert_eq!(shared.dynamic() as usize % 16, 0);
    }

    #[test]
    fn what_a_block_cannot_have_is_refused() {
        let mut shared = Shared::default();
        shared.reset(MAX_SHARED, false, false);
        assert!(shared.for_static(key(1), 1, 1).unwrap_err().contains("are in use"));
        shared.reset(0, false, false);
        for align in [3, 8192] {
            assert!(shared.for_static(key(1), 1, align).unwrap_err().contains("power of two"));
        }
        assert_eq!(shared.for_static(key(3), 1, 4096).unwrap().addr() % 4096, 0);
        shared.reset(0, false, false);
        shared.for_static(key(1), MAX_STATIC_SHARED, 1).unwrap();
        assert!(shared.for_static(key(1), 8, 1).unwrap_err().contains("already"));
        assert!(shared.for_static(key(2), usize::MAX, 1).unwrap_err().contains("are the limit"));
    }
}
