; What rustc itself calls and a C library would provide: comparisons of slices. (Copies and fills are intrinsics, which
; LLVM turns into loops.)
target triple = "nvptx64-nvidia-cuda"

define linkonce_odr i32 @memcmp(ptr nocapture readonly %a, ptr nocapture readonly %b, i64 %length) #0 {
start:
  br label %next

next:
  %i = phi i64 [ 0, %start ], [ %after, %same ]
  %end = icmp eq i64 %i, %length
  br i1 %end, label %equal, label %compare

compare:
  %a.at = getelementptr inbounds i8, ptr %a, i64 %i
  %b.at = getelementptr inbounds i8, ptr %b, i64 %i
  %a.byte = load i8, ptr %a.at, align 1
  %b.byte = load i8, ptr %b.at, align 1
  %alike = icmp eq i8 %a.byte, %b.byte
  br i1 %alike, label %same, label %differ

same:
  %after = add nuw i64 %i, 1
  br label %next

differ:
  %a.wide = zext i8 %a.byte to i32
  %b.wide = zext i8 %b.byte to i32
  %difference = sub i32 %a.wide, %b.wide
  ret i32 %difference

equal:
  ret i32 0
}

define linkonce_odr i32 @bcmp(ptr nocapture readonly %a, ptr nocapture readonly %b, i64 %length) #0 {
  %difference = call i32 @memcmp(ptr %a, ptr %b, i64 %length)
  ret i32 %difference
}

attributes #0 = { nounwind }
