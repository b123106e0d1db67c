; Loads and stores with a cache policy, asynchronous copies.
; `nc` and `volatile` are ordinary LLVM loads; the other policies exist as PTX only. A load of several words gives them
; through `out`, which is gone after inlining.
; `linkonce_odr`: only what is used gets linked in.
target triple = "nvptx64-nvidia-cuda"

define linkonce_odr i32 @__cuda_std_load_nc_b32(ptr %p) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  %r = load i32, ptr addrspace(1) %g, align 4, !invariant.load !0
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_load_volatile_b32(ptr %p) #0 {
  %r = load volatile i32, ptr %p, align 4
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_load_nc_no_allocate_b32(ptr %p) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  %r = call i32 asm sideeffect "ld.global.nc.L1::no_allocate.b32 $0, [$1];", "=r,l,~{memory}"(ptr addrspace(1) %g) nounwind willreturn memory(argmem: read)
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_load_cs_b32(ptr %p) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  %r = call i32 asm sideeffect "ld.global.cs.b32 $0, [$1];", "=r,l,~{memory}"(ptr addrspace(1) %g) nounwind willreturn memory(argmem: read)
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_load_cg_b32(ptr %p) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  %r = call i32 asm sideeffect "ld.global.cg.b32 $0, [$1];", "=r,l,~{memory}"(ptr addrspace(1) %g) nounwind willreturn memory(argmem: read)
  ret i32 %r
}

define linkonce_odr i32 @__cuda_std_load_lu_b32(ptr %p) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  %r = call i32 asm sideeffect "ld.global.lu.b32 $0, [$1];", "=r,l,~{memory}"(ptr addrspace(1) %g) nounwind willreturn memory(argmem: read)
  ret i32 %r
}

define linkonce_odr void @__cuda_std_store_volatile_b32(ptr %p, i32 %x) #0 {
  store volatile i32 %x, ptr %p, align 4
  ret void
}

define linkonce_odr void @__cuda_std_store_cs_b32(ptr %p, i32 %x) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  call void asm sideeffect "st.global.cs.b32 [$0], $1;", "l,r,~{memory}"(ptr addrspace(1) %g, i32 %x) nounwind willreturn memory(argmem: write)
  ret void
}

define linkonce_odr void @__cuda_std_store_cg_b32(ptr %p, i32 %x) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  call void asm sideeffect "st.global.cg.b32 [$0], $1;", "l,r,~{memory}"(ptr addrspace(1) %g, i32 %x) nounwind willreturn memory(argmem: write)
  ret void
}

define linkonce_odr void @__cuda_std_store_wt_b32(ptr %p, i32 %x) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  call void asm sideeffect "st.global.wt.b32 [$0], $1;", "l,r,~{memory}"(ptr addrspace(1) %g, i32 %x) nounwind willreturn memory(argmem: write)
  ret void
}

define linkonce_odr i64 @__cuda_std_load_nc_b64(ptr %p) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  %r = load i64, ptr addrspace(1) %g, align 8, !invariant.load !0
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_load_volatile_b64(ptr %p) #0 {
  %r = load volatile i64, ptr %p, align 8
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_load_nc_no_allocate_b64(ptr %p) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  %r = call i64 asm sideeffect "ld.global.nc.L1::no_allocate.b64 $0, [$1];", "=l,l,~{memory}"(ptr addrspace(1) %g) nounwind willreturn memory(argmem: read)
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_load_cs_b64(ptr %p) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  %r = call i64 asm sideeffect "ld.global.cs.b64 $0, [$1];", "=l,l,~{memory}"(ptr addrspace(1) %g) nounwind willreturn memory(argmem: read)
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_load_cg_b64(ptr %p) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  %r = call i64 asm sideeffect "ld.global.cg.b64 $0, [$1];", "=l,l,~{memory}"(ptr addrspace(1) %g) nounwind willreturn memory(argmem: read)
  ret i64 %r
}

define linkonce_odr i64 @__cuda_std_load_lu_b64(ptr %p) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  %r = call i64 asm sideeffect "ld.global.lu.b64 $0, [$1];", "=l,l,~{memory}"(ptr addrspace(1) %g) nounwind willreturn memory(argmem: read)
  ret i64 %r
}

define linkonce_odr void @__cuda_std_store_volatile_b64(ptr %p, i64 %x) #0 {
  store volatile i64 %x, ptr %p, align 8
  ret void
}

