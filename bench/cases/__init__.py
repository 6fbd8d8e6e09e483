"""One file a kernel: what is measured, beside which baselines, and what it is checked against."""
from . import (add_2d, attention, column_sum, gelu_dropout, layernorm, matmul, residual_layernorm_dropout, small,
               softmax, vector_add)

ALL = [vector_add, add_2d, softmax, column_sum, layernorm, residual_layernorm_dropout, gelu_dropout, matmul, attention, small]
