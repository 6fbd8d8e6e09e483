#!/bin/sh
# Softmax of an array in a file, with nothing but the command line: make an array, run the kernel,
# save the result, look at what the compiler did.   sh examples/cli/softmax.sh [build/bin/tegula]
set -eu
tegula=${1:-build/bin/tegula}
kernels=$(dirname "$0")/../kernels
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# 100 rows of 781 zeros: each result is 1/781.
"$tegula" run "$kernels/softmax.py::softmax_kernel" --grid 100 \
    --arg out_ptr=new:f32[100,781] --arg in_ptr=new:f32[100,781] \
    --arg out_stride=781 --arg in_stride=781 --arg n_columns=781 --arg BLOCK=1024 \
    --save out_ptr="$work/out.npy"
test -s "$work/out.npy"

signature='out_ptr=*f32:16,in_ptr=*f32:16,out_stride=i32,in_stride=i32,n_columns=i32,BLOCK=1024'
"$tegula" check "$kernels/softmax.py"
"$tegula" explain "$kernels/softmax.py::softmax_kernel" --signature "$signature"
"$tegula" compile "$kernels/softmax.py::softmax_kernel" --signature "$signature" --emit asm -o "$work/softmax.s"
grep -q softmax_kernel "$work/softmax.s"
echo "softmax.sh: done"
