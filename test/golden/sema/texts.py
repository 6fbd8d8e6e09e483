"""Texts that a kernel makes while it is compiled: what tl.static_print says, `%`, and messages about what is long."""
# RUN: %said printed 'p=*f32,n=i32'
# RUN: %said by_percent 'p=*f32,B=12'
# RUN: %refused percent_too_few 'p=*f32'
# RUN: %refused percent_of_text 'p=*f32'
# RUN: %refused percent_unknown 'p=*f32'
# RUN: %refused wide_field 'p=*f32'
# RUN: %refused no_integer 'p=*f32'
# RUN: %refused endless 'p=*f32'
# RUN: %refused no_number 'p=*f32'
# RUN: %refused long_operand 'p=*f32'
import triton
import triton.language as tl


@triton.jit
def printed(p, n):
    # A tuple that stands alone is one, and a line ends where it is ended.
    # printed: remark: (1, 2) [StaticPrint]
    # printed: remark: (1,) x|5z [StaticPrint]
    # printed: remark: open(4,) [StaticPrint]
    # printed: remark: a 1 [StaticPrint]
    # printed: remark: int32 (int32, 2) [StaticPrint]
    # printed: remark: without an end [StaticPrint]
    tl.static_print((1, 2))
    tl.static_print((1, ), "x", end="|")
    tl.static_print(5, end="")
    tl.static_print("z")
    tl.static_print("open", end="")
    tl.static_print(tl.arange(0, 4).shape)
    tl.static_print("a", 1, sep=None, end=None)
    tl.static_print(n, (n, 2), end="\n")
    tl.store(p, 0.0)
    tl.static_print("without an end", end="")


@triton.jit
def by_percent(p, B: tl.constexpr):
    # by_percent: remark: 12|   12|x    |03.14|ff|'r'|%|+7 [StaticPrint]
    tl.static_print("%s|%5d|%-5s|%05.2f|%x|%r|%%|%+d" % (B, B, "x", 3.14159, 255, "r", 7))
    # by_percent: remark: 12 3 abc 1e+10 0xff (1, 2) [StaticPrint]
    tl.static_print("%s" % B, "%i" % 3.7, "%.3s" % "abcdef", "%g" % 1e10, "%#x" % 255, "%s" % ((1, 2), ))
    tl.store(p, 0.0)


@triton.jit
def percent_too_few(p):
    # percent_too_few: error: format specification `%s %s` does not apply to tuple [FormatSpec]
    tl.static_print("%s %s" % (1, ))


@triton.jit
def percent_of_text(p):
    # percent_of_text: error: format specification `%d` does not apply to str [FormatSpec]
    tl.static_print("%d" % "x")


@triton.jit
def percent_unknown(p):
    # percent_unknown: error: format specification `50%` does not apply to int [FormatSpec]
    tl.static_print("50%" % 1)


@triton.jit
def wide_field(p):
    # wide_field: error: a constant in this expression is larger than 1000 characters [ConstTooLarge]
    tl.static_print(f"{5:1000000000}")


@triton.jit
def no_integer(p):
    # no_integer: error: `int` is not defined for nan [ConstDomain]
    tl.store(p, int(float("nan")))


@triton.jit
def endless(p):
    # endless: error: `int` is not defined for -inf [ConstDomain]
    tl.store(p, int(float("-inf")))


@triton.jit
def no_number(p):
    # no_number: error: `int` is not defined for 'abc' [ConstDomain]
    tl.store(p, int("abc"))


@triton.jit
def long_operand(p):
    # long_operand: error: `+` does not apply to <['4'], int32> and ({{[int, ]+}} ... {{[int, ]+}}) [ConstOperands]
    tl.arange(0, 4) + (1, 2, 3) * 1000
