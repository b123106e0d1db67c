//! Copies of boxes of tensors.

use cuda_std::{
    mbarrier::{self, Barrier},
    prelude::*,
};

/// Room for a box, aligned for any order of its elements.
#[derive(Clone, Copy)]
#[repr(C, align(1024))]
pub struct Room([u8; 1024]);

/// Bytes of room that a block has for a box.
pub const ROOM: usize = 8 * size_of::<Room>();

macro_rules! boxes {
    ($($load:ident $store:ident: $t:ty, $rank:literal;)*) => {$(
        /// Block b loads the box at the coordinates `at[b]`, and writes what is then in shared memory, `bytes` of it, to the
        /// b-th part of `out`.
        ///
        /// # Safety
        /// There are coordinates and a part of `out` for each block, and a box has so many bytes, at most [`ROOM`].
        #[kernel]
        pub unsafe fn $load(from: TensorMap<$t, $rank>, at: &[i32], bytes: u32, out: *mut $t) {
            let room = shared_array![Room; 8].as_mut_ptr().cast::<$t>();
            let barrier = Barrier::at(shared_array![u64; 1].as_mut_ptr());
            let (block, first) = (thread::block_idx_x() as usize, thread::thread_idx_x() == 0);
            // SAFETY: one thread makes the barrier, before others come to it, and starts the copy; the box is read behind
            // the barrier.
            unsafe {
                if first {
                    barrier.init(1);
                }
                thread::sync_threads();
                if first {
                    barrier.arrive_and_expect(bytes);
                    from.load(barrier, room, core::array::from_fn(|i| at[$rank * block + i]));
                }
                barrier.wait(0);
                let elements = bytes as usize / size_of::<$t>();
                let mut i = thread::thread_idx_x() as usize;
                while i < elements {
                    out.add(elements * block + i).write(room.add(i).read());
                    i += thread::block_dim_x() as usize;
                }
            }
        }

        /// Block b stores a box of the numbers from the b-th part of `values` at the coordinates `at[b]`.
        ///
        /// # Safety
        /// There are coordinates and values for each block, and a box has so many bytes, at most [`ROOM`]. The boxes don't
        /// overlap.
        #[kernel]
        pub unsafe fn $store(values: &[$t], at: &[i32], bytes: u32, to: TensorMapMut<$t, $rank>) {
            let room = shared_array![Room; 8].as_mut_ptr().cast::<$t>();
            let block = thread::block_idx_x() as usize;
            let elements = bytes as usize / size_of::<$t>();
            // SAFETY: threads write elements of their own, and one stores them behind the barrier.
            unsafe {
                let mut i = thread::thread_idx_x() as usize;
                while i < elements {
                    room.add(i).write(values[elements * block + i]);
                    i += thread::block_dim_x() as usize;
                }
                thread::sync_threads();
                if thread::thread_idx_x() == 0 {
                    to.store(room, core::array::from_fn(|i| at[$rank * block + i]));
                    mbarrier::store_commit();
                    mbarrier::store_wait();
                }
            }
        }
    )*};
}
boxes! {
    load_1d store_1d: f64, 1;
    load_2d store_2d: u32, 2;
    load_3d store_3d: u16, 3;
}
