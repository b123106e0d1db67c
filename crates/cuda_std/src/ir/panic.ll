; Panics that say where. Linked into builds with panic messages only; without them a panic is a bare trap.
target triple = "nvptx64-nvidia-cuda"

@__cuda_std_panic_format = private unnamed_addr addrspace(1) constant [65 x i8] c"kernel panicked at %s:%u:%u, block (%u,%u,%u) thread (%u,%u,%u)\0A\00", align 1

; `location` is a `&'static core::panic::Location<'static>`:
; { file: pointer and length with a trailing NUL counted in, line: u32, col: u32 }
define void @__cuda_std_panic_at(ptr %location) #0 {
  %args = alloca { ptr, i32, i32, i32, i32, i32, i32, i32, i32 }, align 8
  %file = load ptr, ptr %location, align 8
  %line.at = getelementptr inbounds i8, ptr %location, i64 16
  %line = load i32, ptr %line.at, align 4
  %col.at = getelementptr inbounds i8, ptr %location, i64 20
  %col = load i32, ptr %col.at, align 4
  %bx = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %by = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %bz = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.z()
  %tx = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ty = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %tz = call i32 @llvm.nvvm.read.ptx.sreg.tid.z()
  store ptr %file, ptr %args, align 8
  %a1 = getelementptr inbounds i8, ptr %args, i64 8
  store i32 %line, ptr %a1, align 4
  %a2 = getelementptr inbounds i8, ptr %args, i64 12
  store i32 %col, ptr %a2, align 4
  %a3 = getelementptr inbounds i8, ptr %args, i64 16
  store i32 %bx, ptr %a3, align 4
  %a4 = getelementptr inbounds i8, ptr %args, i64 20
  store i32 %by, ptr %a4, align 4
  %a5 = getelementptr inbounds i8, ptr %args, i64 24
  store i32 %bz, ptr %a5, align 4
  %a6 = getelementptr inbounds i8, ptr %args, i64 28
  store i32 %tx, ptr %a6, align 4
  %a7 = getelementptr inbounds i8, ptr %args, i64 32
  store i32 %ty, ptr %a7, align 4
  %a8 = getelementptr inbounds i8, ptr %args, i64 36
  store i32 %tz, ptr %a8, align 4
  %format = addrspacecast ptr addrspace(1) @__cuda_std_panic_format to ptr
  %printed = call i32 @vprintf(ptr %format, ptr %args)
  call void @llvm.trap()
  unreachable
}

declare i32 @vprintf(ptr, ptr)
declare void @llvm.trap()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.z()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.z()

; Cold and out of line: the text of a panic isn't worth registers of the code that never panics.
attributes #0 = { cold noinline noreturn nounwind }
