// Every op of the dialect prints as it is read, through text and through bytecode.
// RUN: tegula-opt %s | tegula-opt | FileCheck %s
// RUN: tegula-opt --emit-bytecode %s | tegula-opt | FileCheck %s
// RUN: tegula-opt --mlir-print-op-generic %s | tegula-opt | FileCheck %s

// CHECK-LABEL: tt.func @arguments(%arg0: !tt.ptr<f32> {tt.divisibility = 16 : i32, tt.name = "x", tt.readonly}, %arg1: i32 {tt.name = "n"}, %arg2: !tt.ptr<i8, 3>)
tt.func @arguments(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32, tt.name = "x", tt.readonly}, %n: i32 {tt.name = "n"}, %y: !tt.ptr<i8, 3>) {
  // CHECK-NEXT: tt.get_program_id 2
  %0 = tt.get_program_id 2
  // CHECK-NEXT: tt.get_num_programs 0
  %1 = tt.get_num_programs 0
  // CHECK-NEXT: tt.barrier
  tt.barrier
  // CHECK-NEXT: tt.return
  tt.return
}

// CHECK-LABEL: tt.func private @declared(i32)
tt.func private @declared(i32)

// CHECK-LABEL: tt.func @indexing
tt.func @indexing(%p: !tt.ptr<f16>, %n: i64) {
  // CHECK: tt.make_range {end = 48 : i32, start = 0 : i32} : tensor<48xi32>
  %0 = tt.make_range {start = 0 : i32, end = 48 : i32} : tensor<48xi32>
  // CHECK: tt.addptr %{{.*}}, %{{.*}} : !tt.ptr<f16>, i64
  %1 = tt.addptr %p, %n : !tt.ptr<f16>, i64
  // CHECK: tt.splat %{{.*}} : !tt.ptr<f16> -> tensor<48x!tt.ptr<f16>>
  %2 = tt.splat %1 : !tt.ptr<f16> -> tensor<48x!tt.ptr<f16>>
  // CHECK: tt.addptr %{{.*}}, %{{.*}} : tensor<48x!tt.ptr<f16>>, tensor<48xi32>
  %3 = tt.addptr %2, %0 : tensor<48x!tt.ptr<f16>>, tensor<48xi32>
  // CHECK: tt.ptr_to_int %{{.*}} : tensor<48x!tt.ptr<f16>> -> tensor<48xi64>
  %4 = tt.ptr_to_int %3 : tensor<48x!tt.ptr<f16>> -> tensor<48xi64>
  // CHECK: tt.int_to_ptr %{{.*}} : tensor<48xi64> -> tensor<48x!tt.ptr<f16>>
  %5 = tt.int_to_ptr %4 : tensor<48xi64> -> tensor<48x!tt.ptr<f16>>
  tt.return
}

// CHECK-LABEL: tt.func @shape
tt.func @shape(%s: f32) {
  // CHECK: tt.splat %{{.*}} : f32 -> tensor<6xf32>
  %0 = tt.splat %s : f32 -> tensor<6xf32>
  // CHECK: tt.reshape %{{.*}} : tensor<6xf32> -> tensor<2x3xf32>
  %1 = tt.reshape %0 : tensor<6xf32> -> tensor<2x3xf32>
  // CHECK: tt.reshape %{{.*}} allow_reorder : tensor<2x3xf32> -> tensor<6xf32>
  %2 = tt.reshape %1 allow_reorder : tensor<2x3xf32> -> tensor<6xf32>
  // CHECK: tt.trans %{{.*}} {order = array<i32: 1, 0>} : tensor<2x3xf32> -> tensor<3x2xf32>
  %3 = tt.trans %1 {order = array<i32: 1, 0>} : tensor<2x3xf32> -> tensor<3x2xf32>
  // CHECK: tt.expand_dims %{{.*}} {axis = 0 : i32} : tensor<6xf32> -> tensor<1x6xf32>
  %4 = tt.expand_dims %0 {axis = 0 : i32} : tensor<6xf32> -> tensor<1x6xf32>
  // CHECK: tt.broadcast %{{.*}} : tensor<1x6xf32> -> tensor<4x6xf32>
  %5 = tt.broadcast %4 : tensor<1x6xf32> -> tensor<4x6xf32>
  // CHECK: tt.join %{{.*}}, %{{.*}} : tensor<6xf32> -> tensor<6x2xf32>
  %6 = tt.join %0, %2 : tensor<6xf32> -> tensor<6x2xf32>
  // CHECK: tt.split %{{.*}} : tensor<6x2xf32> -> tensor<6xf32>
  %7, %8 = tt.split %6 : tensor<6x2xf32> -> tensor<6xf32>
  %9 = tt.splat %s : f32 -> tensor<1xf32>
  // CHECK: tt.unsplat %{{.*}} : tensor<1xf32> -> f32
  %10 = tt.unsplat %9 : tensor<1xf32> -> f32
  tt.return
}

