"""Replay a real trace through a paged pool, and hold every step's plan against the pool's books.

Reading order: trace (what came in), pool (who holds which page), engine (one step after another),
check (the plan as the books have it), report (what a person sees), command (the flags).
"""
