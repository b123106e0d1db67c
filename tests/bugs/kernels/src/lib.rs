//! Kernels with one bug each. Where `right` is true, the kernel hasn't got it.
//!
//! They are small, and plain about it: what a kernel should be like is in `gpu_kernels::samples`.
#![cfg_attr(cuda_device, no_std)]
#![allow(
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks,
    reason = "one for all: a kernel says what it takes, and where `right` is false it breaks what is demanded of it"
)]

/// Bugs in the order of a block's threads.
pub mod block {
    use cuda_std::prelude::*;

    /// Reverses the elements of one block of up to 256 threads. Bug: no barrier before others' elements are read.
    #[kernel]
    pub unsafe fn missing_barrier(values: *mut u32, right: bool) {
        let staged = shared_array![u32; 256];
        let (me, threads) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
        unsafe {
            staged.write(me, *values.add(me));
            if right {
                thread::sync_threads();
            }
            *values.add(me) = staged.read(threads - 1 - me);
        }
    }

    /// The sum of one block of a power of two of up to 256 threads. Bug: no barrier after each step but the first.
    #[kernel]
    pub unsafe fn missing_barrier_in_a_loop(values: &[u32], sum: *mut u32, right: bool) {
        let partial = shared_array![u32; 256];
        let me = thread::thread_idx_x() as usize;
        unsafe {
            partial.write(me, values[me]);
            thread::sync_threads();
            let mut half = thread::block_dim_x() as usize / 2;
            while half > 0 {
                if me < half {
                    partial.write(me, partial.read(me) + partial.read(me + half));
                }
                if right {
                    thread::sync_threads();
                }
                half /= 2;
            }
            thread::sync_threads();
            if me == 0 {
                *sum = partial.read(0);
            }
        }
    }

    /// `out[i]` is the sum over tiles of the neighbour's element. Bug: a tile is overwritten while others read it.
    #[kernel]
    pub unsafe fn reused_too_early(values: &[u32], out: *mut u32, right: bool) {
        let tile = shared_array![u32; 64];
        let (me, threads) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
        let mut sum = 0;
        for values in values.chunks_exact(threads) {
            unsafe {
                tile.write(me, values[me]);
                thread::sync_threads();
                sum += tile.read((me + 1) % threads);
                if right {
                    thread::sync_threads();
                }
            }
        }
        unsafe { *out.add(me) = sum };
    }

    /// Counts the positive values. Bug: nothing between thread 0, which sets the count to 0, and those that add.
    #[kernel]
    pub unsafe fn reset_without_barrier(values: &[u32], count: *mut u32, right: bool) {
        let counter = shared_array![u32; 1];
        let me = thread::thread_idx_x() as usize;
        unsafe {
            if me == thread::block_dim_x() as usize - 1 {
                counter.write(0, 0);
            }
            if right {
                thread::sync_threads();
            }
            if values[me] > 0 {
                atomic::block::fetch_add(counter.as_mut_ptr(), 1);
            }
            thread::sync_threads();
            if me == 0 {
                *count = counter.read(0);
            }
        }
    }

    /// Counts the positive values. Bug: thread 0 reads the count before all have added.
    #[kernel]
    pub unsafe fn read_without_barrier(values: &[u32], count: *mut u32, right: bool) {
        let counter = shared_array![u32; 1];
        let me = thread::thread_idx_x() as usize;
        unsafe {
            if me == 0 {
                counter.write(0, 0);
            }
            thread::sync_threads();
            if values[me] > 0 {
                atomic::block::fetch_add(counter.as_mut_ptr(), 1);
            }
            if right {
                thread::sync_threads();
            }
            if me == 0 {
                *count = counter.read(0);
            }
        }
    }

    /// `out[i]` is the value of the lane beside. Bug: no `sync_warp` between write and read.
    #[kernel]
    pub unsafe fn missing_sync_warp(values: &[u32], out: *mut u32, right: bool) {
        let staged = shared_array![u32; 32];
        let me = thread::thread_idx_x() as usize;
        unsafe {
            staged.write(me, values[me]);
            if right {
                warp::sync_warp(warp::FULL_MASK);
            }
            *out.add(me) = staged.read(me ^ 1);
        }
    }

    /// `out[i]` is the value of the lane in the other half. Bug: each half of the warp waits for itself alone.
    #[kernel]
    pub unsafe fn halves_of_a_warp(values: &[u32], out: *mut u32, right: bool) {
        let staged = shared_array![u32; 32];
        let me = thread::thread_idx_x() as usize;
        let half = if me < 16 { 0xFFFF } else { 0xFFFF_0000 };
        unsafe {
            staged.write(me, values[me]);
            warp::sync_warp(if right { warp::FULL_MASK } else { half });
            *out.add(me) = staged.read(me ^ 16);
        }
    }

