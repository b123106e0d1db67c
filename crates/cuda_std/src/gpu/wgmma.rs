//! Inline PTX. Callers ensure that the architecture has it.

use crate::gpu::thread::shared_address;
use crate::ptx_asm;

/// The descriptor of a tile in shared memory: 8 rows of 128 bytes, swizzled over 128 bytes, are 1024 bytes before the next 8.
#[inline(always)]
fn descriptor(tile: *const u8) -> u64 {
    let address = u64::from(shared_address(tile) >> 4 & 0x3fff);
    address | 1 << 16 | (1024 >> 4) << 32 | 1 << 62
}

macro_rules! multiply {
    ($($f16:ident $of_f16:literal,
        $bf16:ident $of_bf16:literal:
        $registers:literal, $count:literal $i:tt, $a:literal, $b:literal;)*) => {$(
        multiply!(@ $f16, $of_f16, $registers, $count $i, $a, $b);
        multiply!(@ $bf16, $of_bf16, $registers, $count $i, $a, $b);
    )*};
    (@ $name:ident, $instruction:literal, $registers:literal, $count:literal [$($i:literal)*], $a:literal, $b:literal) => {
        #[inline(always)]
        pub unsafe fn $name(d: &mut [f32; $count], a: *const u8, b: *const u8) {
            let (a, b) = (descriptor(a), descriptor(b));
            // SAFETY: the caller has promised what the instructions demand. Four steps over 16 elements, 32 bytes; they are
            // all done at the end, so that the registers of `d` are nobody else's.
            unsafe {
                ptx_asm!(
                    "{{ .reg .pred add; .reg .b64 a, b; setp.eq.u32 add, 0, 0; mov.b64 a,", $a, "; mov.b64 b,", $b, ";",
                    "wgmma.fence.sync.aligned;",
                    $instruction, "{{", $registers, "}}, a, b, add, 1, 1, 0, 0; add.s64 a, a, 2; add.s64 b, b, 2;",
                    $instruction, "{{", $registers, "}}, a, b, add, 1, 1, 0, 0; add.s64 a, a, 2; add.s64 b, b, 2;",
                    $instruction, "{{", $registers, "}}, a, b, add, 1, 1, 0, 0; add.s64 a, a, 2; add.s64 b, b, 2;",
                    $instruction, "{{", $registers, "}}, a, b, add, 1, 1, 0, 0;",
                    "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; }}",
                    $(inout(f32) d[$i],)* in(b64) a, in(b64) b;
                    cpu => unreachable!()
                );
            }
        }
    };
}
multiply! {
    n64_f16 "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
    n64_bf16 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16":
        "{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}, {12}, {13}, {14}, {15}, {16}, {17}, \
         {18}, {19}, {20}, {21}, {22}, {23}, {24}, {25}, {26}, {27}, {28}, {29}, {30}, {31}",
        32 [
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        ], "{32}", "{33}";
    n128_f16 "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16",
    n128_bf16 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16":
        "{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}, {12}, {13}, {14}, {15}, {16}, {17}, \
         {18}, {19}, {20}, {21}, {22}, {23}, {24}, {25}, {26}, {27}, {28}, {29}, {30}, {31}, {32}, {33}, \
         {34}, {35}, {36}, {37}, {38}, {39}, {40}, {41}, {42}, {43}, {44}, {45}, {46}, {47}, {48}, {49}, \
         {50}, {51}, {52}, {53}, {54}, {55}, {56}, {57}, {58}, {59}, {60}, {61}, {62}, {63}",
        64 [
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35
        36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
        ], "{64}", "{65}";
    n256_f16 "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16",
    n256_bf16 "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16":
        "{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}, {12}, {13}, {14}, {15}, {16}, {17}, \
         {18}, {19}, {20}, {21}, {22}, {23}, {24}, {25}, {26}, {27}, {28}, {29}, {30}, {31}, {32}, {33}, \
         {34}, {35}, {36}, {37}, {38}, {39}, {40}, {41}, {42}, {43}, {44}, {45}, {46}, {47}, {48}, {49}, \
         {50}, {51}, {52}, {53}, {54}, {55}, {56}, {57}, {58}, {59}, {60}, {61}, {62}, {63}, {64}, {65}, \
         {66}, {67}, {68}, {69}, {70}, {71}, {72}, {73}, {74}, {75}, {76}, {77}, {78}, {79}, {80}, {81}, \
         {82}, {83}, {84}, {85}, {86}, {87}, {88}, {89}, {90}, {91}, {92}, {93}, {94}, {95}, {96}, {97}, \
         {98}, {99}, {100}, {101}, {102}, {103}, {104}, {105}, {106}, {107}, {108}, {109}, {110}, {111}, \
         {112}, {113}, {114}, {115}, {116}, {117}, {118}, {119}, {120}, {121}, {122}, {123}, {124}, {125}, \
         {126}, {127}",
        128 [
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35
        36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68
        69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100
        101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125
        126 127
        ], "{128}", "{129}";
}
