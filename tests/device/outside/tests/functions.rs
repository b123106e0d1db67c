//! Functions that kernels call: `f32` ones of `cuda_std`, and those of linked files.

use outside::kernels::language::{SINGLES, all_of_f32, singles};
use outside::kernels::linked::foreign;
use warpsmith_device::{Device, DeviceError, Stream, launch};

type Result<T = (), E = DeviceError> = std::result::Result<T, E>;

fn stream() -> Result<Stream> {
    Device::best()?.stream()
}

/// Functions of `f32` have the same bits on both backends.
#[test]
fn functions_of_f32_have_the_same_bits() -> Result {
    let stream = stream()?;
    let ends = [0.0, -0.0, 1.0, -1.0, 0.5, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MIN_POSITIVE, f32::MAX, 131_072.0];
    let values: Vec<f32> = ends.into_iter().chain((0..u32::MAX).step_by(49_999).map(f32::from_bits)).collect();
    let input = stream.device().upload(&values)?;
    let mut out = stream.device().alloc::<[f32; SINGLES]>(values.len())?;
    launch!(stream, singles<<<256, 128>>>(&input, &mut out))?;
    for (i, out) in stream.download_vec(&out)?.into_iter().enumerate() {
        let [x, y] = [i, (i + 1) % values.len()].map(|i| values[i]);
        for (j, (out, expected)) in out.into_iter().zip(all_of_f32(x, y)).enumerate() {
            let same = out.to_bits() == expected.to_bits() || out.is_nan() && expected.is_nan();
            assert!(same, "{j} of {x:e} and {y:e}: {out:e}, not {expected:e}");
        }
    }
    Ok(())
}

/// Kernels call functions of PTX and of LLVM IR that the build script links; the CPU has its own.
#[test]
fn linked_functions() -> Result {
    let stream = stream()?;
    let values = stream.device().upload(&[1.0f32, -2.0, 0.5, 3.0])?;
    let mut out = stream.device().alloc::<[u64; 3]>(70)?;
    launch!(stream, foreign<<<2, 32>>>(&values, &mut out))?;
    let sums = [0.0f32, 1.0, 5.0, 5.25, 14.25];
    for (i, out) in stream.download_vec(&out)?.into_iter().enumerate() {
        // The first by arithmetic of wide numbers: bit 31 goes round.
        let turned = (0x8000_0001 + i as u64) * 128 % (1 << 32) + 64 + 5;
        assert_eq!(out[0], turned, "{i}");
        assert_eq!(out[1], sums[i.min(4)].to_bits().into(), "{i}");
        let mirrored: u64 = (0..64).map(|bit| (i as u64 >> bit & 1) << (63 - bit)).sum();
        assert_eq!(out[2], i as u64 ^ mirrored, "{i}");
    }
    Ok(())
}