    /// `out[i]` is the value of the other thread of a pair. Bug: a vote in the place of a `sync_warp`: it orders no memory.
    #[kernel]
    pub unsafe fn vote_for_a_sync_warp(values: &[u32], out: *mut u32, right: bool) {
        let staged = shared_array![u32; 32];
        let me = thread::thread_idx_x() as usize;
        unsafe {
            staged.write(me, values[me]);
            warp::ballot(warp::FULL_MASK, true);
            if right {
                warp::sync_warp(warp::FULL_MASK);
            }
            *out.add(me) = staged.read(me ^ 1);
        }
    }

    /// `out[i]` is the value of the thread in the other of two warps. Bug: a `sync_warp` in the place of a barrier.
    #[kernel]
    pub unsafe fn sync_warp_for_a_block(values: &[u32], out: *mut u32, right: bool) {
        let staged = shared_array![u32; 64];
        let me = thread::thread_idx_x() as usize;
        unsafe {
            staged.write(me, values[me]);
            if right {
                thread::sync_threads();
            } else {
                warp::sync_warp(warp::FULL_MASK);
            }
            *out.add(me) = staged.read(me ^ 32);
        }
    }

    /// Each thread passes a barrier, and its warp meets. Bug: thread 0 skips the barrier.
    #[kernel]
    pub unsafe fn barrier_in_a_branch(out: *mut u32, right: bool) {
        let me = thread::thread_idx_x() as usize;
        if right || me > 0 {
            thread::sync_threads();
        }
        warp::sync_warp(warp::FULL_MASK);
        unsafe { *out.add(me) = 1 };
    }

    /// Half of a warp meets at a barrier. Bug: the other half doesn't come, and it is a barrier for whole warps.
    #[kernel]
    pub unsafe fn half_a_warp(out: *mut u32, right: bool) {
        let me = thread::thread_idx_x() as usize;
        if right || (me / 16).is_multiple_of(2) {
            thread::barrier_sync(1, if right { 64 } else { 32 });
        }
        thread::sync_threads();
        unsafe { *out.add(me) = 1 };
    }

    /// `out[i]` is the value of lane 0. Bug: the mask has lanes that don't come.
    #[kernel]
    pub unsafe fn mask_with_absent_lanes(values: &[u32], out: *mut u32, right: bool) {
        let me = thread::thread_idx_x() as usize;
        if me < 16 {
            let mask = if right { 0xFFFF } else { warp::FULL_MASK };
            unsafe { *out.add(me) = warp::shuffle_idx(mask, values[me], 0) };
        }
    }
}

/// Bugs in what threads do to global memory.
pub mod global {
    use cuda_std::prelude::*;

    /// Adds the number of threads. Bug: `+=`, not an atomic operation.
    #[kernel]
    pub unsafe fn lost_update(sum: *mut u32, right: bool) {
        unsafe {
            if right {
                atomic::device::fetch_add(sum, 1);
            } else {
                *sum += 1;
            }
        }
    }

    /// Sums of neighbours, `out[i] = values[i] + values[i + 1]`, by blocks of 32. Bug: in place, so that a block reads
    /// what its neighbour may have overwritten.
    #[kernel]
    pub unsafe fn in_place(values: *mut u32, out: *mut u32, n: usize, right: bool) {
        let i = thread::index_1d() as usize;
        unsafe {
            let sum = if i + 1 < n { *values.add(i) + *values.add(i + 1) } else { 0 };
            thread::sync_threads();
            if i + 1 < n {
                *(if right { out } else { values }).add(i) = sum;
            }
        }
    }

    /// Block 0 doubles an element, of which block 1 takes the double in another launch. Bug: in the same one, as if
    /// `sync_threads` were for all blocks.
    #[kernel]
    pub unsafe fn barrier_for_all_blocks(values: *mut u32, step: u32, right: bool) {
        let (block, me) = (thread::block_idx_x(), thread::thread_idx_x());
        unsafe {
            if block == 0 && me == 0 && (step == 0 || !right) {
                *values += 1;
            }
            thread::sync_threads();
            if block == 1 && me == 0 && (step == 1 || !right) {
                *values.add(1) = *values;
            }
        }
    }

    /// Two elements for each thread. Bug: the second is the next thread's first.
    #[kernel]
    pub unsafe fn stride_too_short(out: *mut u32, right: bool) {
        let me = thread::index_1d() as usize;
        let first = if right { 2 * me } else { me };
        unsafe {
            *out.add(first) = 1;
            *out.add(first + 1) = 1;
        }
    }

