; Atomics in three scopes. Pointers are generic.
;
; LLVM 22 writes `atomicrmw` on NVPTX without its scope and its order, as a plain `atom`, which is relaxed at the scope of the
; device. That is right for relaxed ones of `device`, and more than enough for those of `block`, and both gain from address-space
; inference (`atom.shared`). `cuda_builder` replaces those with the system's scope or an order by PTX, with generic addresses.
; `linkonce_odr`: only what is used gets linked in.
target triple = "nvptx64-nvidia-cuda"

; block

define linkonce_odr i32 @__cuda_std_atomic_add_u32_block(ptr %p, i32 %v) #0 {
  %r = atomicrmw add ptr %p, i32 %v syncscope("block") monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_and_u32_block(ptr %p, i32 %v) #0 {
  %r = atomicrmw and ptr %p, i32 %v syncscope("block") monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_or_u32_block(ptr %p, i32 %v) #0 {
  %r = atomicrmw or ptr %p, i32 %v syncscope("block") monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_xor_u32_block(ptr %p, i32 %v) #0 {
  %r = atomicrmw xor ptr %p, i32 %v syncscope("block") monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_exchange_u32_block(ptr %p, i32 %v) #0 {
  %r = atomicrmw xchg ptr %p, i32 %v syncscope("block") monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_min_u32_block(ptr %p, i32 %v) #0 {
  %r = atomicrmw umin ptr %p, i32 %v syncscope("block") monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_max_u32_block(ptr %p, i32 %v) #0 {
  %r = atomicrmw umax ptr %p, i32 %v syncscope("block") monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_min_i32_block(ptr %p, i32 %v) #0 {
  %r = atomicrmw min ptr %p, i32 %v syncscope("block") monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_max_i32_block(ptr %p, i32 %v) #0 {
  %r = atomicrmw max ptr %p, i32 %v syncscope("block") monotonic, align 4
  ret i32 %r
}

define linkonce_odr i64 @__cuda_std_atomic_add_u64_block(ptr %p, i64 %v) #0 {
  %r = atomicrmw add ptr %p, i64 %v syncscope("block") monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_and_u64_block(ptr %p, i64 %v) #0 {
  %r = atomicrmw and ptr %p, i64 %v syncscope("block") monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_or_u64_block(ptr %p, i64 %v) #0 {
  %r = atomicrmw or ptr %p, i64 %v syncscope("block") monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_xor_u64_block(ptr %p, i64 %v) #0 {
  %r = atomicrmw xor ptr %p, i64 %v syncscope("block") monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_exchange_u64_block(ptr %p, i64 %v) #0 {
  %r = atomicrmw xchg ptr %p, i64 %v syncscope("block") monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_min_u64_block(ptr %p, i64 %v) #0 {
  %r = atomicrmw umin ptr %p, i64 %v syncscope("block") monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_max_u64_block(ptr %p, i64 %v) #0 {
  %r = atomicrmw umax ptr %p, i64 %v syncscope("block") monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_min_i64_block(ptr %p, i64 %v) #0 {
  %r = atomicrmw min ptr %p, i64 %v syncscope("block") monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_max_i64_block(ptr %p, i64 %v) #0 {
  %r = atomicrmw max ptr %p, i64 %v syncscope("block") monotonic, align 8
  ret i64 %r
}

define linkonce_odr float @__cuda_std_atomic_add_f32_block(ptr %p, float %v) #0 {
  %r = atomicrmw fadd ptr %p, float %v syncscope("block") monotonic, align 4
  ret float %r
}

define linkonce_odr double @__cuda_std_atomic_add_f64_block(ptr %p, double %v) #0 {
  %r = atomicrmw fadd ptr %p, double %v syncscope("block") monotonic, align 8
  ret double %r
}

define linkonce_odr i32 @__cuda_std_atomic_add_acq_rel_u32_block(ptr %p, i32 %v) #0 {
  %r = atomicrmw add ptr %p, i32 %v syncscope("block") acq_rel, align 4
  ret i32 %r
}

define linkonce_odr i64 @__cuda_std_atomic_add_acq_rel_u64_block(ptr %p, i64 %v) #0 {
  %r = atomicrmw add ptr %p, i64 %v syncscope("block") acq_rel, align 8
  ret i64 %r
}

define linkonce_odr float @__cuda_std_atomic_add_acq_rel_f32_block(ptr %p, float %v) #0 {
  %r = atomicrmw fadd ptr %p, float %v syncscope("block") acq_rel, align 4
  ret float %r
}