define linkonce_odr void @__cuda_std_store_cs_b64(ptr %p, i64 %x) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  call void asm sideeffect "st.global.cs.b64 [$0], $1;", "l,l,~{memory}"(ptr addrspace(1) %g, i64 %x) nounwind willreturn memory(argmem: write)
  ret void
}

define linkonce_odr void @__cuda_std_store_cg_b64(ptr %p, i64 %x) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  call void asm sideeffect "st.global.cg.b64 [$0], $1;", "l,l,~{memory}"(ptr addrspace(1) %g, i64 %x) nounwind willreturn memory(argmem: write)
  ret void
}

define linkonce_odr void @__cuda_std_store_wt_b64(ptr %p, i64 %x) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  call void asm sideeffect "st.global.wt.b64 [$0], $1;", "l,l,~{memory}"(ptr addrspace(1) %g, i64 %x) nounwind willreturn memory(argmem: write)
  ret void
}

define linkonce_odr void @__cuda_std_load_nc_v2b32(ptr %p, ptr %out) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  %r = load <2 x i32>, ptr addrspace(1) %g, align 8, !invariant.load !0
  %e0 = extractelement <2 x i32> %r, i32 0
  store i32 %e0, ptr %out, align 4
  %e1 = extractelement <2 x i32> %r, i32 1
  %o1 = getelementptr inbounds i32, ptr %out, i64 1
  store i32 %e1, ptr %o1, align 4
  ret void
}

define linkonce_odr void @__cuda_std_load_volatile_v2b32(ptr %p, ptr %out) #0 {
  %r = load volatile <2 x i32>, ptr %p, align 8
  %e0 = extractelement <2 x i32> %r, i32 0
  store i32 %e0, ptr %out, align 4
  %e1 = extractelement <2 x i32> %r, i32 1
  %o1 = getelementptr inbounds i32, ptr %out, i64 1
  store i32 %e1, ptr %o1, align 4
  ret void
}

define linkonce_odr void @__cuda_std_load_nc_no_allocate_v2b32(ptr %p, ptr %out) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  %r = call { i32, i32 } asm sideeffect "ld.global.nc.L1::no_allocate.v2.b32 {$0, $1}, [$2];", "=r,=r,l,~{memory}"(ptr addrspace(1) %g) nounwind willreturn memory(argmem: read)
  %e0 = extractvalue { i32, i32 } %r, 0
  store i32 %e0, ptr %out, align 4
  %e1 = extractvalue { i32, i32 } %r, 1
  %o1 = getelementptr inbounds i32, ptr %out, i64 1
  store i32 %e1, ptr %o1, align 4
  ret void
}

define linkonce_odr void @__cuda_std_load_cs_v2b32(ptr %p, ptr %out) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  %r = call { i32, i32 } asm sideeffect "ld.global.cs.v2.b32 {$0, $1}, [$2];", "=r,=r,l,~{memory}"(ptr addrspace(1) %g) nounwind willreturn memory(argmem: read)
  %e0 = extractvalue { i32, i32 } %r, 0
  store i32 %e0, ptr %out, align 4
  %e1 = extractvalue { i32, i32 } %r, 1
  %o1 = getelementptr inbounds i32, ptr %out, i64 1
  store i32 %e1, ptr %o1, align 4
  ret void
}

define linkonce_odr void @__cuda_std_load_cg_v2b32(ptr %p, ptr %out) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  %r = call { i32, i32 } asm sideeffect "ld.global.cg.v2.b32 {$0, $1}, [$2];", "=r,=r,l,~{memory}"(ptr addrspace(1) %g) nounwind willreturn memory(argmem: read)
  %e0 = extractvalue { i32, i32 } %r, 0
  store i32 %e0, ptr %out, align 4
  %e1 = extractvalue { i32, i32 } %r, 1
  %o1 = getelementptr inbounds i32, ptr %out, i64 1
  store i32 %e1, ptr %o1, align 4
  ret void
}

define linkonce_odr void @__cuda_std_load_lu_v2b32(ptr %p, ptr %out) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  %r = call { i32, i32 } asm sideeffect "ld.global.lu.v2.b32 {$0, $1}, [$2];", "=r,=r,l,~{memory}"(ptr addrspace(1) %g) nounwind willreturn memory(argmem: read)
  %e0 = extractvalue { i32, i32 } %r, 0
  store i32 %e0, ptr %out, align 4
  %e1 = extractvalue { i32, i32 } %r, 1
  %o1 = getelementptr inbounds i32, ptr %out, i64 1
  store i32 %e1, ptr %o1, align 4
  ret void
}

