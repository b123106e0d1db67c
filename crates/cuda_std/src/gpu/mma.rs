//! Products of matrices as inline PTX. Callers ensure that the architecture has them.

use crate::gpu::thread::shared_address;
use crate::half::{Bf16x2, F16x2};
use crate::ptx_asm;

macro_rules! products {
    ($($name:ident($a:ty as $ra:ident, $c:ty as $rc:ident) = $instruction:literal;)*) => {$(
        #[inline(always)]
        pub fn $name(a: [$a; 4], b: [$a; 2], c: [$c; 4]) -> [$c; 4] {
            let (d0, d1, d2, d3): ($c, $c, $c, $c);
            // SAFETY: the lanes exchange registers, which touches no memory.
            unsafe {
                ptx_asm!(
                    $instruction,
                    "{{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{10}, {11}, {12}, {13}}};",
                    out($rc) d0, out($rc) d1, out($rc) d2, out($rc) d3,
                    in($ra) a[0], in($ra) a[1], in($ra) a[2], in($ra) a[3], in($ra) b[0], in($ra) b[1],
                    in($rc) c[0], in($rc) c[1], in($rc) c[2], in($rc) c[3],
                    options(pure);
                    cpu => unreachable!()
                );
            }
            [d0, d1, d2, d3]
        }
    )*};
}
products! {
    m16n8k16_f16(F16x2 as b32, f32 as f32) = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
    m16n8k16_bf16(Bf16x2 as b32, f32 as f32) = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
    m16n8k8_bits(u32 as b32, f32 as f32) = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32";
    m16n8k32_s8(u32 as b32, i32 as b32) = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32";
    m16n8k32_u8(u32 as b32, i32 as b32) = "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32";
}

#[inline(always)]
pub fn m16n8k8_tf32(a: [f32; 4], b: [f32; 2], c: [f32; 4]) -> [f32; 4] {
    m16n8k8_bits(a.map(f32::to_bits), b.map(f32::to_bits), c)
}

#[inline(always)]
pub fn tf32(x: f32) -> f32 {
    let bits: u32;
    // SAFETY: the instruction computes.
    unsafe { ptx_asm!("cvt.rna.tf32.f32 {0}, {1};", out(b32) bits, in(f32) x, options(pure); cpu => unreachable!()) };
    f32::from_bits(bits)
}

#[inline(always)]
pub fn m8n8k4_f64(a: f64, b: f64, c: [f64; 2]) -> [f64; 2] {
    let (d0, d1): (f64, f64);
    // SAFETY: the lanes exchange registers, which touches no memory.
    unsafe {
        ptx_asm!(
            "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{{0}, {1}}}, {{{2}}}, {{{3}}}, {{{4}, {5}}};",
            out(f64) d0, out(f64) d1, in(f64) a, in(f64) b, in(f64) c[0], in(f64) c[1],
            options(pure);
            cpu => unreachable!()
        );
    }
    [d0, d1]
}

#[inline(always)]
pub unsafe fn load<const N: usize, const TRANSPOSED: bool>(row: *const u32) -> [u32; N] {
    let from = shared_address(row.cast());
    // SAFETY: the caller has promised what the load demands.
    unsafe {
        macro_rules! load {
            ($instruction:literal, $registers:literal, $from:literal: $($i:literal)*) => {{
                let mut r = [0; 4];
                ptx_asm!($instruction, $registers, $from, $(out(b32) r[$i],)* in(b32) from; cpu => unreachable!());
                r
            }};
        }
        macro_rules! loads {
            ($one:literal $two:literal $four:literal) => {
                match N {
                    1 => load!($one, "{{{0}}},", "[{1}];": 0),
                    2 => load!($two, "{{{0}, {1}}},", "[{2}];": 0 1),
                    _ => load!($four, "{{{0}, {1}, {2}, {3}}},", "[{4}];": 0 1 2 3),
                }
            };
        }
        let all = if TRANSPOSED {
            loads!("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16" "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16"
                "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16")
        } else {
            loads!("ldmatrix.sync.aligned.m8n8.x1.shared.b16" "ldmatrix.sync.aligned.m8n8.x2.shared.b16"
                "ldmatrix.sync.aligned.m8n8.x4.shared.b16")
        };
        core::array::from_fn(|i| all[i])
    }
}
