"""Constants that a run-time condition or loop would have to change: messages show what differs, and no conversion is proposed."""
# RUN: %refused text_in_branch 'p=*f32,n=i32'
# RUN: %refused text_in_loop 'p=*f32,n=i32'
# RUN: %refused inside_of_tuple 'p=*f32,n=i32'
# RUN: %refused type_in_branch 'p=*f32,n=i32'
# RUN: %refused returned 'p=*f32,n=i32'
# RUN: %refused chosen_text 'p=*f32,n=i32'
# RUN: %refused chosen_tuple 'p=*f32,n=i32'
import triton
import triton.language as tl


@triton.jit
def text_in_branch(p, n):
    # text_in_branch: error: initial value for `s` is of type 'abc', but the then block redefines it as 'de' [MergeInitialMismatch]
    # text_in_branch: hint: constants are known when the kernel is compiled, and cannot change by a run-time condition
    s = "abc"
    if n > 2:
        s = "de"


@triton.jit
def text_in_loop(p, n):
    # text_in_loop: error: Loop-carried variable s has initial type 'a' but is re-assigned to 'b' in this loop
    # text_in_loop: hint: constants are known when the kernel is compiled
    s = "a"
    for _ in range(n):
        tl.static_print(s)
        s = "b"


@triton.jit
def inside_of_tuple(p, n):
    # inside_of_tuple: error: Loop-carried variable t has initial type (int32, 'a') but is re-assigned to (int32, 'b')
    # inside_of_tuple: hint: constants are known when the kernel is compiled
    t = (n, "a")
    for i in range(n):
        t = (n + i, "b")


@triton.jit
def type_in_branch(p, n):
    # type_in_branch: error: Mismatched type for t between then block (a type (int32)) and else block (a type (fp32))
    # type_in_branch: hint: constants are known when the kernel is compiled
    if n > 1:
        t = tl.int32
    else:
        t = tl.float32


@triton.jit
def word(n):
    if n > 1:
        return "one"
    return "more"


@triton.jit
def returned(p, n):
    # returned: error: Inconsistent return types: `word` returns 'one' on one path and 'more' on another [ReturnMismatch]
    # returned: hint: constants are known when the kernel is compiled
    word(n)


@triton.jit
def chosen_text(p, n):
    # chosen_text: error: `a if condition else b` with str and a run-time condition is not supported in a kernel
    # chosen_text: hint: only numbers and tiles are chosen while the kernel runs; decide by a constant
    tl.static_print("one" if n > 1 else "more")


@triton.jit
def chosen_tuple(p, n):
    # chosen_tuple: error: `a if condition else b` with (int32, int) and a run-time condition is not supported in a kernel
    # chosen_tuple: hint: write an `if` statement whose branches assign it
    t = (n, 1) if n > 1 else (n, 2)
