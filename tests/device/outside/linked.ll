; A function of outside_kernels::linked, and one that nobody calls.
target triple = "nvptx64-nvidia-cuda"

define i64 @fold_bits(i64 %x) {
  %reversed = call i64 @llvm.bitreverse.i64(i64 %x)
  %folded = xor i64 %x, %reversed
  ret i64 %folded
}

define i64 @unused(i64 %x) {
  ret i64 %x
}

declare i64 @llvm.bitreverse.i64(i64)