define linkonce_odr void @__cuda_std_store_volatile_v2b32(ptr %p, i32 %x, i32 %y) #0 {
  %v0 = insertelement <2 x i32> poison, i32 %x, i32 0
  %v1 = insertelement <2 x i32> %v0, i32 %y, i32 1
  store volatile <2 x i32> %v1, ptr %p, align 8
  ret void
}

define linkonce_odr void @__cuda_std_store_cs_v2b32(ptr %p, i32 %x, i32 %y) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  call void asm sideeffect "st.global.cs.v2.b32 [$0], {$1, $2};", "l,r,r,~{memory}"(ptr addrspace(1) %g, i32 %x, i32 %y) nounwind willreturn memory(argmem: write)
  ret void
}

define linkonce_odr void @__cuda_std_store_cg_v2b32(ptr %p, i32 %x, i32 %y) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  call void asm sideeffect "st.global.cg.v2.b32 [$0], {$1, $2};", "l,r,r,~{memory}"(ptr addrspace(1) %g, i32 %x, i32 %y) nounwind willreturn memory(argmem: write)
  ret void
}

define linkonce_odr void @__cuda_std_store_wt_v2b32(ptr %p, i32 %x, i32 %y) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  call void asm sideeffect "st.global.wt.v2.b32 [$0], {$1, $2};", "l,r,r,~{memory}"(ptr addrspace(1) %g, i32 %x, i32 %y) nounwind willreturn memory(argmem: write)
  ret void
}

define linkonce_odr void @__cuda_std_load_nc_v4b32(ptr %p, ptr %out) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  %r = load <4 x i32>, ptr addrspace(1) %g, align 16, !invariant.load !0
  %e0 = extractelement <4 x i32> %r, i32 0
  store i32 %e0, ptr %out, align 4
  %e1 = extractelement <4 x i32> %r, i32 1
  %o1 = getelementptr inbounds i32, ptr %out, i64 1
  store i32 %e1, ptr %o1, align 4
  %e2 = extractelement <4 x i32> %r, i32 2
  %o2 = getelementptr inbounds i32, ptr %out, i64 2
  store i32 %e2, ptr %o2, align 4
  %e3 = extractelement <4 x i32> %r, i32 3
  %o3 = getelementptr inbounds i32, ptr %out, i64 3
  store i32 %e3, ptr %o3, align 4
  ret void
}

define linkonce_odr void @__cuda_std_load_volatile_v4b32(ptr %p, ptr %out) #0 {
  %r = load volatile <4 x i32>, ptr %p, align 16
  %e0 = extractelement <4 x i32> %r, i32 0
  store i32 %e0, ptr %out, align 4
  %e1 = extractelement <4 x i32> %r, i32 1
  %o1 = getelementptr inbounds i32, ptr %out, i64 1
  store i32 %e1, ptr %o1, align 4
  %e2 = extractelement <4 x i32> %r, i32 2
  %o2 = getelementptr inbounds i32, ptr %out, i64 2
  store i32 %e2, ptr %o2, align 4
  %e3 = extractelement <4 x i32> %r, i32 3
  %o3 = getelementptr inbounds i32, ptr %out, i64 3
  store i32 %e3, ptr %o3, align 4
  ret void
}

define linkonce_odr void @__cuda_std_load_nc_no_allocate_v4b32(ptr %p, ptr %out) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  %r = call { i32, i32, i32, i32 } asm sideeffect "ld.global.nc.L1::no_allocate.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l,~{memory}"(ptr addrspace(1) %g) nounwind willreturn memory(argmem: read)
  %e0 = extractvalue { i32, i32, i32, i32 } %r, 0
  store i32 %e0, ptr %out, align 4
  %e1 = extractvalue { i32, i32, i32, i32 } %r, 1
  %o1 = getelementptr inbounds i32, ptr %out, i64 1
  store i32 %e1, ptr %o1, align 4
  %e2 = extractvalue { i32, i32, i32, i32 } %r, 2
  %o2 = getelementptr inbounds i32, ptr %out, i64 2
  store i32 %e2, ptr %o2, align 4
  %e3 = extractvalue { i32, i32, i32, i32 } %r, 3
  %o3 = getelementptr inbounds i32, ptr %out, i64 3
  store i32 %e3, ptr %o3, align 4
  ret void
}

