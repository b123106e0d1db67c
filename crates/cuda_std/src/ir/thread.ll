; Who a thread is, barriers, fences and clocks.
; `linkonce_odr`: only what is used gets linked in.
target triple = "nvptx64-nvidia-cuda"

define linkonce_odr i32 @__cuda_std_thread_idx_x() #0 {
  %r = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_thread_idx_y() #0 {
  %r = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_thread_idx_z() #0 {
  %r = call i32 @llvm.nvvm.read.ptx.sreg.tid.z()
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_block_dim_x() #0 {
  %r = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_block_dim_y() #0 {
  %r = call i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_block_dim_z() #0 {
  %r = call i32 @llvm.nvvm.read.ptx.sreg.ntid.z()
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_block_idx_x() #0 {
  %r = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_block_idx_y() #0 {
  %r = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_block_idx_z() #0 {
  %r = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.z()
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_grid_dim_x() #0 {
  %r = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_grid_dim_y() #0 {
  %r = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.y()
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_grid_dim_z() #0 {
  %r = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.z()
  ret i32 %r
}

define linkonce_odr void @__cuda_std_sync_threads() #1 {
  call void @llvm.nvvm.barrier.cta.sync.all(i32 0)
  ret void
}

define linkonce_odr i32 @__cuda_std_sync_threads_count(i32 %predicate) #1 {
  %p = icmp ne i32 %predicate, 0
  %r = call i32 @llvm.nvvm.barrier.cta.red.popc.all(i32 0, i1 %p)
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_sync_threads_and(i32 %predicate) #1 {
  %p = icmp ne i32 %predicate, 0
  %r = call i1 @llvm.nvvm.barrier.cta.red.and.all(i32 0, i1 %p)
  %w = zext i1 %r to i32
  ret i32 %w
}

define linkonce_odr i32 @__cuda_std_sync_threads_or(i32 %predicate) #1 {
  %p = icmp ne i32 %predicate, 0
  %r = call i1 @llvm.nvvm.barrier.cta.red.or.all(i32 0, i1 %p)
  %w = zext i1 %r to i32
  ret i32 %w
}

define linkonce_odr void @__cuda_std_fence_block() #0 {
  fence syncscope("block") seq_cst
  ret void
}

define linkonce_odr void @__cuda_std_fence_device() #0 {
  fence syncscope("device") seq_cst
  ret void
}

define linkonce_odr void @__cuda_std_fence_system() #0 {
  fence seq_cst
  ret void
}

define linkonce_odr i64 @__cuda_std_clock64() #0 {
  %r = call i64 @llvm.nvvm.read.ptx.sreg.clock64()
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_globaltimer() #0 {
  %r = call i64 @llvm.nvvm.read.ptx.sreg.globaltimer()
  ret i64 %r
}

define linkonce_odr void @__cuda_std_nanosleep(i32 %ns) #0 {
  call void @llvm.nvvm.nanosleep(i32 %ns)
  ret void
}

define linkonce_odr i32 @__cuda_std_dynamic_shared_size() #0 {
  %r = call i32 asm "mov.u32 $0, %dynamic_smem_size;", "=r"() nounwind willreturn memory(none)
  ret i32 %r
}

; The address in shared memory, as instructions take it.
define linkonce_odr i32 @__cuda_std_shared_address(ptr %p) #0 {
  %s = addrspacecast ptr %p to ptr addrspace(3)
  %r = ptrtoint ptr addrspace(3) %s to i32
  ret i32 %r
}

define linkonce_odr void @__cuda_std_trap() #0 {
  call void @llvm.trap()
  unreachable
}

; LLVM replaces this call by the constant 10 * SM, and drops the branches that depend on it.
@__cuda_std_arch_name = private unnamed_addr constant [12 x i8] c"__CUDA_ARCH\00"
define linkonce_odr i32 @__cuda_std_arch() #0 {
  %r = call i32 @__nvvm_reflect(ptr @__cuda_std_arch_name)
  ret i32 %r
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.z()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.z()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.z()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.z()
declare void @llvm.nvvm.barrier.cta.sync.all(i32)
declare i32 @llvm.nvvm.barrier.cta.red.popc.all(i32, i1)
declare i1 @llvm.nvvm.barrier.cta.red.and.all(i32, i1)
declare i1 @llvm.nvvm.barrier.cta.red.or.all(i32, i1)
declare i64 @llvm.nvvm.read.ptx.sreg.clock64()
declare i64 @llvm.nvvm.read.ptx.sreg.globaltimer()
declare void @llvm.nvvm.nanosleep(i32)
declare void @llvm.trap()
declare i32 @__nvvm_reflect(ptr)

attributes #0 = { alwaysinline nounwind }
attributes #1 = { alwaysinline convergent nounwind }