define linkonce_odr double @__cuda_std_atomic_add_acq_rel_f64_block(ptr %p, double %v) #0 {
  %r = atomicrmw fadd ptr %p, double %v syncscope("block") acq_rel, align 8
  ret double %r
}

define linkonce_odr i32 @__cuda_std_atomic_exchange_acq_rel_u32_block(ptr %p, i32 %v) #0 {
  %r = atomicrmw xchg ptr %p, i32 %v syncscope("block") acq_rel, align 4
  ret i32 %r
}

define linkonce_odr i64 @__cuda_std_atomic_exchange_acq_rel_u64_block(ptr %p, i64 %v) #0 {
  %r = atomicrmw xchg ptr %p, i64 %v syncscope("block") acq_rel, align 8
  ret i64 %r
}

define linkonce_odr i32 @__cuda_std_atomic_compare_exchange_u32_block(ptr %p, i32 %expected, i32 %v) #0 {
  %x = cmpxchg ptr %p, i32 %expected, i32 %v syncscope("block") monotonic monotonic, align 4
  %r = extractvalue { i32, i1 } %x, 0
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_compare_exchange_acq_rel_u32_block(ptr %p, i32 %expected, i32 %v) #0 {
  %x = cmpxchg ptr %p, i32 %expected, i32 %v syncscope("block") acq_rel acquire, align 4
  %r = extractvalue { i32, i1 } %x, 0
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_load_u32_block(ptr %p) #0 {
  %r = load atomic i32, ptr %p syncscope("block") monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_load_acquire_u32_block(ptr %p) #0 {
  %r = load atomic i32, ptr %p syncscope("block") acquire, align 4
  ret i32 %r
}

define linkonce_odr void @__cuda_std_atomic_store_u32_block(ptr %p, i32 %v) #0 {
  store atomic i32 %v, ptr %p syncscope("block") monotonic, align 4
  ret void
}

define linkonce_odr void @__cuda_std_atomic_store_release_u32_block(ptr %p, i32 %v) #0 {
  store atomic i32 %v, ptr %p syncscope("block") release, align 4
  ret void
}

define linkonce_odr i64 @__cuda_std_atomic_compare_exchange_u64_block(ptr %p, i64 %expected, i64 %v) #0 {
  %x = cmpxchg ptr %p, i64 %expected, i64 %v syncscope("block") monotonic monotonic, align 8
  %r = extractvalue { i64, i1 } %x, 0
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_compare_exchange_acq_rel_u64_block(ptr %p, i64 %expected, i64 %v) #0 {
  %x = cmpxchg ptr %p, i64 %expected, i64 %v syncscope("block") acq_rel acquire, align 8
  %r = extractvalue { i64, i1 } %x, 0
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_load_u64_block(ptr %p) #0 {
  %r = load atomic i64, ptr %p syncscope("block") monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_load_acquire_u64_block(ptr %p) #0 {
  %r = load atomic i64, ptr %p syncscope("block") acquire, align 8
  ret i64 %r
}

define linkonce_odr void @__cuda_std_atomic_store_u64_block(ptr %p, i64 %v) #0 {
  store atomic i64 %v, ptr %p syncscope("block") monotonic, align 8
  ret void
}

define linkonce_odr void @__cuda_std_atomic_store_release_u64_block(ptr %p, i64 %v) #0 {
  store atomic i64 %v, ptr %p syncscope("block") release, align 8
  ret void
}

define linkonce_odr void @__cuda_std_atomic_fence_acq_rel_block() #0 {
  fence syncscope("block") acq_rel
  ret void
}

; device

define linkonce_odr i32 @__cuda_std_atomic_add_u32_device(ptr %p, i32 %v) #0 {
  %r = atomicrmw add ptr %p, i32 %v syncscope("device") monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_and_u32_device(ptr %p, i32 %v) #0 {
  %r = atomicrmw and ptr %p, i32 %v syncscope("device") monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_or_u32_device(ptr %p, i32 %v) #0 {
  %r = atomicrmw or ptr %p, i32 %v syncscope("device") monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_xor_u32_device(ptr %p, i32 %v) #0 {
  %r = atomicrmw xor ptr %p, i32 %v syncscope("device") monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_exchange_u32_device(ptr %p, i32 %v) #0 {
  %r = atomicrmw xchg ptr %p, i32 %v syncscope("device") monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_min_u32_device(ptr %p, i32 %v) #0 {
  %r = atomicrmw umin ptr %p, i32 %v syncscope("device") monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_max_u32_device(ptr %p, i32 %v) #0 {
  %r = atomicrmw umax ptr %p, i32 %v syncscope("device") monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_min_i32_device(ptr %p, i32 %v) #0 {
  %r = atomicrmw min ptr %p, i32 %v syncscope("device") monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_max_i32_device(ptr %p, i32 %v) #0 {
  %r = atomicrmw max ptr %p, i32 %v syncscope("device") monotonic, align 4
  ret i32 %r
}

