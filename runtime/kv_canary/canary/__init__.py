"""The object that an engine installs.

Reading order: `config` says what is asked for; `group` is one pool's stamps, plans and launches;
`tokens` keeps what each row should hold, `history` the last batches; `state` is all of that on the
device; `canary` runs it around a forward; `polling` reads numbers without waiting, `reporting` what
was found; `prefixes` (what sweep and rewind are told), `health`, `compiling` (the scope inside a
compiled region), `refusals` (the errors of bad use) and `rules` (what those mean) are what their
names say.
"""