    /// A bit for each thread. Bug: bytes are written with all their bits, by eight threads.
    #[kernel]
    pub unsafe fn bits_of_a_byte(out: *mut u8, right: bool) {
        let me = thread::index_1d() as usize;
        unsafe {
            if !right {
                *out.add(me / 8) |= 1 << (me % 8);
            } else if me.is_multiple_of(8) {
                *out.add(me / 8) = 0xFF;
            }
        }
    }
}

/// Bugs in the use of atomics and fences.
pub mod atomics {
    use cuda_std::prelude::*;

    /// Counts all threads of all blocks. Bug: by atomics in the scope of a block.
    #[kernel]
    pub unsafe fn scope_of_a_block(count: *mut u32, right: bool) {
        unsafe {
            if right {
                atomic::device::fetch_add(count, 1);
            } else {
                atomic::block::fetch_add(count, 1);
            }
        }
    }

    /// Block 0 hands a value to block 1. What is wrong depends on `bug`: 0 nothing, 1 a relaxed store, 2 a relaxed
    /// load, 3 a release in the scope of the block, 4 an acquire in that scope, 5 a plain store of the flag.
    #[kernel]
    pub unsafe fn flag(flag: *mut u32, value: *mut u32, out: *mut u32, bug: u32) {
        unsafe {
            if thread::block_idx_x() == 0 {
                *value = 7;
                match bug {
                    1 => atomic::device::store(flag, 1),
                    3 => atomic::block::store_release(flag, 1),
                    5 => *flag = 1,
                    _ => atomic::device::store_release(flag, 1),
                }
            } else {
                loop {
                    let seen = match bug {
                        2 => atomic::device::load(flag),
                        4 => atomic::block::load_acquire(flag),
                        _ => atomic::device::load_acquire(flag),
                    };
                    if seen == 1 {
                        break;
                    }
                    thread::nanosleep(100);
                }
                *out = *value;
            }
        }
    }

    /// The sum of the blocks' numbers, by the last block to come. Bug by `bug`: 0 none, 1 no fence, 2 one in the scope
    /// of the block.
    #[kernel]
    pub unsafe fn last_block(partial: *mut u32, ticket: *mut u32, sum: *mut u32, bug: u32) {
        let (block, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
        let fence = || match bug {
            0 => atomic::device::fence_acq_rel(),
            1 => {}
            _ => atomic::block::fence_acq_rel(),
        };
        unsafe {
            *partial.add(block as usize) = block + 1;
            fence();
            if atomic::device::fetch_add(ticket, 1) == blocks - 1 {
                fence();
                *sum = (0..blocks as usize).map(|i| *partial.add(i)).sum();
            }
        }
    }
}

/// Accesses to memory that isn't there, or that nobody has written.
pub mod memory {
    use cuda_std::prelude::*;

    /// Differences of neighbours. Bug: the last element's neighbour is beyond the end.
    #[kernel]
    pub unsafe fn reads_beyond(values: *const u32, out: *mut u32, n: usize, right: bool) {
        let i = thread::index_1d() as usize;
        unsafe {
            if i + usize::from(right) < n {
                *out.add(i) = (*values.add(i + 1)).wrapping_sub(*values.add(i));
            }
        }
    }

    /// Sets `n` elements. Bug: threads beyond `n` write, too.
    #[kernel]
    pub unsafe fn writes_beyond(out: *mut u32, n: usize, right: bool) {
        let i = thread::index_1d() as usize;
        if i < n || !right {
            unsafe { *out.add(i) = 1 };
        }
    }

    /// Each thread's element goes through shared memory. Bug: the last thread's is behind the end of the array.
    #[kernel]
    pub unsafe fn beyond_a_shared_array(values: &[u32], out: *mut u32, right: bool) {
        let staged = shared_array![u32; 32];
        let me = thread::thread_idx_x() as usize;
        let place = if right { me } else { me + 1 };
        unsafe {
            *staged.as_mut_ptr().add(place) = values[me];
            thread::sync_threads();
            *out.add(me) = *staged.as_mut_ptr().add(place);
        }
    }

    /// A histogram of remainders by 4. Bug: its counters are not set to 0 at the start.
    #[kernel]
    pub unsafe fn unwritten_shared_memory(values: &[u32], counts: *mut u32, right: bool) {
        let counters = shared_array![u32; 4];
        let me = thread::thread_idx_x() as usize;
        unsafe {
            if right && me < 4 {
                counters.write(me, 0);
            }
            thread::sync_threads();
            atomic::block::fetch_add(counters.as_mut_ptr().add(values[me] as usize % 4), 1);
            thread::sync_threads();
            if me < 4 {
                *counts.add(me) = counters.read(me);
            }
        }
    }

