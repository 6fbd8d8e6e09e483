// RUN: tegula-opt %s --canonicalize | FileCheck %s
// Bounds of what is converted go where the conversion saturates: all but what the first one makes of NaN.

// CHECK-LABEL: @clamped
tt.func @clamped(%x: f32, %p: !tt.ptr<f8E4M3FN>) {
  %lo = arith.constant -4.480000e+02 : f32
  %hi = arith.constant 4.480000e+02 : f32
  // CHECK: %[[MAX:.*]] = arith.maxnumf %{{.*}}, %{{.*}} : f32
  // CHECK-NEXT: tt.fp_to_fp %[[MAX]]
  %c = tt.clampf %x, %lo, %hi : f32
  %y = tt.fp_to_fp %c : f32 -> f8E4M3FN
  tt.store %p, %y : !tt.ptr<f8E4M3FN>, f8E4M3FN
  tt.return
}

// CHECK-LABEL: @clamped_with_nan
tt.func @clamped_with_nan(%x: f32, %p: !tt.ptr<f8E5M2>) {
  %lo = arith.constant -5.734400e+04 : f32
  %hi = arith.constant 6.000000e+04 : f32
  // CHECK-NEXT: tt.fp_to_fp %{{.*}} : f32
  %c = tt.clampf %x, %lo, %hi propagate_nan : f32
  %y = tt.fp_to_fp %c : f32 -> f8E5M2
  tt.store %p, %y : !tt.ptr<f8E5M2>, f8E5M2
  tt.return
}

// CHECK-LABEL: @narrower
tt.func @narrower(%x: f32, %p: !tt.ptr<f8E4M3FN>) {
  %lo = arith.constant -4.480000e+02 : f32
  %hi = arith.constant 4.470000e+02 : f32
  // CHECK: tt.clampf
  %c = tt.clampf %x, %lo, %hi : f32
  %y = tt.fp_to_fp %c : f32 -> f8E4M3FN
  tt.store %p, %y : !tt.ptr<f8E4M3FN>, f8E4M3FN
  tt.return
}

// The first bound makes a number of NaN, whichever it is; the second one goes.
// CHECK-LABEL: @signed
tt.func @signed(%p: !tt.ptr<i8>) {
  %lo = arith.constant dense<-1.280000e+02> : tensor<64xf32>
  %hi = arith.constant dense<1.270000e+02> : tensor<64xf32>
  %r = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %x = arith.sitofp %r : tensor<64xi32> to tensor<64xf32>
  // CHECK: arith.minnumf
  // CHECK-NOT: arith.maxnumf
  // CHECK: arith.fptosi
  %a = arith.minnumf %x, %hi : tensor<64xf32>
  %b = arith.maxnumf %a, %lo : tensor<64xf32>
  %y = arith.fptosi %b : tensor<64xf32> to tensor<64xi8>
  %s = tt.splat %p : !tt.ptr<i8> -> tensor<64x!tt.ptr<i8>>
  %q = tt.addptr %s, %r : tensor<64x!tt.ptr<i8>>, tensor<64xi32>
  tt.store %q, %y : tensor<64x!tt.ptr<i8>>, tensor<64xi8>
  tt.return
}

// CHECK-LABEL: @one_bound
tt.func @one_bound(%x: f32, %p: !tt.ptr<i8>) {
  %hi = arith.constant 1.270000e+02 : f32
  // CHECK: arith.minnumf
  %a = arith.minnumf %x, %hi : f32
  %y = arith.fptosi %a : f32 to i8
  tt.store %p, %y : !tt.ptr<i8>, i8
  tt.return
}

// CHECK-LABEL: @unsigned
tt.func @unsigned(%x: f32, %p: !tt.ptr<i8>) {
  %lo = arith.constant 0.000000e+00 : f32
  %hi = arith.constant 2.550000e+02 : f32
  // CHECK-NEXT: arith.fptoui %{{.*}} : f32
  %c = tt.clampf %x, %lo, %hi : f32
  %y = arith.fptoui %c : f32 to i8
  tt.store %p, %y : !tt.ptr<i8>, i8
  tt.return
}

// Numbers that 8 bits hold are converted to these at once; one that may be 128 wraps.
// CHECK-LABEL: @bytes_of_bounded_floats
tt.func @bytes_of_bounded_floats(%x: f32, %p: !tt.ptr<i8>) {
  %lo = arith.constant -127.5 : f32
  %hi = arith.constant 126.5 : f32
  %more = arith.constant 127.5 : f32
  // CHECK: arith.fptosi {{.*}} : f32 to i8
  %a = arith.minnumf %x, %hi : f32
  %b = arith.maxnumf %a, %lo : f32
  %c = math.roundeven %b : f32
  %d = arith.fptosi %c : f32 to i16
  %e = arith.trunci %d : i16 to i8
  tt.store %p, %e : !tt.ptr<i8>, i8
  // CHECK: arith.fptosi {{.*}} : f32 to i16
  %f = tt.clampf %x, %lo, %more : f32
  %g = math.roundeven %f : f32
  %h = arith.fptosi %g : f32 to i16
  %i = arith.trunci %h : i16 to i8
  tt.store %p, %i : !tt.ptr<i8>, i8
  // CHECK: arith.fptoui {{.*}} : f32 to i16
  %j = arith.fptoui %b : f32 to i16
  %k = arith.trunci %j : i16 to i8
  tt.store %p, %k : !tt.ptr<i8>, i8
  tt.return
}