define linkonce_odr i64 @__cuda_std_atomic_add_u64_device(ptr %p, i64 %v) #0 {
  %r = atomicrmw add ptr %p, i64 %v syncscope("device") monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_and_u64_device(ptr %p, i64 %v) #0 {
  %r = atomicrmw and ptr %p, i64 %v syncscope("device") monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_or_u64_device(ptr %p, i64 %v) #0 {
  %r = atomicrmw or ptr %p, i64 %v syncscope("device") monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_xor_u64_device(ptr %p, i64 %v) #0 {
  %r = atomicrmw xor ptr %p, i64 %v syncscope("device") monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_exchange_u64_device(ptr %p, i64 %v) #0 {
  %r = atomicrmw xchg ptr %p, i64 %v syncscope("device") monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_min_u64_device(ptr %p, i64 %v) #0 {
  %r = atomicrmw umin ptr %p, i64 %v syncscope("device") monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_max_u64_device(ptr %p, i64 %v) #0 {
  %r = atomicrmw umax ptr %p, i64 %v syncscope("device") monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_min_i64_device(ptr %p, i64 %v) #0 {
  %r = atomicrmw min ptr %p, i64 %v syncscope("device") monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_max_i64_device(ptr %p, i64 %v) #0 {
  %r = atomicrmw max ptr %p, i64 %v syncscope("device") monotonic, align 8
  ret i64 %r
}

define linkonce_odr float @__cuda_std_atomic_add_f32_device(ptr %p, float %v) #0 {
  %r = atomicrmw fadd ptr %p, float %v syncscope("device") monotonic, align 4
  ret float %r
}

define linkonce_odr double @__cuda_std_atomic_add_f64_device(ptr %p, double %v) #0 {
  %r = atomicrmw fadd ptr %p, double %v syncscope("device") monotonic, align 8
  ret double %r
}

define linkonce_odr i32 @__cuda_std_atomic_add_acq_rel_u32_device(ptr %p, i32 %v) #0 {
  %r = atomicrmw add ptr %p, i32 %v syncscope("device") acq_rel, align 4
  ret i32 %r
}

define linkonce_odr i64 @__cuda_std_atomic_add_acq_rel_u64_device(ptr %p, i64 %v) #0 {
  %r = atomicrmw add ptr %p, i64 %v syncscope("device") acq_rel, align 8
  ret i64 %r
}

define linkonce_odr float @__cuda_std_atomic_add_acq_rel_f32_device(ptr %p, float %v) #0 {
  %r = atomicrmw fadd ptr %p, float %v syncscope("device") acq_rel, align 4
  ret float %r
}

define linkonce_odr double @__cuda_std_atomic_add_acq_rel_f64_device(ptr %p, double %v) #0 {
  %r = atomicrmw fadd ptr %p, double %v syncscope("device") acq_rel, align 8
  ret double %r
}

define linkonce_odr i32 @__cuda_std_atomic_exchange_acq_rel_u32_device(ptr %p, i32 %v) #0 {
  %r = atomicrmw xchg ptr %p, i32 %v syncscope("device") acq_rel, align 4
  ret i32 %r
}

define linkonce_odr i64 @__cuda_std_atomic_exchange_acq_rel_u64_device(ptr %p, i64 %v) #0 {
  %r = atomicrmw xchg ptr %p, i64 %v syncscope("device") acq_rel, align 8
  ret i64 %r
}

define linkonce_odr i32 @__cuda_std_atomic_compare_exchange_u32_device(ptr %p, i32 %expected, i32 %v) #0 {
  %x = cmpxchg ptr %p, i32 %expected, i32 %v syncscope("device") monotonic monotonic, align 4
  %r = extractvalue { i32, i1 } %x, 0
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_compare_exchange_acq_rel_u32_device(ptr %p, i32 %expected, i32 %v) #0 {
  %x = cmpxchg ptr %p, i32 %expected, i32 %v syncscope("device") acq_rel acquire, align 4
  %r = extractvalue { i32, i1 } %x, 0
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_load_u32_device(ptr %p) #0 {
  %r = load atomic i32, ptr %p syncscope("device") monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_load_acquire_u32_device(ptr %p) #0 {
  %r = load atomic i32, ptr %p syncscope("device") acquire, align 4
  ret i32 %r
}