    /// `out[i] += values[i]`. A bug where nobody has written `out`.
    #[kernel]
    pub fn adds(values: &[u32], mut out: DisjointSlice<u32>) {
        for (i, out) in out.grid_stride_mut() {
            *out += values[i];
        }
    }

    /// `out[i] = values[i]`, by a pointer. A bug where the buffer of `values` is freed.
    #[kernel]
    pub unsafe fn copies(values: *const u32, out: *mut u32) {
        let i = thread::index_1d() as usize;
        unsafe { *out.add(i) = *values.add(i) };
    }

    /// Sets `out[0]`. Bug: what is written is an argument to be read only.
    #[kernel]
    pub unsafe fn writes_to_an_input(input: *const u32, out: *mut u32, right: bool) {
        if thread::index_1d() == 0 {
            unsafe { *(if right { out } else { input.cast_mut() }) = 1 };
        }
    }

    /// Each lane passes on the first word of its row of four, in one of eight ways. Bug: the address isn't aligned as that
    /// way of access demands.
    #[kernel]
    pub unsafe fn misaligned(rows: *mut U32x4, out: *mut u32, way: u32, right: bool) {
        let staged = shared_array![U32x4; 33];
        let me = thread::thread_idx_x() as usize;
        let row = unsafe { rows.add(me).byte_add(if right { 0 } else { 8 }) };
        let word = unsafe { rows.add(me).byte_add(if right { 0 } else { 2 }) }.cast::<u32>();
        unsafe {
            let found = match way {
                0 => *word,
                1 => word.read(),
                2 => (*row).x,
                3 => mem::load_nc(row).x,
                4 => {
                    mem::store_streaming(row, U32x4::splat(0x0101_0101));
                    word.read()
                }
                5 => {
                    let place = staged.as_mut_ptr().add(me);
                    mem::copy_async(place, row);
                    mem::copy_async_commit();
                    mem::copy_async_wait::<0>();
                    place.read().x
                }
                6 => atomic::device::load(word),
                _ => {
                    staged.as_mut_ptr().add(me).write(rows.add(me).read());
                    thread::sync_threads();
                    let address = staged.as_mut_ptr().add(me % 8).byte_add(if right { 0 } else { 8 });
                    mma::load::<1, u32>(address.cast_const().cast())[0]
                }
            };
            *out.add(me) = found;
        }
    }

    /// Sets `out[0]`. Bug: the address is null.
    #[kernel]
    pub unsafe fn null(out: *mut u32, right: bool) {
        if thread::index_1d() == 0 {
            unsafe { (if right { out } else { core::ptr::null_mut() }).write_volatile(1) };
        }
    }
}

/// Shared memory of other blocks.
pub mod clusters {
    use cuda_std::prelude::*;

    /// `out[i]` is the sum of what the threads of the same number give, in the blocks of a cluster. Bug: nobody waits for
    /// the other blocks to have written it.
    #[kernel(cluster = 2, block = 32)]
    pub unsafe fn missing_barrier_of_the_cluster(values: &[u32], out: *mut u32, right: bool) {
        let partial = shared_array![u32; 32];
        let (i, me) = (thread::index_1d() as usize, thread::thread_idx_x() as usize);
        unsafe {
            partial.write(me, values[i]);
            if right {
                cluster::sync();
            } else {
                thread::sync_threads();
            }
            *out.add(i) = partial.of_block(0).read(me) + partial.of_block(1).read(me);
            cluster::sync();
        }
    }

    /// The same. Bug: a block may return while the other one reads its memory.
    #[kernel(cluster = 2, block = 32)]
    pub unsafe fn returns_too_early(values: &[u32], out: *mut u32, right: bool) {
        let partial = shared_array![u32; 32];
        let (i, me) = (thread::index_1d() as usize, thread::thread_idx_x() as usize);
        unsafe {
            partial.write(me, values[i]);
            cluster::sync();
            *out.add(i) = partial.of_block(0).read(me) + partial.of_block(1).read(me);
            if right {
                cluster::sync();
            }
        }
    }

    /// The same. Bug: a write behind the end of the other block's array.
    #[kernel(cluster = 2, block = 32)]
    pub unsafe fn beyond_another_block_s_array(values: &[u32], out: *mut u32, right: bool) {
        let partial = shared_array![u32; 64];
        let (i, me) = (thread::index_1d() as usize, thread::thread_idx_x() as usize);
        unsafe {
            cluster::sync();
            for rank in 0..2 {
                let first = if right { 0 } else { 1 };
                *partial.of_block(rank).as_mut_ptr().add(first + 32 * cluster::rank() as usize + me) = values[i];
            }
            cluster::sync();
            *out.add(i) = partial.read(me) + partial.read(32 + me);
        }
    }
}
