; Lanes of a warp: masks, shuffles, votes, matches, reductions.
; `linkonce_odr`: only what is used gets linked in.
target triple = "nvptx64-nvidia-cuda"

define linkonce_odr i32 @__cuda_std_lane_id() #0 {
  %r = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_lane_mask_lt() #0 {
  %r = call i32 @llvm.nvvm.read.ptx.sreg.lanemask.lt()
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_lane_mask_le() #0 {
  %r = call i32 @llvm.nvvm.read.ptx.sreg.lanemask.le()
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_lane_mask_eq() #0 {
  %r = call i32 @llvm.nvvm.read.ptx.sreg.lanemask.eq()
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_lane_mask_ge() #0 {
  %r = call i32 @llvm.nvvm.read.ptx.sreg.lanemask.ge()
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_lane_mask_gt() #0 {
  %r = call i32 @llvm.nvvm.read.ptx.sreg.lanemask.gt()
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_active_mask() #1 {
  %r = call i32 asm sideeffect "activemask.b32 $0;", "=r"() convergent nounwind
  ret i32 %r
}

define linkonce_odr void @__cuda_std_sync_warp(i32 %mask) #1 {
  call void @llvm.nvvm.bar.warp.sync(i32 %mask)
  ret void
}

define linkonce_odr i32 @__cuda_std_shuffle_idx(i32 %mask, i32 %value, i32 %lane, i32 %clamp) #1 {
  %r = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 %mask, i32 %value, i32 %lane, i32 %clamp)
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_shuffle_up(i32 %mask, i32 %value, i32 %lane, i32 %clamp) #1 {
  %r = call i32 @llvm.nvvm.shfl.sync.up.i32(i32 %mask, i32 %value, i32 %lane, i32 %clamp)
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_shuffle_down(i32 %mask, i32 %value, i32 %lane, i32 %clamp) #1 {
  %r = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 %mask, i32 %value, i32 %lane, i32 %clamp)
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_shuffle_xor(i32 %mask, i32 %value, i32 %lane, i32 %clamp) #1 {
  %r = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 %mask, i32 %value, i32 %lane, i32 %clamp)
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_vote_all(i32 %mask, i32 %predicate) #1 {
  %p = icmp ne i32 %predicate, 0
  %r = call i1 @llvm.nvvm.vote.all.sync(i32 %mask, i1 %p)
  %w = zext i1 %r to i32
  ret i32 %w
}

define linkonce_odr i32 @__cuda_std_vote_any(i32 %mask, i32 %predicate) #1 {
  %p = icmp ne i32 %predicate, 0
  %r = call i1 @llvm.nvvm.vote.any.sync(i32 %mask, i1 %p)
  %w = zext i1 %r to i32
  ret i32 %w
}

define linkonce_odr i32 @__cuda_std_vote_ballot(i32 %mask, i32 %predicate) #1 {
  %p = icmp ne i32 %predicate, 0
  %r = call i32 @llvm.nvvm.vote.ballot.sync(i32 %mask, i1 %p)
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_match_any_u32(i32 %mask, i32 %value) #1 {
  %r = call i32 @llvm.nvvm.match.any.sync.i32(i32 %mask, i32 %value)
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_match_any_u64(i32 %mask, i64 %value) #1 {
  %r = call i32 @llvm.nvvm.match.any.sync.i64(i32 %mask, i64 %value)
  ret i32 %r
}

; The mask is 0 where the predicate is false, and never 0 where it is true.
define linkonce_odr i32 @__cuda_std_match_all_u32(i32 %mask, i32 %value) #1 {
  %r = call { i32, i1 } @llvm.nvvm.match.all.sync.i32p(i32 %mask, i32 %value)
  %m = extractvalue { i32, i1 } %r, 0
  ret i32 %m
}

define linkonce_odr i32 @__cuda_std_match_all_u64(i32 %mask, i64 %value) #1 {
  %r = call { i32, i1 } @llvm.nvvm.match.all.sync.i64p(i32 %mask, i64 %value)
  %m = extractvalue { i32, i1 } %r, 0
  ret i32 %m
}

; sm_80 and later: callers test the architecture.
define linkonce_odr i32 @__cuda_std_redux_add(i32 %mask, i32 %value) #1 {
  %r = call i32 @llvm.nvvm.redux.sync.add(i32 %value, i32 %mask)
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_redux_min_u32(i32 %mask, i32 %value) #1 {
  %r = call i32 @llvm.nvvm.redux.sync.umin(i32 %value, i32 %mask)
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_redux_max_u32(i32 %mask, i32 %value) #1 {
  %r = call i32 @llvm.nvvm.redux.sync.umax(i32 %value, i32 %mask)
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_redux_min_i32(i32 %mask, i32 %value) #1 {
  %r = call i32 @llvm.nvvm.redux.sync.min(i32 %value, i32 %mask)
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_redux_max_i32(i32 %mask, i32 %value) #1 {
  %r = call i32 @llvm.nvvm.redux.sync.max(i32 %value, i32 %mask)
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_redux_and(i32 %mask, i32 %value) #1 {
  %r = call i32 @llvm.nvvm.redux.sync.and(i32 %value, i32 %mask)
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_redux_or(i32 %mask, i32 %value) #1 {
  %r = call i32 @llvm.nvvm.redux.sync.or(i32 %value, i32 %mask)
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_redux_xor(i32 %mask, i32 %value) #1 {
  %r = call i32 @llvm.nvvm.redux.sync.xor(i32 %value, i32 %mask)
  ret i32 %r
}

declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
declare i32 @llvm.nvvm.read.ptx.sreg.lanemask.lt()
declare i32 @llvm.nvvm.read.ptx.sreg.lanemask.le()
declare i32 @llvm.nvvm.read.ptx.sreg.lanemask.eq()
declare i32 @llvm.nvvm.read.ptx.sreg.lanemask.ge()
declare i32 @llvm.nvvm.read.ptx.sreg.lanemask.gt()
declare void @llvm.nvvm.bar.warp.sync(i32)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.up.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare i1 @llvm.nvvm.vote.all.sync(i32, i1)
declare i1 @llvm.nvvm.vote.any.sync(i32, i1)
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare i32 @llvm.nvvm.match.any.sync.i32(i32, i32)
declare i32 @llvm.nvvm.match.any.sync.i64(i32, i64)
declare { i32, i1 } @llvm.nvvm.match.all.sync.i32p(i32, i32)
declare { i32, i1 } @llvm.nvvm.match.all.sync.i64p(i32, i64)
declare i32 @llvm.nvvm.redux.sync.add(i32, i32)
declare i32 @llvm.nvvm.redux.sync.umin(i32, i32)
declare i32 @llvm.nvvm.redux.sync.umax(i32, i32)
declare i32 @llvm.nvvm.redux.sync.min(i32, i32)
declare i32 @llvm.nvvm.redux.sync.max(i32, i32)
declare i32 @llvm.nvvm.redux.sync.and(i32, i32)
declare i32 @llvm.nvvm.redux.sync.or(i32, i32)
declare i32 @llvm.nvvm.redux.sync.xor(i32, i32)

attributes #0 = { alwaysinline nounwind }
attributes #1 = { alwaysinline convergent nounwind }
