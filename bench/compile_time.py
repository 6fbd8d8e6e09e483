"""Cold compiles in a warm process, stage by stage, through the C ABI: no cache, a fresh compile each time."""
import ctypes
import os
import statistics
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPEATS = 9

# kernel -> signature, as specialized by a launch of the example; and the aim in milliseconds
KERNELS = {
    "vector_add::add_kernel": ("x_ptr=*f32:16,y_ptr=*f32:16,out_ptr=*f32:16,n=i32:16,BLOCK=1024", None),
    "add_2d::add_2d_kernel": (
        "x_ptr=*f32:16,y_ptr=*f32:16,out_ptr=*f32:16,rows=i32,columns=i32,x_row=i32,x_column=1,y_row=i32,y_column=1,"
        "out_row=i32,out_column=1,BLOCK_R=16,BLOCK_C=64", None),
    "softmax::softmax_kernel": ("out_ptr=*f32:16,in_ptr=*f32:16,out_stride=i32:16,in_stride=i32:16,n_columns=i32:16,"
                                "BLOCK=1024", 30),
    "softmax_wide::softmax_wide_kernel": ("out_ptr=*f32:16,in_ptr=*f32:16,out_stride=i32:16,in_stride=i32:16,"
                                          "n_columns=i32:16,BLOCK=1024", None),
    "softmax_online::softmax_online_kernel": ("out_ptr=*f32:16,in_ptr=*f32:16,out_stride=i32:16,in_stride=i32:16,"
                                              "n_columns=i32:16,BLOCK=1024", None),
    "layernorm::layernorm_kernel": (
        "x_ptr=*f32:16,weight_ptr=*f32:16,bias_ptr=*f32:16,out_ptr=*f32:16,mean_ptr=*f32:16,rstd_ptr=*f32:16,"
        "x_stride=i32:16,out_stride=i32:16,n_columns=i32:16,eps=f32,BLOCK=1024", None),
    "residual_layernorm_dropout::residual_layernorm_dropout_kernel": (
        "x_ptr=*f32:16,residual_ptr=*f32:16,weight_ptr=*f32:16,bias_ptr=*f32:16,sum_ptr=*f32:16,out_ptr=*f32:16,"
        "n_columns=i32:16,eps=f32,p=f32,seed=i32,BLOCK=1024", None),
    "gelu_dropout::gelu_dropout_kernel": ("x_ptr=*f32:16,out_ptr=*f32:16,n=i32:16,p=f32,seed=i32,BLOCK=1024", None),
    "matmul::matmul_kernel": (
        "a_ptr=*f32:16,b_ptr=*f32:16,c_ptr=*f32:16,M=i32,N=i32,K=i32,a_row=i32,a_column=1,b_row=i32,b_column=1,"
        "c_row=i32,c_column=1,BLOCK_M=64,BLOCK_N=128,BLOCK_K=128,GROUP=4", None),
    "attention::attention_kernel": (
        "q_ptr=*f32:16,k_ptr=*f32:16,v_ptr=*f32:16,out_ptr=*f32:16,length_q=i32,length_k=i32,scale=f32,"
        "HEAD=64,BLOCK_Q=64,BLOCK_K=64,CAUSAL=True", 120),
    "gemv::gemv_kernel": ("w_ptr=*bf16:16,x_ptr=*bf16:16,y_ptr=*bf16:16,N=i32:16,K=i32:16,w_stride=i32:16,BLOCK_N=4,BLOCK_K=512",
                          None),
    "gemv_int3::gemv_int3_scatter_kernel": (
        "packed_ptr=*u8:16,scale_ptr=*f16:16,x_ptr=*f16:16,y_ptr=*f16:16,N=i32:16,K=i32:16,BLOCK_N=4,GROUPS=2", None),
}


class Library:
    """The few functions of tegula.h that compiling needs."""

    def __init__(self):
        build = Path(os.environ.get("TEGULA_BUILD_DIR", ROOT / "build"))
        path = next(p for p in (build / "lib" / "libtegula.so", build / "python" / "tegula" / "libtegula.so") if p.exists())
        self.lib = ctypes.CDLL(str(path))
        self.lib.tg_diagnostics_text.restype = ctypes.c_char_p
        self.lib.tg_kernel_time.restype = ctypes.c_char_p
        self.context = self.call("tg_context_create", None)

    def call(self, name, *arguments):
        """Calls a function whose last two parameters are the result and the problems."""
        result, problems = ctypes.c_void_p(), ctypes.c_void_p()
        if getattr(self.lib, name)(*arguments, ctypes.byref(result), ctypes.byref(problems)):
            raise SystemExit(f"{name}: {self.lib.tg_diagnostics_text(problems).decode()}")
        return result

    def compile(self, path, kernel, signature):
        """Whole seconds, and milliseconds by stage."""
        started = time.perf_counter()
        module = self.call("tg_module_from_file", self.context, str(path).encode())
        parsed = time.perf_counter()
        function = self.call("tg_module_find", module, kernel.encode())
        compiled = self.call("tg_compile", function, signature.encode(), None)
        whole = time.perf_counter() - started
        stages, index, milliseconds = {"parse": (parsed - started) * 1e3}, 0, ctypes.c_double()
        while stage := self.lib.tg_kernel_time(compiled, ctypes.c_size_t(index), ctypes.byref(milliseconds)):
            stages[stage.decode()] = stages.get(stage.decode(), 0.0) + milliseconds.value
            index += 1
        self.lib.tg_kernel_destroy(compiled)
        self.lib.tg_module_destroy(module)
        return whole, stages


def measure_all(names):
    library = Library()
    results = []
    print("milliseconds, medians of", REPEATS)
    for kernel, (signature, aim) in KERNELS.items():
        if names and not any(name in kernel for name in names):
            continue
        file, function = kernel.split("::")
        path = ROOT / "examples" / "kernels" / f"{file}.py"
        library.compile(path, function, signature)  # the first touches pages and LLVM's tables
        runs = [library.compile(path, function, signature) for _ in range(REPEATS)]
        whole = statistics.median(seconds for seconds, _ in runs) * 1e3
        stages = {stage: statistics.median(times.get(stage, 0.0) for _, times in runs) for stage in runs[0][1]}
        met = "" if aim is None else f"  aim {aim}: {'met' if whole <= aim else 'MISSED'}"
        print(f"{function:36} {whole:8.1f}   {'  '.join(f'{s} {t:.1f}' for s, t in stages.items())}{met}", flush=True)
        results.append({"kernel": kernel, "milliseconds": whole, "stages": stages, "aim": aim})
    return results