define linkonce_odr void @__cuda_std_load_cs_v4b32(ptr %p, ptr %out) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  %r = call { i32, i32, i32, i32 } asm sideeffect "ld.global.cs.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l,~{memory}"(ptr addrspace(1) %g) nounwind willreturn memory(argmem: read)
  %e0 = extractvalue { i32, i32, i32, i32 } %r, 0
  store i32 %e0, ptr %out, align 4
  %e1 = extractvalue { i32, i32, i32, i32 } %r, 1
  %o1 = getelementptr inbounds i32, ptr %out, i64 1
  store i32 %e1, ptr %o1, align 4
  %e2 = extractvalue { i32, i32, i32, i32 } %r, 2
  %o2 = getelementptr inbounds i32, ptr %out, i64 2
  store i32 %e2, ptr %o2, align 4
  %e3 = extractvalue { i32, i32, i32, i32 } %r, 3
  %o3 = getelementptr inbounds i32, ptr %out, i64 3
  store i32 %e3, ptr %o3, align 4
  ret void
}

define linkonce_odr void @__cuda_std_load_cg_v4b32(ptr %p, ptr %out) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  %r = call { i32, i32, i32, i32 } asm sideeffect "ld.global.cg.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l,~{memory}"(ptr addrspace(1) %g) nounwind willreturn memory(argmem: read)
  %e0 = extractvalue { i32, i32, i32, i32 } %r, 0
  store i32 %e0, ptr %out, align 4
  %e1 = extractvalue { i32, i32, i32, i32 } %r, 1
  %o1 = getelementptr inbounds i32, ptr %out, i64 1
  store i32 %e1, ptr %o1, align 4
  %e2 = extractvalue { i32, i32, i32, i32 } %r, 2
  %o2 = getelementptr inbounds i32, ptr %out, i64 2
  store i32 %e2, ptr %o2, align 4
  %e3 = extractvalue { i32, i32, i32, i32 } %r, 3
  %o3 = getelementptr inbounds i32, ptr %out, i64 3
  store i32 %e3, ptr %o3, align 4
  ret void
}

define linkonce_odr void @__cuda_std_load_lu_v4b32(ptr %p, ptr %out) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  %r = call { i32, i32, i32, i32 } asm sideeffect "ld.global.lu.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l,~{memory}"(ptr addrspace(1) %g) nounwind willreturn memory(argmem: read)
  %e0 = extractvalue { i32, i32, i32, i32 } %r, 0
  store i32 %e0, ptr %out, align 4
  %e1 = extractvalue { i32, i32, i32, i32 } %r, 1
  %o1 = getelementptr inbounds i32, ptr %out, i64 1
  store i32 %e1, ptr %o1, align 4
  %e2 = extractvalue { i32, i32, i32, i32 } %r, 2
  %o2 = getelementptr inbounds i32, ptr %out, i64 2
  store i32 %e2, ptr %o2, align 4
  %e3 = extractvalue { i32, i32, i32, i32 } %r, 3
  %o3 = getelementptr inbounds i32, ptr %out, i64 3
  store i32 %e3, ptr %o3, align 4
  ret void
}

define linkonce_odr void @__cuda_std_store_volatile_v4b32(ptr %p, i32 %x, i32 %y, i32 %z, i32 %w) #0 {
  %v0 = insertelement <4 x i32> poison, i32 %x, i32 0
  %v1 = insertelement <4 x i32> %v0, i32 %y, i32 1
  %v2 = insertelement <4 x i32> %v1, i32 %z, i32 2
  %v3 = insertelement <4 x i32> %v2, i32 %w, i32 3
  store volatile <4 x i32> %v3, ptr %p, align 16
  ret void
}

define linkonce_odr void @__cuda_std_store_cs_v4b32(ptr %p, i32 %x, i32 %y, i32 %z, i32 %w) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  call void asm sideeffect "st.global.cs.v4.b32 [$0], {$1, $2, $3, $4};", "l,r,r,r,r,~{memory}"(ptr addrspace(1) %g, i32 %x, i32 %y, i32 %z, i32 %w) nounwind willreturn memory(argmem: write)
  ret void
}

define linkonce_odr void @__cuda_std_store_cg_v4b32(ptr %p, i32 %x, i32 %y, i32 %z, i32 %w) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  call void asm sideeffect "st.global.cg.v4.b32 [$0], {$1, $2, $3, $4};", "l,r,r,r,r,~{memory}"(ptr addrspace(1) %g, i32 %x, i32 %y, i32 %z, i32 %w) nounwind willreturn memory(argmem: write)
  ret void
}

