"""A paged KV pool with prefix sharing, and the books on who holds which page.

The books are Python lists per request. Nothing here knows of a tensor, and nothing is ever read
back from the tables that the plan reads: that is what makes the comparison in `check` worth
something.

Note [Pages, blocks, slots]
A page holds `page_size` slots, page 0 being the padding page that no request gets. A block is what
one hash id of the trace stands for, a whole number of pages; only full blocks are shared. The
window pool, when there is one, gives every page of the full pool a twin, in a numbering of its own,
and takes it back some time after the last window has passed: the page is then evicted there.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

NO_TWIN = 0
"""The window page of a page that the window pool has evicted: the padding page."""


@dataclass(slots=True, kw_only=True, eq=False)
class CachedBlock:
    """A full prompt block that any request with the same content up to here may share."""

    hash_id: int
    """Id from the trace."""
    parent: CachedBlock | None
    """The block before it, or None for the first of a prompt."""
    pages: tuple[int, ...]
    """Pages that hold its tokens, in order."""
    children: dict[int, CachedBlock] = field(default_factory=dict)
    """Blocks that may follow, by hash id."""
    users: int = 0
    """Running requests that hold it; while there is one, it cannot be evicted."""


@dataclass(slots=True, kw_only=True, eq=False)
class RunningRequest:
    """What one running request holds, position by position."""

    number: int
    """Place in the trace's order of arrival, from 0."""
    row: int
    """Row of req_to_token, 1 or more; 0 until the request is admitted."""
    hash_ids: tuple[int, ...]
    """One id per prompt block."""
    prompt_length: int
    """Tokens in the prompt."""
    output_length: int
    """Tokens in the answer."""
    tokens: list[int]
    """Token ids known so far: the prompt's, then the answer's."""
    cached_length: int = 0
    """Tokens whose KV entries are in the pool: the next step's prefix."""
    slots: list[int] = field(default_factory=list)
    """Slot of each position that has one."""
    pages: list[int] = field(default_factory=list)
    """Pages in position order; the first ones belong to `blocks`."""
    blocks: list[CachedBlock] = field(default_factory=list)
    """Cached blocks that the request holds, from the start of its prompt."""
    tabled_length: int = 0
    """Positions, from 0, whose slots the request's row of req_to_token holds."""
    promised_pages: int = 0
    """Pages that the pool has promised and not yet handed out."""
    promised_twins: int = 0
    """Window pages that the request may need at once."""
    window_page: int = 0
    """First index into `pages` whose twin the request still needs."""

    @property
    def total_length(self) -> int:
        """Tokens cached in the end: the answer's last token is never fed back."""
        return self.prompt_length + max(0, self.output_length - 1)