define linkonce_odr void @__cuda_std_atomic_store_u32_device(ptr %p, i32 %v) #0 {
  store atomic i32 %v, ptr %p syncscope("device") monotonic, align 4
  ret void
}

define linkonce_odr void @__cuda_std_atomic_store_release_u32_device(ptr %p, i32 %v) #0 {
  store atomic i32 %v, ptr %p syncscope("device") release, align 4
  ret void
}

define linkonce_odr i64 @__cuda_std_atomic_compare_exchange_u64_device(ptr %p, i64 %expected, i64 %v) #0 {
  %x = cmpxchg ptr %p, i64 %expected, i64 %v syncscope("device") monotonic monotonic, align 8
  %r = extractvalue { i64, i1 } %x, 0
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_compare_exchange_acq_rel_u64_device(ptr %p, i64 %expected, i64 %v) #0 {
  %x = cmpxchg ptr %p, i64 %expected, i64 %v syncscope("device") acq_rel acquire, align 8
  %r = extractvalue { i64, i1 } %x, 0
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_load_u64_device(ptr %p) #0 {
  %r = load atomic i64, ptr %p syncscope("device") monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_load_acquire_u64_device(ptr %p) #0 {
  %r = load atomic i64, ptr %p syncscope("device") acquire, align 8
  ret i64 %r
}

define linkonce_odr void @__cuda_std_atomic_store_u64_device(ptr %p, i64 %v) #0 {
  store atomic i64 %v, ptr %p syncscope("device") monotonic, align 8
  ret void
}

define linkonce_odr void @__cuda_std_atomic_store_release_u64_device(ptr %p, i64 %v) #0 {
  store atomic i64 %v, ptr %p syncscope("device") release, align 8
  ret void
}

define linkonce_odr void @__cuda_std_atomic_fence_acq_rel_device() #0 {
  fence syncscope("device") acq_rel
  ret void
}

; system

define linkonce_odr i32 @__cuda_std_atomic_add_u32_system(ptr %p, i32 %v) #0 {
  %r = atomicrmw add ptr %p, i32 %v monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_and_u32_system(ptr %p, i32 %v) #0 {
  %r = atomicrmw and ptr %p, i32 %v monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_or_u32_system(ptr %p, i32 %v) #0 {
  %r = atomicrmw or ptr %p, i32 %v monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_xor_u32_system(ptr %p, i32 %v) #0 {
  %r = atomicrmw xor ptr %p, i32 %v monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_exchange_u32_system(ptr %p, i32 %v) #0 {
  %r = atomicrmw xchg ptr %p, i32 %v monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_min_u32_system(ptr %p, i32 %v) #0 {
  %r = atomicrmw umin ptr %p, i32 %v monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_max_u32_system(ptr %p, i32 %v) #0 {
  %r = atomicrmw umax ptr %p, i32 %v monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_min_i32_system(ptr %p, i32 %v) #0 {
  %r = atomicrmw min ptr %p, i32 %v monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_max_i32_system(ptr %p, i32 %v) #0 {
  %r = atomicrmw max ptr %p, i32 %v monotonic, align 4
  ret i32 %r
}

define linkonce_odr i64 @__cuda_std_atomic_add_u64_system(ptr %p, i64 %v) #0 {
  %r = atomicrmw add ptr %p, i64 %v monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_and_u64_system(ptr %p, i64 %v) #0 {
  %r = atomicrmw and ptr %p, i64 %v monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_or_u64_system(ptr %p, i64 %v) #0 {
  %r = atomicrmw or ptr %p, i64 %v monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_xor_u64_system(ptr %p, i64 %v) #0 {
  %r = atomicrmw xor ptr %p, i64 %v monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_exchange_u64_system(ptr %p, i64 %v) #0 {
  %r = atomicrmw xchg ptr %p, i64 %v monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_min_u64_system(ptr %p, i64 %v) #0 {
  %r = atomicrmw umin ptr %p, i64 %v monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_max_u64_system(ptr %p, i64 %v) #0 {
  %r = atomicrmw umax ptr %p, i64 %v monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_min_i64_system(ptr %p, i64 %v) #0 {
  %r = atomicrmw min ptr %p, i64 %v monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_max_i64_system(ptr %p, i64 %v) #0 {
  %r = atomicrmw max ptr %p, i64 %v monotonic, align 8
  ret i64 %r
}

