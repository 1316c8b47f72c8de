"""A serving engine of about a hundred lines with a canary in it: what to copy into a real one.

    python -m kv_canary.example_engine [--device cuda] [--damage]

A tiny attention model answers a few prompts on a paged KV cache, and requests that begin alike
share pages. The canary's calls are marked with `# canary`. `--damage` lets a stray write land in a
page that is in use, and shows what the canary says.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field

import torch
from torch import Tensor

from kv_canary import Canary, CanaryConfig, CanaryError, RealKvSource, UsageError
from kv_canary.devices import check_device

VOCABULARY, WIDTH, LAYERS = 97, 32, 2
PAGES, PAGE, ROWS, LONGEST = 64, 4, 9, 64


@dataclass
class Request:
    """One running request."""

    row: int
    """Row of the table."""
    tokens: list[int]
    """Its prompt, and what was answered so far."""
    prompt_length: int
    """Tokens of its prompt."""
    length: int
    """Tokens it will have in the end."""
    slots: list[int] = field(default_factory=list)
    """Slot of each position."""
    cached: int = 0
    """Tokens whose K and V are in the cache."""


class ExampleEngine:
    """Answers prompts greedily, all running requests in one batch.

    Args:
        config: the canary's.
        device: where everything is.
    """

    def __init__(self, config: CanaryConfig, device: str = "cpu") -> None:
        torch.manual_seed(0)
        self.device = torch.device(device)
        self.embedding = torch.randn(VOCABULARY, WIDTH).to(device)
        self.weights = torch.randn(LAYERS, 3, WIDTH, WIDTH).to(device) / WIDTH**0.5
        # K and V of all layers in one buffer each, page by page, as many engines have it.
        self.k = torch.zeros(PAGES, LAYERS, PAGE, WIDTH, device=device)
        self.v = torch.zeros_like(self.k)
        self.req_to_token = torch.zeros(ROWS, LONGEST, dtype=torch.int32, device=device)
        self.free_pages = list(range(1, PAGES))  # page 0 holds the padding slot
        self.free_rows = list(range(1, ROWS))  # row 0 is the padding row
        self.shared: dict[
            tuple[int, ...], int
        ] = {}  # all tokens so far, to the last of their pages
        self.waiting: list[tuple[list[int], int]] = []
        self.running: list[Request] = []
        self.answers: list[list[int]] = []
        self.canary = Canary(  # canary: made before anything is cached
            config,
            num_slots=PAGES * PAGE,
            req_to_token=self.req_to_token,
            max_batch_size=ROWS - 1,
            max_tokens_per_forward=ROWS * LONGEST,
            k_sources=[_source(self.k[:, layer]) for layer in range(LAYERS)],
            v_sources=[_source(self.v[:, layer]) for layer in range(LAYERS)],
        )
        self.canary.arm()  # canary: after the warm-up, before graphs are captured

    def ask(self, prompt: list[int], answer_length: int) -> None:
        """Let a prompt wait for a row."""
        self.waiting.append((prompt, len(prompt) + answer_length))

    def step(self) -> None:
        """Admit who waits, give every running request its next token, and poll the canary."""
        while self.waiting and self.free_rows:
            self._admit(*self.waiting.pop(0))
        parts: tuple[list[int], ...] = ([], [], [], [], [], [])
        rows, prefixes, extends, ids, positions, slots = parts
        for request in self.running:
            first, last = request.cached, len(request.tokens)
            while len(request.slots) < last:
                request.slots += _slots_of(self.free_pages.pop())
            self._fill_row(request, last)
            rows.append(request.row)
            prefixes.append(first)
            extends.append(last - first)
            ids += request.tokens[first:]
            positions += range(first, last)
            slots += request.slots[first:last]
        batch = [torch.tensor(part, device=self.device) for part in parts]
        with self.canary.forward(*batch):  # canary: around everything that touches the cache
            next_tokens = self._model(*batch)
        for request, token in zip(list(self.running), next_tokens, strict=True):
            request.cached = len(request.tokens)
            request.tokens.append(token)
            if len(request.tokens) == request.length:
                self._finish(request)
        self.canary.poll()  # canary: does not wait; in raise mode it raises what was found

    def _admit(self, prompt: list[int], length: int) -> None:
        request = Request(self.free_rows.pop(), list(prompt), len(prompt), length)
        # The last token of a prompt is always computed: what follows it is the answer.
        for end in range(PAGE, len(prompt), PAGE):
            page = self.shared.get(tuple(prompt[:end]))
            if page is None:
                break
            request.slots += _slots_of(page)
            request.cached = end
        if request.cached:
            self._fill_row(request, request.cached)
            # canary: which tokens those slots hold
            self.canary.prefix_hit(request.row, prompt[: request.cached])
        self.running.append(request)

    def _finish(self, request: Request) -> None:
        self.running.remove(request)
        self.free_rows.append(request.row)
        self.answers.append(request.tokens)
        # Full pages of a prompt stay cached, and this engine never evicts; the others are free.
        for end in range(PAGE, len(request.slots) + 1, PAGE):
            page = request.slots[end - 1] // PAGE
            is_prompt = end <= request.prompt_length
            if not is_prompt or self.shared.setdefault(tuple(request.tokens[:end]), page) != page:
                self.free_pages.append(page)

    def _fill_row(self, request: Request, length: int) -> None:
        self.req_to_token[request.row, :length] = torch.tensor(request.slots[:length])

    def _model(
        self, rows: Tensor, prefixes: Tensor, extends: Tensor, ids: Tensor, at: Tensor, to: Tensor
    ) -> list[int]:
        """Run the new tokens through all layers; return the likeliest next one of each request."""
        hidden = self.embedding[ids] + torch.sin(at[:, None] / 7.0)
        for layer in range(LAYERS):
            q, k, v = (hidden @ weight for weight in self.weights[layer])
            self.k[to // PAGE, layer, to % PAGE] = k
            self.v[to // PAGE, layer, to % PAGE] = v
            seen, first = [], 0
            for row, prefix, extend in torch.stack((rows, prefixes, extends), 1).tolist():
                held = self.req_to_token[row, : prefix + extend].long()
                keys, values = (x[held // PAGE, layer, held % PAGE] for x in (self.k, self.v))
                scores = q[first : first + extend] @ keys.T / WIDTH**0.5
                future = torch.ones_like(scores, dtype=torch.bool).triu(prefix + 1)
                seen.append(scores.masked_fill(future, -torch.inf).softmax(-1) @ values)
                first += extend
            hidden = torch.nn.functional.layer_norm(hidden + torch.cat(seen), (WIDTH,))
        best: list[int] = (hidden[extends.cumsum(0) - 1] @ self.embedding.T).argmax(-1).tolist()
        return best


def _slots_of(page: int) -> range:
    return range(page * PAGE, (page + 1) * PAGE)


def _source(layer: Tensor) -> RealKvSource:
    """Return a layer's pages [PAGES, PAGE, WIDTH] as the canary reads them, without a copy."""
    token_bytes = WIDTH * layer.itemsize
    return RealKvSource(layer.flatten(1), PAGE, token_bytes, token_bytes)