class PagedPool:
    """Pages handed out, shared, cached and evicted; least recently used cached blocks go first.

    Args:
        pages: pages that requests can get; they are numbered from 1.
        page_size: slots in a page.
        block_pages: pages in a block.
        window: tokens in the sliding window, or 0 for none.
        window_pages: pages of the window pool; they are numbered from 1.
        seed: order in which pages are first handed out, so that neighbours are rare.
    """

    def __init__(
        self,
        *,
        pages: int,
        page_size: int,
        block_pages: int,
        window: int,
        window_pages: int,
        seed: int,
    ) -> None:
        self.pages = pages
        self.page_size = page_size
        self.block_pages = block_pages
        self.window = window
        self.window_pages = window_pages
        self.evicted_blocks = 0
        self.evicted_twins = 0
        self.merged_blocks = 0
        self.peak_held_pages = 0
        order = random.Random(seed)
        self._free = list(range(1, pages + 1))
        order.shuffle(self._free)
        self._roots: dict[int, CachedBlock] = {}
        # A request lets go of its last block first, so a block always stands after the blocks
        # that follow it in a prompt, and the oldest one here has no child.
        self._unused_blocks: OrderedDict[CachedBlock, None] = OrderedDict()
        self._promised = 0
        self._free_twins = list(range(1, window_pages + 1))
        order.shuffle(self._free_twins)
        self._twin = [NO_TWIN] * (pages + 1)
        self._twin_users = [0] * (pages + 1)
        self._unused_twins: OrderedDict[int, None] = OrderedDict()
        self._promised_twins = 0
        self._changed_twins: dict[int, int] = {}

    @property
    def held_pages(self) -> int:
        """Pages that running requests hold, shared ones counted once."""
        return self.pages - len(self._free) - len(self._unused_blocks) * self.block_pages

    def pages_for(self, tokens: int) -> int:
        """Return how many pages hold this many tokens."""
        return -(-tokens // self.page_size)

    def twins_for(self, tokens: int, step_tokens: int) -> int:
        """Return how many window pages a request may need at once.

        Args:
            tokens: tokens it will have in the end.
            step_tokens: tokens that one step adds to it at most.
        """
        if not self.window:
            return 0
        # The window and the step's tokens need not start at a page: one more page at either end.
        return min(self.pages_for(tokens), self.pages_for(self.window + step_tokens) + 2)

    def admit(self, request: RunningRequest, *, step_tokens: int) -> bool:
        """Give a request its cached prefix and promise it all the pages it will need, or refuse.

        Args:
            request: holds nothing yet; when admitted, its prefix is cached.
            step_tokens: tokens that one step adds to it at most.
        """
        shared = self._usable_prefix(request)
        waking = sum(1 for block in shared if not block.users)
        wanted = self.pages_for(request.total_length) - len(shared) * self.block_pages
        twins = self.twins_for(request.total_length, step_tokens)
        if (
            self.held_pages + waking * self.block_pages + self._promised + wanted > self.pages
            or self._promised_twins + twins > self.window_pages
        ):
            return False
        for block in shared:
            self._hold(block)
            request.pages.extend(block.pages)
        request.blocks.extend(shared)
        for page in request.pages:
            request.slots.extend(self.slots_of(page))
        request.cached_length = len(request.slots)
        request.promised_pages = wanted
        self._promised += wanted
        if self.window:
            request.promised_twins = twins
            self._promised_twins += twins
            request.window_page = self._first_page_in_window(request.cached_length)
            for page in request.pages[request.window_page :]:
                if not self._twin_users[page]:
                    del self._unused_twins[page]
                self._twin_users[page] += 1
        self._note_peak()
        return True

    def extend(self, request: RunningRequest, count: int) -> None:
        """Give a request slots for its next tokens, evicting unused cached blocks if need be."""
        wanted = len(request.slots) + count
        offset = len(request.slots) % self.page_size
        if offset:
            request.slots.extend(self.slots_of(request.pages[-1])[offset:])
        while len(request.slots) < wanted:
            page = self._take_page()
            request.pages.append(page)
            request.promised_pages -= 1
            self._promised -= 1
            request.slots.extend(self.slots_of(page))
        del request.slots[wanted:]
        self._note_peak()

    def advance(self, request: RunningRequest, count: int) -> None:
        """Note that a request's next tokens are written: publish full blocks, move its window."""
        request.cached_length += count
        self._publish(request)
        if not self.window:
            return
        first_needed = self._first_page_in_window(request.cached_length)
        block_bound = len(request.blocks) * self.block_pages
        for index in range(request.window_page, first_needed):
            self._let_go_of_twin(request.pages[index], is_cached=index < block_bound)
        request.window_page = max(request.window_page, first_needed)
        if request.cached_length >= request.prompt_length:
            # From here on a step adds one token, so the rest of the promise can go to others.
            needed = self.twins_for(request.total_length, 1)
            self._promised_twins -= request.promised_twins - needed
            request.promised_twins = needed

    def finish(self, request: RunningRequest) -> None:
        """Take back all that a request holds; its published blocks stay cached."""
        block_bound = len(request.blocks) * self.block_pages
        if self.window:
            for index in range(request.window_page, len(request.pages)):
                self._let_go_of_twin(request.pages[index], is_cached=index < block_bound)
            self._promised_twins -= request.promised_twins
        self._free.extend(request.pages[block_bound:])
        self._promised -= request.promised_pages
        for block in reversed(request.blocks):
            block.users -= 1
            if not block.users:
                self._unused_blocks[block] = None
        request.pages.clear()
        request.slots.clear()
        request.blocks.clear()

    def window_slots(self, request: RunningRequest, start: int, stop: int) -> list[int]:
        """Return the window pool's slots of positions start to stop - 1; 0 where evicted."""
        first = start // self.page_size
        slots: list[int] = []
        for page in request.pages[first : self.pages_for(stop)]:
            twin = self._twin[page]
            slots.extend(self.slots_of(twin) if twin != NO_TWIN else [0] * self.page_size)
        return slots[start - first * self.page_size : stop - first * self.page_size]

    def take_changed_twins(self) -> dict[int, int]:
        """Return page to window page for every page that changed since the last call."""
        changed, self._changed_twins = self._changed_twins, {}
        return changed

    def slots_of(self, page: int) -> range:
        """Return the slots of a page, of either pool."""
        return range(page * self.page_size, (page + 1) * self.page_size)

    def twin_of(self, page: int) -> int:
        """Return a page's window page, or NO_TWIN."""
        return self._twin[page]

    def free_pages(self) -> tuple[int, ...]:
        """Return the pages that nobody holds and nothing is cached in, the next to go last."""
        return tuple(self._free)

    def free_twins(self) -> tuple[int, ...]:
        """Return the window pages that nobody holds, the next to go last."""
        return tuple(self._free_twins)

    def take_page(self, page: int) -> None:
        """Take a free page out of the books, as a fault does that uses it."""
        self._free.remove(page)

    def take_twin(self, twin: int) -> None:
        """Take a free window page out of the books, as a fault does that uses it."""
        self._free_twins.remove(twin)

    def cached_paths(self) -> list[list[CachedBlock]]:
        """Return the blocks of every cached prefix that no longer one begins with."""
        paths: list[list[CachedBlock]] = []
        waiting = [[block] for block in self._roots.values()]
        while waiting:
            path = waiting.pop()
            children = path[-1].children.values()
            if not children:
                paths.append(path)
            waiting.extend([*path, child] for child in children)
        return paths

    def check_conservation(self, running: Iterable[RunningRequest]) -> None:
        """Make sure that every page of both pools is free, cached or owned, and only one of them.

        Args:
            running: all requests that hold pages now.

        Raises:
            AssertionError: the books are wrong, which would be a bug of this module.
        """
        requests = tuple(running)
        cached = [page for block in self._cached_blocks() for page in block.pages]
        owned = [
            page
            for request in requests
            for page in request.pages[len(request.blocks) * self.block_pages :]
        ]
        _assert_partition("page", self.pages, free=self._free, cached=cached, owned=owned)
        with_twin = [page for page in cached + owned if self._twin[page] != NO_TWIN]
        _assert_partition(
            "window page",
            self.window_pages,
            free=self._free_twins,
            cached=[self._twin[page] for page in with_twin if not self._twin_users[page]],
            owned=[self._twin[page] for page in with_twin if self._twin_users[page]],
        )
        unused = {block for block in self._cached_blocks() if not block.users}
        assert unused == set(self._unused_blocks), "unused blocks and their list differ"
        held = [block for request in requests for block in request.blocks]
        assert len(held) == sum(block.users for block in self._cached_blocks()), "users miscounted"

    def _note_peak(self) -> None:
        self.peak_held_pages = max(self.peak_held_pages, self.held_pages)

    def _first_page_in_window(self, length: int) -> int:
        return max(0, length - self.window) // self.page_size

    def _usable_prefix(self, request: RunningRequest) -> list[CachedBlock]:
        """Return the longest cached prefix whose window is whole, short of the last token."""
        block_tokens = self.block_pages * self.page_size
        path: list[CachedBlock] = []
        children = self._roots
        # The last prompt token is always computed: its output is the first token of the answer.
        for hash_id in request.hash_ids[: (request.prompt_length - 1) // block_tokens]:
            block = children.get(hash_id)
            if block is None:
                break
            path.append(block)
            children = block.children
        if self.window:
            pages = [page for block in path for page in block.pages]
            while path and any(
                self._twin[page] == NO_TWIN
                for page in pages[self._first_page_in_window(len(pages) * self.page_size) :]
            ):
                path.pop()
                del pages[-self.block_pages :]
        return path

    def _hold(self, block: CachedBlock) -> None:
        if not block.users:
            del self._unused_blocks[block]
        block.users += 1

    def _publish(self, request: RunningRequest) -> None:
        """Put the prompt blocks written since the last call into the cache, or take them from it.

        Another request may have computed the same block meanwhile. Then this one moves over to
        the cached block and gives its own pages back, as engines do; its row of req_to_token
        changes under it.
        """
        block_tokens = self.block_pages * self.page_size
        written = min(request.cached_length, request.prompt_length) // block_tokens
        for index in range(len(request.blocks), written):
            parent = request.blocks[-1] if request.blocks else None
            siblings = parent.children if parent is not None else self._roots
            hash_id = request.hash_ids[index]
            block = siblings.get(hash_id)
            if block is None:
                pages = request.pages[index * self.block_pages : (index + 1) * self.block_pages]
                block = CachedBlock(hash_id=hash_id, parent=parent, pages=tuple(pages), users=1)
                siblings[hash_id] = block
            else:
                self._hold(block)
                self._move_over(request, block, first_page=index * self.block_pages)
            request.blocks.append(block)

    def _move_over(self, request: RunningRequest, block: CachedBlock, *, first_page: int) -> None:
        for index, cached in enumerate(block.pages, start=first_page):
            own = request.pages[index]
            if self.window and index >= request.window_page:
                self._twin_users[own] = 0
                if self._twin[cached] == NO_TWIN:
                    # The window has passed the cached page; it comes back with our window page.
                    self._set_twin(cached, self._twin[own])
                    self._set_twin(own, NO_TWIN)
                else:
                    self._drop_twin(own)
                    if not self._twin_users[cached]:
                        del self._unused_twins[cached]
                self._twin_users[cached] += 1
            self._free.append(own)
            request.pages[index] = cached
            start = index * self.page_size
            request.slots[start : start + self.page_size] = self.slots_of(cached)
        request.tabled_length = min(request.tabled_length, first_page * self.page_size)
        self.merged_blocks += 1

    def _take_page(self) -> int:
        if not self._free:
            self._evict_oldest_block()
        page = self._free.pop()
        if self.window:
            if not self._free_twins:
                oldest, _ = self._unused_twins.popitem(last=False)
                self._drop_twin(oldest)
                self.evicted_twins += 1
            self._set_twin(page, self._free_twins.pop())
            self._twin_users[page] = 1
        return page

    def _evict_oldest_block(self) -> None:
        block, _ = self._unused_blocks.popitem(last=False)
        assert not block.children, "a block was evicted before the blocks that follow it"
        siblings = block.parent.children if block.parent is not None else self._roots
        del siblings[block.hash_id]
        self._free.extend(block.pages)
        for page in block.pages:
            if self._twin[page] != NO_TWIN:
                del self._unused_twins[page]
                self._drop_twin(page)
        self.evicted_blocks += 1

    def _set_twin(self, page: int, twin: int) -> None:
        self._twin[page] = twin
        self._changed_twins[page] = twin

    def _drop_twin(self, page: int) -> None:
        self._free_twins.append(self._twin[page])
        self._set_twin(page, NO_TWIN)

    def _let_go_of_twin(self, page: int, *, is_cached: bool) -> None:
        self._twin_users[page] -= 1
        if self._twin_users[page]:
            return
        if is_cached:
            self._unused_twins[page] = None
        else:
            self._drop_twin(page)

    def _cached_blocks(self) -> list[CachedBlock]:
        blocks: list[CachedBlock] = []
        waiting = list(self._roots.values())
        while waiting:
            block = waiting.pop()
            blocks.append(block)
            waiting.extend(block.children.values())
        return blocks


def _assert_partition(
    what: str, count: int, *, free: list[int], cached: list[int], owned: list[int]
) -> None:
    everything = sorted(free + cached + owned)
    assert everything == list(range(1, count + 1)), (
        f"{count} {what}s, but {len(free)} are free, {len(cached)} cached and {len(owned)} owned, "
        f"{len(set(everything))} different ones in all"
    )