define linkonce_odr void @__cuda_std_store_wt_v4b32(ptr %p, i32 %x, i32 %y, i32 %z, i32 %w) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  call void asm sideeffect "st.global.wt.v4.b32 [$0], {$1, $2, $3, $4};", "l,r,r,r,r,~{memory}"(ptr addrspace(1) %g, i32 %x, i32 %y, i32 %z, i32 %w) nounwind willreturn memory(argmem: write)
  ret void
}

define linkonce_odr void @__cuda_std_load_nc_v2b64(ptr %p, ptr %out) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  %r = load <2 x i64>, ptr addrspace(1) %g, align 16, !invariant.load !0
  %e0 = extractelement <2 x i64> %r, i32 0
  store i64 %e0, ptr %out, align 8
  %e1 = extractelement <2 x i64> %r, i32 1
  %o1 = getelementptr inbounds i64, ptr %out, i64 1
  store i64 %e1, ptr %o1, align 8
  ret void
}

define linkonce_odr void @__cuda_std_load_volatile_v2b64(ptr %p, ptr %out) #0 {
  %r = load volatile <2 x i64>, ptr %p, align 16
  %e0 = extractelement <2 x i64> %r, i32 0
  store i64 %e0, ptr %out, align 8
  %e1 = extractelement <2 x i64> %r, i32 1
  %o1 = getelementptr inbounds i64, ptr %out, i64 1
  store i64 %e1, ptr %o1, align 8
  ret void
}

define linkonce_odr void @__cuda_std_load_nc_no_allocate_v2b64(ptr %p, ptr %out) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  %r = call { i64, i64 } asm sideeffect "ld.global.nc.L1::no_allocate.v2.b64 {$0, $1}, [$2];", "=l,=l,l,~{memory}"(ptr addrspace(1) %g) nounwind willreturn memory(argmem: read)
  %e0 = extractvalue { i64, i64 } %r, 0
  store i64 %e0, ptr %out, align 8
  %e1 = extractvalue { i64, i64 } %r, 1
  %o1 = getelementptr inbounds i64, ptr %out, i64 1
  store i64 %e1, ptr %o1, align 8
  ret void
}

define linkonce_odr void @__cuda_std_load_cs_v2b64(ptr %p, ptr %out) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  %r = call { i64, i64 } asm sideeffect "ld.global.cs.v2.b64 {$0, $1}, [$2];", "=l,=l,l,~{memory}"(ptr addrspace(1) %g) nounwind willreturn memory(argmem: read)
  %e0 = extractvalue { i64, i64 } %r, 0
  store i64 %e0, ptr %out, align 8
  %e1 = extractvalue { i64, i64 } %r, 1
  %o1 = getelementptr inbounds i64, ptr %out, i64 1
  store i64 %e1, ptr %o1, align 8
  ret void
}

define linkonce_odr void @__cuda_std_load_cg_v2b64(ptr %p, ptr %out) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  %r = call { i64, i64 } asm sideeffect "ld.global.cg.v2.b64 {$0, $1}, [$2];", "=l,=l,l,~{memory}"(ptr addrspace(1) %g) nounwind willreturn memory(argmem: read)
  %e0 = extractvalue { i64, i64 } %r, 0
  store i64 %e0, ptr %out, align 8
  %e1 = extractvalue { i64, i64 } %r, 1
  %o1 = getelementptr inbounds i64, ptr %out, i64 1
  store i64 %e1, ptr %o1, align 8
  ret void
}

define linkonce_odr void @__cuda_std_load_lu_v2b64(ptr %p, ptr %out) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  %r = call { i64, i64 } asm sideeffect "ld.global.lu.v2.b64 {$0, $1}, [$2];", "=l,=l,l,~{memory}"(ptr addrspace(1) %g) nounwind willreturn memory(argmem: read)
  %e0 = extractvalue { i64, i64 } %r, 0
  store i64 %e0, ptr %out, align 8
  %e1 = extractvalue { i64, i64 } %r, 1
  %o1 = getelementptr inbounds i64, ptr %out, i64 1
  store i64 %e1, ptr %o1, align 8
  ret void
}