// CHECK-LABEL: tt.func @memory
// CHECK-SAME: attributes {test.kept = 1 : i32}
tt.func @memory(%p: !tt.ptr<f32>, %c: i1, %x: f32) attributes {test.kept = 1 : i32} {
  %ps = tt.splat %p : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %m = tt.splat %c : i1 -> tensor<8xi1>
  %o = tt.splat %x : f32 -> tensor<8xf32>
  // CHECK: tt.load %{{.*}} : !tt.ptr<f32> -> f32
  %0 = tt.load %p : !tt.ptr<f32> -> f32
  // CHECK: tt.load %{{.*}} mask %{{.*}} : tensor<8x!tt.ptr<f32>> -> tensor<8xf32>, mask tensor<8xi1>{{$}}
  %1 = tt.load %ps mask %m : tensor<8x!tt.ptr<f32>> -> tensor<8xf32>, mask tensor<8xi1>
  // CHECK: tt.load %{{.*}} mask %{{.*}} other %{{.*}} {cache = 2 : i32, evict = 1 : i32, isVolatile} : tensor<8x!tt.ptr<f32>> -> tensor<8xf32>, mask tensor<8xi1>, other tensor<8xf32>
  %2 = tt.load %ps mask %m other %o {cache = 2 : i32, evict = 1 : i32, isVolatile} : tensor<8x!tt.ptr<f32>> -> tensor<8xf32>, mask tensor<8xi1>, other tensor<8xf32>
  // CHECK: tt.store %{{.*}}, %{{.*}} : !tt.ptr<f32>, f32
  tt.store %p, %0 : !tt.ptr<f32>, f32
  // CHECK: tt.store %{{.*}}, %{{.*}} mask %{{.*}} : tensor<8x!tt.ptr<f32>>, tensor<8xf32>, mask tensor<8xi1>
  tt.store %ps, %2 mask %m : tensor<8x!tt.ptr<f32>>, tensor<8xf32>, mask tensor<8xi1>
  tt.return
}

// CHECK-LABEL: tt.func @elementwise
tt.func @elementwise(%x: f32, %i: i32) {
  // CHECK: tt.bitcast %{{.*}} : f32 -> i32
  %0 = tt.bitcast %x : f32 -> i32
  // CHECK: tt.fp_to_fp %{{.*}} : f32 -> f8E4M3FN
  %1 = tt.fp_to_fp %x : f32 -> f8E4M3FN
  // CHECK: tt.fp_to_fp %{{.*}} {rounding = 1 : i32} : f32 -> bf16
  %2 = tt.fp_to_fp %x {rounding = 1 : i32} : f32 -> bf16
  // CHECK: tt.mulhiui %{{.*}}, %{{.*}} : i32
  %3 = tt.mulhiui %i, %0 : i32
  // CHECK: tt.clampf %{{.*}}, %{{.*}}, %{{.*}} : f32
  %4 = tt.clampf %x, %x, %x : f32
  // CHECK: tt.clampf %{{.*}}, %{{.*}}, %{{.*}} propagate_nan : f32
  %5 = tt.clampf %x, %x, %x propagate_nan : f32
  // CHECK: tt.precise_sqrt %{{.*}} : f32
  %6 = tt.precise_sqrt %x : f32
  // CHECK: tt.precise_divf %{{.*}}, %{{.*}} : f32
  %7 = tt.precise_divf %x, %x : f32
  // CHECK: tt.directed fma ru %{{.*}}, %{{.*}}, %{{.*}} : f32, f32, f32 -> f32
  %8 = tt.directed fma ru %x, %x, %x : f32, f32, f32 -> f32
  tt.return
}

