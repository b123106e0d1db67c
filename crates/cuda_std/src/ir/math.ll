; Exactly rounded operations, which NVPTX has instructions for, and the approximate ones of the special function unit.
; `linkonce_odr`: only what is used gets linked in.
target triple = "nvptx64-nvidia-cuda"

define linkonce_odr float @__cuda_std_sqrt_f32(float %x) #0 {
  %r = call float @llvm.sqrt.f32(float %x)
  ret float %r
}

define linkonce_odr float @__cuda_std_floor_f32(float %x) #0 {
  %r = call float @llvm.floor.f32(float %x)
  ret float %r
}

define linkonce_odr float @__cuda_std_ceil_f32(float %x) #0 {
  %r = call float @llvm.ceil.f32(float %x)
  ret float %r
}

define linkonce_odr float @__cuda_std_trunc_f32(float %x) #0 {
  %r = call float @llvm.trunc.f32(float %x)
  ret float %r
}

define linkonce_odr float @__cuda_std_round_f32(float %x) #0 {
  %r = call float @llvm.round.f32(float %x)
  ret float %r
}

define linkonce_odr float @__cuda_std_round_ties_even_f32(float %x) #0 {
  %r = call float @llvm.roundeven.f32(float %x)
  ret float %r
}

define linkonce_odr float @__cuda_std_min_f32(float %x, float %y) #0 {
  %r = call float @llvm.minnum.f32(float %x, float %y)
  ret float %r
}

define linkonce_odr float @__cuda_std_max_f32(float %x, float %y) #0 {
  %r = call float @llvm.maxnum.f32(float %x, float %y)
  ret float %r
}

define linkonce_odr float @__cuda_std_mul_add_f32(float %x, float %y, float %z) #0 {
  %r = call float @llvm.fma.f32(float %x, float %y, float %z)
  ret float %r
}

define linkonce_odr double @__cuda_std_sqrt_f64(double %x) #0 {
  %r = call double @llvm.sqrt.f64(double %x)
  ret double %r
}

define linkonce_odr double @__cuda_std_floor_f64(double %x) #0 {
  %r = call double @llvm.floor.f64(double %x)
  ret double %r
}

define linkonce_odr double @__cuda_std_ceil_f64(double %x) #0 {
  %r = call double @llvm.ceil.f64(double %x)
  ret double %r
}

define linkonce_odr double @__cuda_std_trunc_f64(double %x) #0 {
  %r = call double @llvm.trunc.f64(double %x)
  ret double %r
}

define linkonce_odr double @__cuda_std_round_f64(double %x) #0 {
  %r = call double @llvm.round.f64(double %x)
  ret double %r
}

define linkonce_odr double @__cuda_std_round_ties_even_f64(double %x) #0 {
  %r = call double @llvm.roundeven.f64(double %x)
  ret double %r
}

define linkonce_odr double @__cuda_std_min_f64(double %x, double %y) #0 {
  %r = call double @llvm.minnum.f64(double %x, double %y)
  ret double %r
}

define linkonce_odr double @__cuda_std_max_f64(double %x, double %y) #0 {
  %r = call double @llvm.maxnum.f64(double %x, double %y)
  ret double %r
}

define linkonce_odr double @__cuda_std_mul_add_f64(double %x, double %y, double %z) #0 {
  %r = call double @llvm.fma.f64(double %x, double %y, double %z)
  ret double %r
}

define linkonce_odr float @__cuda_std_fast_sin(float %x) #0 {
  %r = call float asm "sin.approx.ftz.f32 $0, $1;", "=f,f"(float %x) nounwind willreturn memory(none)
  ret float %r
}

define linkonce_odr float @__cuda_std_fast_cos(float %x) #0 {
  %r = call float asm "cos.approx.ftz.f32 $0, $1;", "=f,f"(float %x) nounwind willreturn memory(none)
  ret float %r
}

define linkonce_odr float @__cuda_std_fast_exp2(float %x) #0 {
  %r = call float asm "ex2.approx.ftz.f32 $0, $1;", "=f,f"(float %x) nounwind willreturn memory(none)
  ret float %r
}

define linkonce_odr float @__cuda_std_fast_log2(float %x) #0 {
  %r = call float asm "lg2.approx.ftz.f32 $0, $1;", "=f,f"(float %x) nounwind willreturn memory(none)
  ret float %r
}

define linkonce_odr float @__cuda_std_fast_rcp(float %x) #0 {
  %r = call float asm "rcp.approx.ftz.f32 $0, $1;", "=f,f"(float %x) nounwind willreturn memory(none)
  ret float %r
}

define linkonce_odr double @__cuda_std_fast_rcp_f64(double %x) #0 {
  %r = call double asm "rcp.approx.ftz.f64 $0, $1;", "=d,d"(double %x) nounwind willreturn memory(none)
  ret double %r
}

define linkonce_odr float @__cuda_std_fast_rsqrt(float %x) #0 {
  %r = call float asm "rsqrt.approx.ftz.f32 $0, $1;", "=f,f"(float %x) nounwind willreturn memory(none)
  ret float %r
}

define linkonce_odr float @__cuda_std_fast_sqrt(float %x) #0 {
  %r = call float asm "sqrt.approx.ftz.f32 $0, $1;", "=f,f"(float %x) nounwind willreturn memory(none)
  ret float %r
}

define linkonce_odr float @__cuda_std_fast_tanh(float %x) #0 {
  %r = call float asm "tanh.approx.f32 $0, $1;", "=f,f"(float %x) nounwind willreturn memory(none)
  ret float %r
}

define linkonce_odr float @__cuda_std_fast_div(float %x, float %y) #0 {
  %r = call float asm "div.approx.ftz.f32 $0, $1, $2;", "=f,f,f"(float %x, float %y) nounwind willreturn memory(none)
  ret float %r
}

declare float @llvm.sqrt.f32(float)
declare float @llvm.floor.f32(float)
declare float @llvm.ceil.f32(float)
declare float @llvm.trunc.f32(float)
declare float @llvm.round.f32(float)
declare float @llvm.roundeven.f32(float)
declare float @llvm.minnum.f32(float, float)
declare float @llvm.maxnum.f32(float, float)
declare float @llvm.fma.f32(float, float, float)
declare double @llvm.sqrt.f64(double)
declare double @llvm.floor.f64(double)
declare double @llvm.ceil.f64(double)
declare double @llvm.trunc.f64(double)
declare double @llvm.round.f64(double)
declare double @llvm.roundeven.f64(double)
declare double @llvm.minnum.f64(double, double)
declare double @llvm.maxnum.f64(double, double)
declare double @llvm.fma.f64(double, double, double)

attributes #0 = { alwaysinline nounwind }
