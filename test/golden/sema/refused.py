"""Each construct outside the subset is refused by name, with what to write instead."""
# RUN: %refused constructs 'p=*f32,n=i32'
# RUN: %refused parameters 'p=*f32'
import triton
import triton.language as tl


@triton.jit
def constructs(p, n):
    # constructs: error: the `with` statement is not supported in a kernel [UnsupportedConstruct]
    with p as q:
        pass
    # constructs: error: {{.*}}lambda{{.*}} is not supported in a kernel
    # constructs: hint: write a @triton.jit function
    f = lambda x: x
    # constructs: error: a class is not supported in a kernel
    class Local:
        pass
    # constructs: error: a function inside a function is not supported in a kernel
    def local():
        pass
    # constructs: error: {{.*}}try{{.*}} is not supported in a kernel
    try:
        pass
    except Exception:
        pass
    # constructs: error: {{.*}}dict{{.*}} is not supported in a kernel
    d = {"a": 1}
    # constructs: error: {{.*}}global{{.*}} is not supported in a kernel
    global everywhere
    # constructs: error: {{.*}}del{{.*}} is not supported in a kernel
    del n
    # constructs: error: {{.*}}yield{{.*}} is not supported in a kernel
    yield p
    # constructs: error: `import` is not supported in a kernel
    import os
    # constructs: error: assignment to an attribute is not supported in a kernel
    p.x = 3
    # constructs: error: assignment to an element (`x[i] = ...`) is not supported in a kernel
    # constructs: hint: tiles are values: use tl.where
    p[0] = 3
    # constructs: error: assignment to an element (`x[i] = ...`) is not supported in a kernel
    p[0] += 3
    # constructs: error: a starred target is not supported in a kernel
    a, *b = (1, 2)
    # constructs: error: unsupported tensor index: a slice with bounds
    x = tl.arange(0, 8)[0:4]
    # constructs: error: `...` as a value is not supported in a kernel
    y = tl.arange(0, 8)[..., None]
    # constructs: error: a complex number is not supported in a kernel
    z = 3j
    # constructs: error: `in` with a run-time value is not supported in a kernel
    found = n in (1, 2)
    # constructs: error: a comprehension with more than one `for` is not supported in a kernel
    c = [i + j for i in (1, 2) for j in (3, 4)]
    # constructs: error: a loop variable that is not a name is not supported in a kernel
    for i, j in range(3):
        pass
    # constructs: error: `math.sqrt` of a run-time value is not supported in a kernel
    r = math.sqrt(n)
    # constructs: error: a bytes literal is not supported in a kernel
    t = b"bytes"


@triton.jit
def parameters(p, **rest):
    # parameters: error: `**kwargs` in the parameters of a kernel is not supported in a kernel [UnsupportedConstruct]
    pass


import math