// CHECK-LABEL: tt.func @reduce_and_dot
tt.func @reduce_and_dot(%x: f32, %n: i32) {
  %a = tt.splat %x : f32 -> tensor<4x8xf32>
  %b = tt.splat %x : f32 -> tensor<8x2xf32>
  %c = tt.splat %x : f32 -> tensor<4x2xf32>
  %i = tt.splat %n : i32 -> tensor<4x8xi32>
  // CHECK: tt.reduce %{{.*}}, %{{.*}} axis 1 {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: i32, %{{.*}}: f32, %{{.*}}: i32):
  // CHECK: tt.reduce.return %{{.*}}, %{{.*}} : f32, i32
  // CHECK-NEXT: } : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4xf32>, tensor<4xi32>)
  %0:2 = tt.reduce %a, %i axis 1 {
  ^bb0(%u: f32, %xi: i32, %y: f32, %yi: i32):
    %s = arith.addf %u, %y : f32
    tt.reduce.return %s, %xi : f32, i32
  } : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4xf32>, tensor<4xi32>)
  // CHECK: tt.dot %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8x2xf32>, tensor<4x2xf32>
  %1 = tt.dot %a, %b, %c : tensor<4x8xf32>, tensor<8x2xf32>, tensor<4x2xf32>
  // CHECK: tt.dot %{{.*}}, %{{.*}}, %{{.*}} {precision = 0 : i32} : tensor<4x8xf32>, tensor<8x2xf32>, tensor<4x2xf32>
  %2 = tt.dot %a, %b, %c {precision = 0 : i32} : tensor<4x8xf32>, tensor<8x2xf32>, tensor<4x2xf32>
  tt.return
}

// CHECK-LABEL: tt.func @atomics
tt.func @atomics(%p: !tt.ptr<f32>, %q: !tt.ptr<i32>, %c: i1, %x: f32, %n: i32) {
  %ps = tt.splat %p : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %m = tt.splat %c : i1 -> tensor<8xi1>
  %v = tt.splat %x : f32 -> tensor<8xf32>
  // CHECK: tt.atomic_rmw fadd, acq_rel, gpu, %{{.*}}, %{{.*}} mask %{{.*}} : tensor<8x!tt.ptr<f32>>, tensor<8xf32>, mask tensor<8xi1> -> tensor<8xf32>
  %0 = tt.atomic_rmw fadd, acq_rel, gpu, %ps, %v mask %m : tensor<8x!tt.ptr<f32>>, tensor<8xf32>, mask tensor<8xi1> -> tensor<8xf32>
  // CHECK: tt.atomic_rmw umax, relaxed, sys, %{{.*}}, %{{.*}} : !tt.ptr<i32>, i32 -> i32
  %1 = tt.atomic_rmw umax, relaxed, sys, %q, %n : !tt.ptr<i32>, i32 -> i32
  // CHECK: tt.atomic_cas acquire, cta, %{{.*}}, %{{.*}}, %{{.*}} : !tt.ptr<i32> -> i32
  %2 = tt.atomic_cas acquire, cta, %q, %n, %1 : !tt.ptr<i32> -> i32
  tt.return
}

