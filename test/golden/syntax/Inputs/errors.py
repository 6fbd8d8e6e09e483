import triton

def f(p, n):
    x = load(p + 1, mask=(n < 3)
    if n = 3:
        x = 1
    else:
        x = 2
    for i in range(n)
        x += i
    y = "中" × 2
    x = 4
  return y