def main(argv: list[str] | None = None) -> int:
    """Answer a few prompts; return 0, 1 when the canary found something, 2 without the device."""
    parser = argparse.ArgumentParser(description="A tiny engine with a canary in it.")
    parser.add_argument("--device", default="cpu", help="where it runs, such as cuda")
    parser.add_argument("--damage", action="store_true", help="write to a page that is in use")
    options = parser.parse_args(argv)
    try:
        check_device(options.device, fix="--device cpu")
    except UsageError as error:
        print(f"kv-canary: {error}", file=sys.stderr)
        return 2
    engine = ExampleEngine(CanaryConfig(mode="raise", real_kv="all"), options.device)
    system = [(7 * i) % VOCABULARY for i in range(12)]
    for number in range(20):
        engine.ask([*system, number, 2 * number, 3 * number], answer_length=5 + number % 4)
    try:
        steps = 0
        while engine.waiting or engine.running:
            engine.step()
            steps += 1
            if options.damage and steps == 3:
                slot = engine.running[0].slots[5]
                engine.v[slot // PAGE, 1, slot % PAGE, :4] = 0.0  # a write that was not its own
        engine.canary.close()  # canary: reports what is left
    except CanaryError as error:
        print(error)
        return 1
    print(f"{len(engine.answers)} answers in {steps} steps")
    print(engine.canary.health())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
