"""One problem of bench/gpu/work: its tensors, the call, the exact result; and what makes tensors for it."""
from dataclasses import dataclass, field

import torch

F8 = torch.float8_e4m3fn


@dataclass(frozen=True)
class Work:
    name: str
    source: str                                   # file in bench/gpu/work
    call: object                                  # (module, tensors, **configuration)
    make: object                                  # (generator, **size) -> {name: tensor}
    outputs: tuple                                # names of the tensors that the call fills
    expected: object                              # tensors as they were before the call -> exact results, in the order of outputs
    small: dict                                   # a size for every target, with a configuration that fits it
    sizes: dict                                   # label -> size, for a GPU
    configs: list                                 # configurations for a GPU
    allowed: float = 2e-2
    library: dict = field(default_factory=dict)   # name -> (tensors -> result)
    kept: tuple = ()                              # inputs that the call changes in place: each run gets them anew


def normal(g, *shape, dtype=torch.float16, scale=1.0):
    return (torch.randn(*shape, generator=g, device=g.device) * scale).to(dtype)


def empty(g, *shape, dtype=torch.float16):
    return torch.empty(*shape, dtype=dtype, device=g.device)


def whole(g, low, high, *shape, dtype=torch.int32):
    return torch.randint(low, high, shape, generator=g, device=g.device).to(dtype)


def options(warps, stages=1, **more):
    return dict(num_warps=warps, num_stages=stages, **more)
