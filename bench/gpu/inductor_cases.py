"""Says what torch.compile is asked for in `inductor.py`: functions and models, each with its arguments. A case is a function of
the device that returns (function, arguments) or (function, arguments, options of torch.compile)."""
import torch
import torch.nn.functional as F
from torch import nn

CASES = {}


def case(function=None, **needs):
    """Registers a case. `gpu`: it makes sense on a GPU only; `atol`, `rtol`: what may differ from eager; `config`: of
    Inductor; `check`: False where the results are random."""

    def register(function):
        CASES[function.__name__] = function, needs
        return function

    return register if function is None else register(function)


def rand(device, *shape, dtype=torch.float32, seed=0, grad=False):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(*shape, generator=generator).to(dtype).to(device).requires_grad_(grad)


@case
def pointwise(device):
    return lambda x, y: (x * y + 1.5).relu() * torch.sigmoid(x) - y.abs(), (rand(device, 129, 257), rand(device, 257))


def _unary(name):
    def build(device):
        function = getattr(torch, name, None) or getattr(torch.special, name)
        low, high = {"acosh": (1.1, 5), "log": (0.1, 9), "log2": (0.1, 9), "log10": (0.1, 9), "sqrt": (0, 9), "rsqrt": (0.1, 9),
                     "erfinv": (-0.9, 0.9), "lgamma": (0.1, 9), "atanh": (-0.9, 0.9),
                     "acos": (-0.9, 0.9), "asin": (-0.9, 0.9)}.get(name, (-3, 3))
        x = torch.linspace(low, high, 1000).to(device)
        return lambda x: function(x), (x,)

    build.__name__ = f"math_{name}"
    return build


for _name in ("abs acos acosh asin asinh atan atanh ceil cos cosh erf erfc erfinv exp exp2 expm1 floor frac i0 i1 isinf isnan lgamma log "
              "log10 log1p log2 logit neg reciprocal round rsqrt sigmoid sign signbit sin sinh sqrt square tan tanh trunc "
              "bessel_j0 bessel_j1 entr ndtr").split():
    case(_unary(_name), atol=2e-5, rtol=2e-5)


def _binary(name):
    def build(device):
        x, y = rand(device, 1000), rand(device, 1000, seed=7)
        if name == "pow":
            x = x.abs() + 0.1
        if name == "ldexp":
            y = (y * 3).to(torch.int32)
        return lambda x, y: getattr(torch, name)(x, y), (x, y)

    build.__name__ = f"math_{name}"
    return build


for _name in "atan2 copysign fmod hypot nextafter pow remainder maximum minimum ldexp floor_divide".split():
    case(_binary(_name), atol=2e-5, rtol=2e-5)