// CHECK-LABEL: tt.func @scan_and_histogram
tt.func @scan_and_histogram(%x: f32, %n: i32, %c: i1) {
  %a = tt.splat %x : f32 -> tensor<4x8xf32>
  %i = tt.splat %n : i32 -> tensor<16xi32>
  %m = tt.splat %c : i1 -> tensor<16xi1>
  // CHECK: tt.scan %{{.*}} axis 1 reverse {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32):
  // CHECK: tt.scan.return %{{.*}} : f32
  // CHECK-NEXT: } : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = tt.scan %a axis 1 reverse {
  ^bb0(%u: f32, %y: f32):
    %s = arith.addf %u, %y : f32
    tt.scan.return %s : f32
  } : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: tt.histogram %{{.*}} : tensor<16xi32> -> tensor<5xi32>{{$}}
  %1 = tt.histogram %i : tensor<16xi32> -> tensor<5xi32>
  // CHECK: tt.histogram %{{.*}} mask %{{.*}} : tensor<16xi32> -> tensor<5xi32>, mask tensor<16xi1>
  %2 = tt.histogram %i mask %m : tensor<16xi32> -> tensor<5xi32>, mask tensor<16xi1>
  tt.return
}

// CHECK-LABEL: tt.func @cat_and_gather
tt.func @cat_and_gather(%x: f32, %n: i32) {
  %a = tt.splat %x : f32 -> tensor<4x8xf32>
  %b = tt.splat %x : f32 -> tensor<4x3xf32>
  %i = tt.splat %n : i32 -> tensor<2x8xi32>
  // CHECK: tt.cat %{{.*}}, %{{.*}} axis 1 : tensor<4x8xf32>, tensor<4x3xf32> -> tensor<4x11xf32>
  %0 = tt.cat %a, %b axis 1 : tensor<4x8xf32>, tensor<4x3xf32> -> tensor<4x11xf32>
  // CHECK: tt.gather %{{.*}}[%{{.*}}] axis 0 : tensor<4x8xf32>, tensor<2x8xi32> -> tensor<2x8xf32>
  %1 = tt.gather %a[%i] axis 0 : tensor<4x8xf32>, tensor<2x8xi32> -> tensor<2x8xf32>
  tt.return
}

// CHECK-LABEL: tt.func @debug
tt.func @debug(%x: f32, %n: i32, %c: i1) {
  %a = tt.splat %x : f32 -> tensor<4xf32>
  // CHECK: tt.print " x: " {isSigned = array<i32: 0, 1>} : %{{.*}}, %{{.*}} : tensor<4xf32>, i32
  tt.print " x: " {isSigned = array<i32: 0, 1>} : %a, %n : tensor<4xf32>, i32
  // CHECK: tt.print " n: " hex {isSigned = array<i32: 0>} : %{{.*}} : i32
  tt.print " n: " hex {isSigned = array<i32: 0>} : %n : i32
  // CHECK: tt.print " here" {isSigned = array<i32>}{{$}}
  tt.print " here" {isSigned = array<i32>}
  // CHECK: tt.assert %{{.*}}, "n is small" : i1
  tt.assert %c, "n is small" : i1
  tt.return
}

// CHECK-LABEL: tt.func @inline_asm
tt.func @inline_asm(%x: f32) {
  %a = tt.splat %x : f32 -> tensor<4xf32>
  // CHECK: tt.elementwise_inline_asm "add $0, $1, $1;" {constraints = "=r,r", packedElement = 1 : i32, pure = true} %{{.*}} : tensor<4xf32> -> tensor<4xf32>
  %0 = tt.elementwise_inline_asm "add $0, $1, $1;" {constraints = "=r,r", pure = true, packedElement = 1 : i32} %a : tensor<4xf32> -> tensor<4xf32>
  // CHECK: tt.elementwise_inline_asm "mov $0, $2;" {constraints = "=r,=r,=r,=r,=r,=r,=r,=r,r,r,r,r", packedElement = 4 : i32, pure = false} %{{.*}} : tensor<4xf32> -> tensor<4xf32>, tensor<4xi32>
  %1:2 = tt.elementwise_inline_asm "mov $0, $2;" {constraints = "=r,=r,=r,=r,=r,=r,=r,=r,r,r,r,r", pure = false, packedElement = 4 : i32} %a : tensor<4xf32> -> tensor<4xf32>, tensor<4xi32>
  // CHECK: tt.extern_elementwise "blend" of "mine" {pure = true} %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %2 = tt.extern_elementwise "blend" of "mine" {pure = true} %a, %a : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  tt.return
}