define linkonce_odr void @__cuda_std_store_volatile_v2b64(ptr %p, i64 %x, i64 %y) #0 {
  %v0 = insertelement <2 x i64> poison, i64 %x, i32 0
  %v1 = insertelement <2 x i64> %v0, i64 %y, i32 1
  store volatile <2 x i64> %v1, ptr %p, align 16
  ret void
}

define linkonce_odr void @__cuda_std_store_cs_v2b64(ptr %p, i64 %x, i64 %y) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  call void asm sideeffect "st.global.cs.v2.b64 [$0], {$1, $2};", "l,l,l,~{memory}"(ptr addrspace(1) %g, i64 %x, i64 %y) nounwind willreturn memory(argmem: write)
  ret void
}

define linkonce_odr void @__cuda_std_store_cg_v2b64(ptr %p, i64 %x, i64 %y) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  call void asm sideeffect "st.global.cg.v2.b64 [$0], {$1, $2};", "l,l,l,~{memory}"(ptr addrspace(1) %g, i64 %x, i64 %y) nounwind willreturn memory(argmem: write)
  ret void
}

define linkonce_odr void @__cuda_std_store_wt_v2b64(ptr %p, i64 %x, i64 %y) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  call void asm sideeffect "st.global.wt.v2.b64 [$0], {$1, $2};", "l,l,l,~{memory}"(ptr addrspace(1) %g, i64 %x, i64 %y) nounwind willreturn memory(argmem: write)
  ret void
}

define linkonce_odr void @__cuda_std_prefetch_l2(ptr %p) #0 {
  %g = addrspacecast ptr %p to ptr addrspace(1)
  call void asm sideeffect "prefetch.global.L2 [$0];", "l"(ptr addrspace(1) %g) nounwind willreturn memory(inaccessiblemem: readwrite)
  ret void
}

; sm_80 and later: callers test the architecture.
define linkonce_odr void @__cuda_std_copy_async_4(ptr %shared, ptr %global) #0 {
  %s = addrspacecast ptr %shared to ptr addrspace(3)
  %g = addrspacecast ptr %global to ptr addrspace(1)
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %s, ptr addrspace(1) %g)
  ret void
}

define linkonce_odr void @__cuda_std_copy_async_8(ptr %shared, ptr %global) #0 {
  %s = addrspacecast ptr %shared to ptr addrspace(3)
  %g = addrspacecast ptr %global to ptr addrspace(1)
  call void @llvm.nvvm.cp.async.ca.shared.global.8(ptr addrspace(3) %s, ptr addrspace(1) %g)
  ret void
}

define linkonce_odr void @__cuda_std_copy_async_16(ptr %shared, ptr %global) #0 {
  %s = addrspacecast ptr %shared to ptr addrspace(3)
  %g = addrspacecast ptr %global to ptr addrspace(1)
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %s, ptr addrspace(1) %g)
  ret void
}

define linkonce_odr void @__cuda_std_copy_async_commit() #0 {
  call void @llvm.nvvm.cp.async.commit.group()
  ret void
}

define linkonce_odr void @__cuda_std_copy_async_wait_0() #0 {
  call void @llvm.nvvm.cp.async.wait.group(i32 0)
  ret void
}

define linkonce_odr void @__cuda_std_copy_async_wait_1() #0 {
  call void @llvm.nvvm.cp.async.wait.group(i32 1)
  ret void
}

define linkonce_odr void @__cuda_std_copy_async_wait_2() #0 {
  call void @llvm.nvvm.cp.async.wait.group(i32 2)
  ret void
}

define linkonce_odr void @__cuda_std_copy_async_wait_3() #0 {
  call void @llvm.nvvm.cp.async.wait.group(i32 3)
  ret void
}

define linkonce_odr void @__cuda_std_copy_async_wait_4() #0 {
  call void @llvm.nvvm.cp.async.wait.group(i32 4)
  ret void
}

define linkonce_odr void @__cuda_std_copy_async_wait_5() #0 {
  call void @llvm.nvvm.cp.async.wait.group(i32 5)
  ret void
}

define linkonce_odr void @__cuda_std_copy_async_wait_6() #0 {
  call void @llvm.nvvm.cp.async.wait.group(i32 6)
  ret void
}

define linkonce_odr void @__cuda_std_copy_async_wait_7() #0 {
  call void @llvm.nvvm.cp.async.wait.group(i32 7)
  ret void
}

declare void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.ca.shared.global.8(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.wait.group(i32 immarg)

!0 = !{}

attributes #0 = { alwaysinline nounwind }
