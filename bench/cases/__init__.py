"""One file a kernel: what is measured, beside which baselines, and what it is checked against."""
from . import attention, gelu_dropout, layernorm, matmul, residual_layernorm_dropout, softmax, vector_add

ALL = [vector_add, softmax, layernorm, residual_layernorm_dropout, gelu_dropout, matmul, attention]
