"""What kv-canary costs, beside what the card can do: `kv-canary bench`. See NOTES.md."""
