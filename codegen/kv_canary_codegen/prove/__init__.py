"""Proofs about a spec and its kernels, by a solver; nothing else of the generator needs one."""