@case
def integers(device):
    x = torch.arange(-500, 500, device=device)
    y = torch.arange(1, 1001, device=device) % 7 + 1
    return lambda x, y: (x // y, x % y, x << 2, x & y, x ^ 5, torch.bitwise_not(x), torch.div(x, y, rounding_mode="trunc")), (x, y)


@case(atol=1e-4)
def reductions(device):
    return lambda x: (x.sum(-1), x.mean(0), x.amax(-1), x.amin(0), x.argmax(-1), x.argmin(0), x.prod(-1) * 0, x.any(-1),
                      x.all(0), x.var(-1), x.std(0), x.logsumexp(-1), x.norm()), (rand(device, 33, 1025),)


@case(atol=1e-3)
def long_reduction(device):
    return lambda x: x.sum(), (rand(device, 3_000_000),)


@case(atol=1e-3, config={"triton.cooperative_reductions": True, "triton.force_cooperative_reductions": True}, gpu=True)
def cooperative_reduction(device):
    return lambda x: (x.sum(-1), x.amax(-1)), (rand(device, 4, 1_000_000),)


@case(atol=1e-4)
def softmax(device):
    return lambda x: F.softmax(x, -1) + F.log_softmax(x, 0), (rand(device, 65, 1000),)


@case(atol=1e-4)
def norms(device):
    layer, group, batch = (nn.LayerNorm(512).to(device), nn.GroupNorm(8, 64).to(device), nn.BatchNorm1d(64).to(device))

    def run(x, y):
        rms = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return layer(x), rms, group(y), batch(y)

    return run, (rand(device, 32, 512), rand(device, 16, 64, 10))


@case(atol=1e-4)
def scans(device):
    return lambda x: (x.cumsum(-1), x.cumprod(0) * 0 + 1, x.logcumsumexp(-1), x.cummax(-1).values), (rand(device, 17, 300),)


@case
def sorts(device):
    return lambda x: (*x.sort(dim=-1, stable=True), *x.topk(5, -1)), (rand(device, 40, 100),)


@case(check=False)
def dropout(device):
    return lambda x: (F.dropout(x, 0.5), torch.rand_like(x), torch.randn_like(x), torch.randint_like(x, 10)), (rand(device, 1000),)


@case
def indexing(device):
    table, rows = rand(device, 100, 64), torch.randint(0, 100, (333,), generator=torch.Generator().manual_seed(0)).to(device)

    def run(table, rows):
        taken = table[rows]
        out = torch.zeros_like(table).index_add(0, rows, taken)
        return taken, out, F.embedding(rows, table), table.gather(0, rows[:64][None].expand(1, 64)), torch.where(table > 0, table, 0.0)

    return run, (table, rows)


@case(atol=1e-4)
def shapes(device):
    return lambda x: (torch.cat([x, x.flip(0)], 1), x.t().contiguous(), F.pad(x, (1, 2), value=3.0), x.roll(3, 1),
                      torch.stack([x, x * 2]).sum(0), x.unfold(1, 5, 3).mean(-1), F.interpolate(x[None, None], scale_factor=2)), (rand(device, 32, 65),)


@case(dynamic=True)
def dynamic_shapes(device):
    def run(x):
        return (x * 2 + x.shape[0]).softmax(-1)

    return run, [(rand(device, rows, columns),) for rows, columns in ((3, 17), (8, 64), (5, 1000), (1, 2))], {"dynamic": True}


@case(atol=2e-2, rtol=2e-2)
def low_precision(device):
    x, y = rand(device, 64, 300, dtype=torch.bfloat16), rand(device, 64, 300, dtype=torch.float16)
    return lambda x, y: (F.gelu(x) * 2, y.exp().sum(-1), x.to(torch.float32).mean(), (x + 1).to(torch.float16) + y), (x, y)


@case(atol=0.3, rtol=0.2, gpu=True)
def float8(device):
    x = rand(device, 128, 128)
    return lambda x: (x.to(torch.float8_e4m3fn).to(torch.float32) + 1, x.to(torch.float8_e5m2).to(torch.float32) * 2), (x,)


@case(atol=1e-4)
def float64(device):
    return lambda x: (x.sin() * x.exp()).sum(-1), (rand(device, 64, 300, dtype=torch.float64),)


def _tuned(**more):
    return {"max_autotune": True, "max_autotune_gemm_backends": "TRITON", "autotune_fallback_to_aten": False, **more}


@case(gpu=True, atol=5e-2, rtol=2e-2, config=_tuned())
def tuned_mm(device):
    return lambda a, b: (a @ b).relu(), (rand(device, 300, 512, dtype=torch.float16), rand(device, 512, 200, dtype=torch.float16))


@case(gpu=True, atol=5e-2, rtol=2e-2, config=_tuned())
def tuned_addmm(device):
    return torch.addmm, (rand(device, 256, dtype=torch.bfloat16), rand(device, 512, 256, dtype=torch.bfloat16), rand(device, 256, 256, dtype=torch.bfloat16))


@case(gpu=True, atol=5e-2, rtol=2e-2, config=_tuned())
def tuned_bmm(device):
    return torch.bmm, (rand(device, 4, 128, 64, dtype=torch.float16), rand(device, 4, 64, 256, dtype=torch.float16))


@case(gpu=True, config=_tuned())
def tuned_int_mm(device):
    a, b = (torch.randint(-9, 9, (128, 128), generator=torch.Generator().manual_seed(s)).to(torch.int8).to(device) for s in (0, 1))
    return torch._int_mm, (a, b)


@case(gpu=True, atol=5e-2, rtol=5e-2, config=_tuned())
def tuned_scaled_mm(device):
    a, b = rand(device, 128, 256).to(torch.float8_e4m3fn), rand(device, 128, 256, seed=3).to(torch.float8_e4m3fn).t()
    one = torch.ones((), device=device)
    return lambda a, b: torch._scaled_mm(a, b, one, one, out_dtype=torch.bfloat16), (a, b)


@case(gpu=True, atol=5e-2, rtol=2e-2, config=_tuned(max_autotune_conv_backends="TRITON"))
def tuned_conv(device):
    conv = nn.Conv2d(32, 64, 3, padding=1).to(device).half()
    return conv, (rand(device, 2, 32, 28, 28, dtype=torch.float16),)


@case(gpu=True, atol=5e-2, rtol=2e-2, config=_tuned(**{"triton.enable_persistent_tma_matmul": True}))
def persistent_descriptor_mm(device):
    return torch.mm, (rand(device, 512, 512, dtype=torch.float16), rand(device, 512, 512, dtype=torch.float16, seed=1))


@case(atol=1e-4, config={"triton.use_block_ptr": True})
def block_pointers(device):
    return lambda x: (x + 1).sum(-1), (rand(device, 64, 128),)


@case(gpu=True, atol=1e-4, config={"triton.use_tensor_descriptor": True, "assume_aligned_inputs": True})
def descriptors(device):
    return lambda x: (x + 1) * 2, (rand(device, 256, 128),)


@case(atol=1e-4, config={"coordinate_descent_tuning": True}, gpu=True)
def coordinate_descent(device):
    return lambda x: x.softmax(-1), (rand(device, 128, 1000),)


@case(atol=1e-4, config={"combo_kernels": True, "benchmark_combo_kernel": False})
def combo_kernels(device):
    return lambda x, y, z: (x.relu(), y.sigmoid(), z.sum(-1)), (rand(device, 100), rand(device, 200), rand(device, 30, 40))


@case(atol=1e-5)
def foreach(device):
    tensors = [rand(device, 10 + i) for i in range(20)]
    return lambda *t: torch._foreach_add(torch._foreach_mul(list(t), 2.0), 1.0), tuple(tensors)


@case(gpu=True, atol=1e-4, options={"mode": "reduce-overhead"}, runs=4)
def cudagraphs(device):
    return lambda x: (x @ x).softmax(-1), (rand(device, 128, 128),), {"mode": "reduce-overhead"}


@case(gpu=True, atol=3e-2, rtol=3e-2)
def flex_attention(device):
    from torch.nn.attention.flex_attention import flex_attention as attention

    def bias(score, b, h, q, k):
        return score + (q - k) * 0.01

    q, k, v = (rand(device, 2, 4, 256, 64, dtype=torch.float16, seed=s) for s in range(3))
    return lambda q, k, v: attention(q, k, v, score_mod=bias), (q, k, v)


@case(gpu=True, atol=3e-2, rtol=3e-2)
def flex_attention_causal(device):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention as attention

    mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 256, 256, device=device)
    q, k, v = (rand(device, 2, 4, 256, 64, dtype=torch.float16, seed=s) for s in range(3))
    return lambda q, k, v: attention(q, k, v, block_mask=mask), (q, k, v)


