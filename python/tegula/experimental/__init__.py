"""``triton.experimental``"""
