// RUN: tegula-opt %s -tile-to-simt=warps=4 -plan-converts -allocate-shared -insert-barriers | FileCheck %s
// Two reductions in a row alternate between two places and need no barrier between; in a loop the first
// place is read by the iteration before, which the second reduction's own meeting has ended. A store over
// what an earlier load of the same argument still reads waits.

// CHECK: simt.shared_bytes = 256
// CHECK-LABEL: tt.func @two_sums
// CHECK: scf.for
// CHECK-NOT: simt.barrier
// CHECK: simt.scratch = 0
// CHECK-NOT: simt.barrier
// CHECK: simt.scratch = 128
// CHECK-NOT: simt.barrier
// CHECK: scf.yield
tt.func @two_sums(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant 0.0 : f32
  %i = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32>
  %px = tt.splat %x : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>>
  %ax = tt.addptr %px, %i : tensor<512x!tt.ptr<f32>>, tensor<512xi32>
  %v = tt.load %ax : tensor<512x!tt.ptr<f32>> -> tensor<512xf32>
  %s = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> f32 : i32 {
    %a = tt.splat %acc : f32 -> tensor<512xf32>
    %w = arith.addf %v, %a : tensor<512xf32>
    %p = tt.reduce %w axis 0 {
    ^bb0(%l: f32, %r: f32):
      %t = arith.addf %l, %r : f32
      tt.reduce.return %t : f32
    } : (tensor<512xf32>) -> f32
    %b = tt.splat %p : f32 -> tensor<512xf32>
    %u = arith.subf %w, %b : tensor<512xf32>
    %q = tt.reduce %u axis 0 {
    ^bb0(%l: f32, %r: f32):
      %t = arith.maxnumf %l, %r : f32
      tt.reduce.return %t : f32
    } : (tensor<512xf32>) -> f32
    scf.yield %q : f32
  }
  tt.store %x, %s : !tt.ptr<f32>, f32
  tt.return
}

// CHECK-LABEL: tt.func @shift
// CHECK: tt.load
// CHECK: simt.barrier
// CHECK-NEXT: tt.store
tt.func @shift(%x: !tt.ptr<f32>) {
  %i = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32>
  %j = tt.make_range {end = 513 : i32, start = 1 : i32} : tensor<512xi32>
  %px = tt.splat %x : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>>
  %a = tt.addptr %px, %i : tensor<512x!tt.ptr<f32>>, tensor<512xi32>
  %b = tt.addptr %px, %j : tensor<512x!tt.ptr<f32>>, tensor<512xi32>
  %v = tt.load %a : tensor<512x!tt.ptr<f32>> -> tensor<512xf32>
  tt.store %b, %v : tensor<512x!tt.ptr<f32>>, tensor<512xf32>
  tt.return
}
