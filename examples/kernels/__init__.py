"""Kernels in Triton's syntax, each with the function that launches it; tested by test/kernels."""
