"""torch.compile with Tegula in Triton's place: its cases, each beside eager.

    python -m tegula bench/gpu/inductor.py [--device cuda|cpu] [--only WORD,...] [--out FILE] [--budget SECONDS] [--resume]

Each case is compiled by Inductor, run, and compared with eager; Inductor must have made kernels of Triton's. On the cores
Inductor is told to make such kernels too (cpu_backend). Writes FILE (JSON) after each case; exit status 1: one was wrong.
"""
import argparse
import json
import logging
import os
import sys
import time
import traceback

os.environ.setdefault("TORCHINDUCTOR_FX_GRAPH_CACHE", "0")
os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import torch
import torch._dynamo
import torch._inductor.config
from torch._inductor import metrics

import inductor_kernels  # noqa: F401
from inductor_cases import CASES


STATIC = []  # kernels that Inductor's static launcher took: it loads our cubins itself


def count_static_launches():
    from torch._inductor.runtime import triton_heuristics

    result = getattr(triton_heuristics, "StaticTritonCompileResult", None)
    if result is None:
        return
    make = result.make_launcher

    def counted(self):
        launcher = make(self)
        STATIC.append(self.kernel.name)
        return launcher

    result.make_launcher = counted


def flat(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for item in value for tensor in flat(item)] if isinstance(value, (tuple, list)) else []


def with_gradients(function, arguments):
    """The results, and the gradients of their sum."""
    leaves = [a.detach().clone().requires_grad_() if a.requires_grad else a for a in arguments]
    results = flat(function(*leaves))
    sum(result.float().sum() for result in results).backward()
    return [r.detach() for r in results] + [leaf.grad for leaf in leaves if leaf.requires_grad]


def fresh(arguments):
    return tuple(a.clone() if isinstance(a, torch.Tensor) and not a.requires_grad else a for a in arguments)


def compare(name, needs, built):
    function, arguments, *rest = built
    options = rest[0] if rest else {}
    rounds = arguments if isinstance(arguments, list) else [arguments] * needs.get("runs", 1)
    run = with_gradients if needs.get("grads") else lambda function, arguments: flat(function(*fresh(arguments)))
    itself = getattr(function, "compiles_itself", False)
    if itself:
        function.is_compiled = False
    expected = [run(function, one) for one in rounds]
    torch._dynamo.reset()
    metrics.reset()
    if itself:
        function.is_compiled = True
    compiled = function if itself else torch.compile(function, **options)
    with torch._inductor.config.patch(needs.get("config", {})):
        found = [[t.clone() for t in run(compiled, one)] for one in rounds]
    if not metrics.generated_kernel_count:
        raise AssertionError("Inductor made no kernel")
    for one, other in zip(expected, found):
        assert len(one) == len(other), f"{len(other)} results, and eager has {len(one)}"
        for index, (want, got) in enumerate(zip(one, other)):
            assert want.shape == got.shape and want.dtype == got.dtype, f"result {index}: {got.dtype} {tuple(got.shape)}"
            if needs.get("check", True):
                torch.testing.assert_close(got, want, atol=needs.get("atol", 1e-5), rtol=needs.get("rtol", 1e-4), equal_nan=True)
    return metrics.generated_kernel_count


def attempt(name, device):
    build, needs = CASES[name]
    started = time.perf_counter()
    STATIC.clear()
    try:
        kernels = compare(name, needs, build(device))
        return {"name": name, "fate": "right", "kernels": kernels, "static": len(STATIC),
                "seconds": round(time.perf_counter() - started, 2)}
    except Exception as error:
        text = "".join(traceback.format_exception(error))
        return {"name": name, "fate": "wrong" if isinstance(error, AssertionError) else "raised",
                "error": f"{type(error).__name__}: {error}"[:1500], "trace": text[-6000:]}


def save(path, results, under_way):
    import triton

    with open(path, "w") as out:
        json.dump({"torch": torch.__version__, "triton": triton.__file__, "under way": under_way, "results": results}, out, indent=1)


def resumed(path):
    """The results of a run that died, with the case that it died in."""
    with open(path) as record:
        found = json.load(record)
    name = found["under way"]
    return found["results"] + ([{"name": name, "fate": "died", "error": "the process died or hung"}] if name else [])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--only", default="")
    parser.add_argument("--out", default="inductor.json")
    parser.add_argument("--budget", type=float, default=540)
    parser.add_argument("--resume", action="store_true", help="go on behind the case in which the last run died")
    args = parser.parse_args()
    if args.device == "cpu":
        torch._inductor.config.cpu_backend = "triton"
    logging.getLogger("torch._inductor").setLevel(logging.ERROR)
    words = [word for word in args.only.split(",") if word]
    names = [name for name, (_, needs) in CASES.items() if (not words or any(word in name for word in words))
             and not (needs.get("gpu") and args.device == "cpu")]
    import triton

    count_static_launches()
    results, deadline = resumed(args.out) if args.resume else [], time.monotonic() + args.budget
    print(f"triton is {triton.__file__}, PyTorch {torch.__version__}, {len(names)} cases on {args.device}", flush=True)
    done = {result["name"] for result in results}
    for name in [name for name in names if name not in done]:
        save(args.out, results, name)
        if time.monotonic() > deadline:
            results.append({"name": name, "fate": "not run: the budget is spent"})
        else:
            results.append(attempt(name, args.device))
        result = results[-1]
        print(f"{result['fate']:8} {name} {result.get('seconds', '')} {result.get('error', '')[:300]}", flush=True)
        save(args.out, results, None)
    right = sum(result["fate"] == "right" for result in results)
    static = sum(result.get("static", 0) for result in results)
    print(f"{right} of {len(names)} are right; {static} kernels went through Inductor's static launcher")
    return right != len(names)


if __name__ == "__main__":
    sys.exit(main())
