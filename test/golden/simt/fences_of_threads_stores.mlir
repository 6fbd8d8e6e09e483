// RUN: tegula-opt %s -insert-barriers | FileCheck %s
// A barrier asks for no fence where boxes have brought all that the product reads. What threads store at the
// end of a trip for the product of the next one, boxes have not brought: there the fence is always asked for.

#rows = #simt.layout<"[64x64] register=[(0,1),(0,2),(0,4),(16,0),(32,0)] lane=[(0,8),(0,16),(0,32),(1,0),(2,0)] warp=[(4,0),(8,0)]">
#sums = #simt.layout<"[64x64] register=[(0,1),(8,0),(0,8),(0,16),(0,32)] lane=[(0,2),(0,4),(1,0),(2,0),(4,0)] warp=[(16,0),(32,0)]">
#shared = #simt.shared<[1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
module attributes {simt.shared_bytes = 24576 : i64, simt.warps = 4 : i32} {
  // CHECK-LABEL: tt.func @boxes_or_threads
  // CHECK: %[[FITS:.+]] = arith.cmpi
  // CHECK: scf.for
  // CHECK: simt.barrier unless %[[FITS]] {fence}
  // CHECK: simt.dot_async
  tt.func @boxes_or_threads(%p: !tt.ptr<f16>, %n: i32) {
    %a = tt.splat %p : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>, #rows>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %true = arith.constant true
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #sums>
    %fits = arith.cmpi slt, %n, %c1 : i32
    %else = arith.xori %fits, %true : i1
    %A = simt.alloc at 0 : <64x64xf16, #shared, 1>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32, #sums>) : i32 {
      %t = simt.async_copy %a if %else, %A {simt.width = 8 : i32} : tensor<64x64x!tt.ptr<f16>, #rows>, <64x64xf16, #shared, 1>
      simt.async_wait %t pending 0
      %d = simt.dot_async in %A : !simt.buffer<64x64xf16, #shared, 1>, %A : <64x64xf16, #shared, 1> plus %acc : tensor<64x64xf32, #sums> by <"wgmma.k16.f16", 16, 8, 16, 16, false, 4> -> tensor<64x64xf32, #sums>
      simt.dot_wait pending 0
      scf.yield %d : tensor<64x64xf32, #sums>
    }
    tt.return
  }

  // CHECK-LABEL: tt.func @threads_store_for_the_next_trip
  // CHECK: scf.for
  // CHECK: simt.barrier {fence}
  // CHECK-NEXT: simt.dot_async
  // CHECK-NOT: unless
  // CHECK: tt.return
  tt.func @threads_store_for_the_next_trip(%p: !tt.ptr<f16>, %n: i32) {
    %a = tt.splat %p : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>, #rows>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %true = arith.constant true
    %v = arith.constant dense<1.0> : tensor<64x64xf16, #rows>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #sums>
    %fits = arith.cmpi slt, %n, %c1 : i32
    %else = arith.xori %fits, %true : i1
    %A = simt.alloc at 0 : <64x64xf16, #shared, 1>
    %B = simt.alloc at 8192 : <64x64xf16, #shared, 1>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32, #sums>) : i32 {
      %t = simt.async_copy %a if %else, %A {simt.width = 8 : i32} : tensor<64x64x!tt.ptr<f16>, #rows>, <64x64xf16, #shared, 1>
      simt.async_wait %t pending 0
      %d = simt.dot_async in %A : !simt.buffer<64x64xf16, #shared, 1>, %B : <64x64xf16, #shared, 1> plus %acc : tensor<64x64xf32, #sums> by <"wgmma.k16.f16", 16, 8, 16, 16, false, 4> -> tensor<64x64xf32, #sums>
      simt.dot_wait pending 0
      simt.local_store %v, %B : tensor<64x64xf16, #rows>, <64x64xf16, #shared, 1>
      scf.yield %d : tensor<64x64xf32, #sums>
    }
    tt.return
  }
}
