"""``triton.tools``"""
