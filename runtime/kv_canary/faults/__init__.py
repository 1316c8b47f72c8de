"""Faults of KV caches as they happen in the field, done to a replay's engine on purpose.

Reading order: fault (what one is), victims (who is there to be damaged), owners, tables, content,
window and forward (the faults that a canary sees), unseen (those that none can), catalogue (all),
measure (each is run, and what was found is held against what was promised), command (the table).
"""