define linkonce_odr float @__cuda_std_atomic_add_f32_system(ptr %p, float %v) #0 {
  %r = atomicrmw fadd ptr %p, float %v monotonic, align 4
  ret float %r
}

define linkonce_odr double @__cuda_std_atomic_add_f64_system(ptr %p, double %v) #0 {
  %r = atomicrmw fadd ptr %p, double %v monotonic, align 8
  ret double %r
}

define linkonce_odr i32 @__cuda_std_atomic_add_acq_rel_u32_system(ptr %p, i32 %v) #0 {
  %r = atomicrmw add ptr %p, i32 %v acq_rel, align 4
  ret i32 %r
}

define linkonce_odr i64 @__cuda_std_atomic_add_acq_rel_u64_system(ptr %p, i64 %v) #0 {
  %r = atomicrmw add ptr %p, i64 %v acq_rel, align 8
  ret i64 %r
}

define linkonce_odr float @__cuda_std_atomic_add_acq_rel_f32_system(ptr %p, float %v) #0 {
  %r = atomicrmw fadd ptr %p, float %v acq_rel, align 4
  ret float %r
}

define linkonce_odr double @__cuda_std_atomic_add_acq_rel_f64_system(ptr %p, double %v) #0 {
  %r = atomicrmw fadd ptr %p, double %v acq_rel, align 8
  ret double %r
}

define linkonce_odr i32 @__cuda_std_atomic_exchange_acq_rel_u32_system(ptr %p, i32 %v) #0 {
  %r = atomicrmw xchg ptr %p, i32 %v acq_rel, align 4
  ret i32 %r
}

define linkonce_odr i64 @__cuda_std_atomic_exchange_acq_rel_u64_system(ptr %p, i64 %v) #0 {
  %r = atomicrmw xchg ptr %p, i64 %v acq_rel, align 8
  ret i64 %r
}

define linkonce_odr i32 @__cuda_std_atomic_compare_exchange_u32_system(ptr %p, i32 %expected, i32 %v) #0 {
  %x = cmpxchg ptr %p, i32 %expected, i32 %v monotonic monotonic, align 4
  %r = extractvalue { i32, i1 } %x, 0
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_compare_exchange_acq_rel_u32_system(ptr %p, i32 %expected, i32 %v) #0 {
  %x = cmpxchg ptr %p, i32 %expected, i32 %v acq_rel acquire, align 4
  %r = extractvalue { i32, i1 } %x, 0
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_load_u32_system(ptr %p) #0 {
  %r = load atomic i32, ptr %p monotonic, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_atomic_load_acquire_u32_system(ptr %p) #0 {
  %r = load atomic i32, ptr %p acquire, align 4
  ret i32 %r
}

define linkonce_odr void @__cuda_std_atomic_store_u32_system(ptr %p, i32 %v) #0 {
  store atomic i32 %v, ptr %p monotonic, align 4
  ret void
}

define linkonce_odr void @__cuda_std_atomic_store_release_u32_system(ptr %p, i32 %v) #0 {
  store atomic i32 %v, ptr %p release, align 4
  ret void
}

define linkonce_odr i64 @__cuda_std_atomic_compare_exchange_u64_system(ptr %p, i64 %expected, i64 %v) #0 {
  %x = cmpxchg ptr %p, i64 %expected, i64 %v monotonic monotonic, align 8
  %r = extractvalue { i64, i1 } %x, 0
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_compare_exchange_acq_rel_u64_system(ptr %p, i64 %expected, i64 %v) #0 {
  %x = cmpxchg ptr %p, i64 %expected, i64 %v acq_rel acquire, align 8
  %r = extractvalue { i64, i1 } %x, 0
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_load_u64_system(ptr %p) #0 {
  %r = load atomic i64, ptr %p monotonic, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_atomic_load_acquire_u64_system(ptr %p) #0 {
  %r = load atomic i64, ptr %p acquire, align 8
  ret i64 %r
}

define linkonce_odr void @__cuda_std_atomic_store_u64_system(ptr %p, i64 %v) #0 {
  store atomic i64 %v, ptr %p monotonic, align 8
  ret void
}

define linkonce_odr void @__cuda_std_atomic_store_release_u64_system(ptr %p, i64 %v) #0 {
  store atomic i64 %v, ptr %p release, align 8
  ret void
}

define linkonce_odr void @__cuda_std_atomic_fence_acq_rel_system() #0 {
  fence acq_rel
  ret void
}


attributes #0 = { alwaysinline nounwind }
