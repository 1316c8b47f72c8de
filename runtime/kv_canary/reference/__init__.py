"""The vectorised torch meaning of every kernel: what runs for CPU tensors, and what to equal.

One module per kernel stem, each with one function of that name. A reference never validates: the
generated launcher has run the validator before it gets here.
"""