@case(gpu=True, atol=3e-2, rtol=3e-2, grads=True)
def flex_attention_backward(device):
    from torch.nn.attention.flex_attention import flex_attention as attention

    return attention, tuple(rand(device, 1, 2, 128, 64, seed=s, grad=True) for s in range(3))


@case(gpu=True, atol=3e-2, rtol=3e-2)
def flex_decoding(device):
    from torch.nn.attention.flex_attention import flex_attention as attention

    return attention, (rand(device, 2, 8, 1, 64, dtype=torch.float16), *(rand(device, 2, 8, 1024, 64, dtype=torch.float16, seed=s) for s in (1, 2)))


class Block(nn.Module):
    """A transformer's layer."""

    def __init__(self, width=128, heads=4):
        super().__init__()
        self.heads, self.first, self.second = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.qkv(self.first(x)).chunk(3, -1))
        attended = ((q @ k.transpose(-1, -2)) / (c // self.heads)**0.5).softmax(-1) @ v
        x = x + self.out(attended.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.second(x))))


@case(atol=1e-3, rtol=1e-3)
def transformer(device):
    torch.manual_seed(0)
    return Block().to(device).eval(), (rand(device, 2, 50, 128),)


@case(atol=1e-3, rtol=1e-3, grads=True)
def transformer_backward(device):
    torch.manual_seed(0)
    return Block().to(device), (rand(device, 2, 50, 128, grad=True),)


@case(atol=1e-3, rtol=1e-3)
def training_step(device):
    """Three steps with AdamW; the loss after each."""

    def run(x, y):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 10)).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

        def step():
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss.detach()

        step = torch.compile(step) if run.is_compiled else step
        return [step() for _ in range(3)]

    run.compiles_itself = True
    return run, (rand(device, 32, 64), torch.arange(32, device=device) % 10)


@case(atol=1e-3, rtol=1e-3)
def convolutions(device):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Conv2d(16, 32, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)).to(device).eval()
    return model, (rand(device, 4, 3, 32, 32),)


@case(atol=1e-4, grads=True)
def cross_entropy_backward(device):
    targets = torch.arange(64, device=device) % 1000
    return lambda x: F.cross_entropy(x, targets), (rand(device, 64, 1000, grad=True),)
