"""What a run does on a hollow GPU, counted: operations, bytes, kernels, memory; what repeats is counted once.

A network that was called often enough with tensors of the same shapes is not called again: what it and all up
to the next call did before, on average, is added. A training takes a few steps, the last of its first epoch
and its last one; what it leaves out is added as well. So a run of weeks passes in seconds.
"""

import sys
import time
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import BuiltinMethodType
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import flop_registry

from harness.published.rehearsed import COUNTS
from harness.rehearsal.pretend_gpu import GPUTensor, PretendGPU
from harness.runs.record import Run
from harness.supernet.ranking import Gradients
from harness.training.batches import Batches
from harness.training.loop import Loop

FLOPS, BYTES, KERNELS, STEPS = range(len(COUNTS))
CALLS = 4  # of a network with the same shapes, and steps of a training, that are really taken
VIEWS = {"view", "detach", "t", "transpose", "permute", "expand", "slice", "select", "unsqueeze", "squeeze"}
VIEWS |= {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}
VIEWS |= {
    "_unsafe_view",
    "as_strided",
    "unbind",
    "split",
    "split_with_sizes",
    "alias",
    "_reshape_alias",
    "empty",
}


class Enough(BaseException):
    """The time for this rehearsal is over: what is left is extrapolated."""


class Count:
    """`now`: so much so far, with what was left out."""

    def __init__(self, gpu: PretendGPU, seconds: float) -> None:
        self.gpu, self.seconds, self.until = gpu, seconds, float("inf")
        self.now, self.live, self.peak = np.zeros(len(COUNTS)), 0, 0
        self.sizes: dict[int, list[int]] = {}  # of a storage: bytes, and the tensors that have it
        self.cycles: dict[Any, list[np.ndarray]] = defaultdict(list)
        self.outputs: dict[Any, Any] = {}
        self.cycle: tuple[Any, np.ndarray] | None = None  # what is measured now, and where it began
        self.mute, self.inside = False, 0
        self.loops: dict[str, list[Any]] = {}  # by unit: where it began, first, last, total
        self.batches: dict[Any, Any] = {}
        self.last, self.trainings = "", 0  # the loop that told last; trainings that are under way
        gpu.watch = self.watch

    def watch(self, func: Any, args: tuple, kwargs: dict[str, Any], out: Any) -> None:
        """An operation on the GPU."""
        outputs = [
            one for one in (out if isinstance(out, list | tuple) else [out]) if isinstance(one, Tensor)
        ]
        for one in outputs:
            self._lives(one)
        if self.mute:
            return
        packet = func.overloadpacket
        if packet in flop_registry:
            self.now[FLOPS] += flop_registry[packet](*args, **kwargs, out_val=out)
        elif packet.__name__ in VIEWS:
            return
        else:
            flat = [one for part in args for one in (part if isinstance(part, list | tuple) else [part])]
            read = sum(one.numel() * one.element_size() for one in flat if isinstance(one, GPUTensor))
            self.now[BYTES] += read + sum(one.numel() * one.element_size() for one in outputs)
        self.now[KERNELS] += 1

    def _lives(self, held: Tensor) -> None:
        storage = held.untyped_storage()
        key = storage._cdata
        if key in self.sizes:
            self.sizes[key][1] += 1
        else:
            self.sizes[key] = [storage.nbytes(), 1]
            self.live += storage.nbytes()
            self.peak = max(self.peak, self.live)
        weakref.finalize(held, self._dies, key)

    def _dies(self, key: int) -> None:
        entry = self.sizes[key]
        entry[1] -= 1
        if not entry[1]:
            self.live -= entry[0]
            del self.sizes[key]

    def add(self, cost: np.ndarray) -> None:
        """What is passed over; no network's call takes it."""
        self.now += cost
        if self.cycle is not None:
            self.cycle = self.cycle[0], self.cycle[1] + cost

    def begin(self, key: Any) -> bool:
        """A network is called: whether what follows is known by now."""
        if self.until == float("inf"):
            self.until = time.process_time() + self.seconds  # what came before is no work for a GPU
        self.end_if_late()
        if self.cycle is not None and not self.mute:
            self.cycles[self.cycle[0]].append(self.now - self.cycle[1])
        self.cycle, known = (key, self.now.copy()), len(self.cycles[key]) >= CALLS
        self.mute = known
        if known:
            self.now += np.mean(self.cycles[key][1:], axis=0)
        return known

    def is_watched(self, network: nn.Module) -> bool:
        """Somebody wants to see what happens inside: a hook, or a list's `append` left in a layer."""
        found = 0
        for part in network.modules():
            found += len(part._forward_hooks) + len(part._forward_pre_hooks)
            found += sum(isinstance(one, BuiltinMethodType) for one in vars(part).values())
        return found > 0

    def progress(self, step: int, total: int, unit: str) -> None:
        """How far a loop is; `extrapolated` makes use of where it stood first and last."""
        loop = self.loops.setdefault(unit, [self.now.copy(), step, step, total, self.now.copy()])
        if step < loop[2]:  # it begins anew
            self.loops[f"{unit} {len(self.loops)}"] = self.loops.pop(unit)
            self.loops[unit] = [self.now.copy(), step, step, total, self.now.copy()]
        else:
            loop[2:] = [step, total, self.now.copy()]
        self.last = unit
        self.end_if_late()

    def end_if_late(self) -> None:
        """Not before it can be told how a loop goes on, where that does not take far too long."""
        late = time.process_time() - self.until
        _, first, last, total, _ = self.loops.get(self.last, (None, 0, 0, 0, None))
        # A loop that has ended says nothing of the next one, and a training soon ends: it passes steps over.
        known = first < last < total and not self.trainings
        if late > (0 if known else 20 * self.seconds):
            raise Enough

    def extrapolated(self) -> tuple[np.ndarray, bool]:
        """With what loops that ended early would have done; whether there was any."""
        found, some = self.now.copy(), False
        for began, first, last, total, ended in self.loops.values():
            if last < total and last > first:
                found += (ended - began) * (total - last) / (last - first)
                some = True
        return found, some


def _root_call(count: Count) -> Callable[..., Any]:
    plain = nn.Module.__call__

    def call(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        tensors = [one for one in args if isinstance(one, GPUTensor)]
        if count.inside or not tensors or count.is_watched(module):
            return plain(module, *args, **kwargs)
        shapes = tuple(tuple(one.shape) for one in tensors)
        key = id(module), module.training, torch.is_grad_enabled(), shapes
        if count.begin(key):
            return _like(count.outputs[key])
        count.inside += 1
        try:
            out = plain(module, *args, **kwargs)
        finally:
            count.inside -= 1
        count.outputs[key] = _shape(out)
        return out

    return call


def _shape(out: Any) -> Any:
    if isinstance(out, Tensor):
        return tuple(out.shape), out.dtype
    return [_shape(one) for one in out] if isinstance(out, list | tuple) else None


def _like(shape: Any) -> Any:
    if isinstance(shape, tuple):
        return GPUTensor(torch.empty(shape[0], dtype=shape[1], device="meta"))
    return None if shape is None else tuple(_like(one) for one in shape)


def _ahead(count: Count, plain: Callable[[Any], None]) -> Callable[[Any], None]:
    """A training's step: behind a few of them what is left of it is passed over."""

    def one(loop: Any) -> None:
        if not getattr(loop, "_rehearsed", False):
            return plain(loop)
        before, at = count.now.copy(), loop.step
        plain(loop)
        cost, taken = count.now - before, loop.__dict__.setdefault("_costs", [])
        each = getattr(loop, "chunks", None) or getattr(loop, "per_epoch", loop.total)
        ends = (at + 1) % each == 0 and each < loop.total
        mean = np.mean(taken[len(taken) // 2 :], axis=0) if taken else cost
        if ends and at + 1 < loop.total:
            count.add((cost - mean) * max(0, loop.total // each - 2))
            _jump(count, loop, loop.total - 1, mean)
            return None
        taken.append(cost)
        if len(taken) == CALLS and loop.step < loop.total:
            _jump(count, loop, min(each, loop.total) - 1, np.mean(taken[CALLS // 2 :], axis=0))
        return None

    return one


def _jump(count: Count, loop: Any, to: int, cost: np.ndarray) -> None:
    if to > loop.step:
        count.add(cost * (to - loop.step))
        loop.step = to


def _marked(count: Count, plain: Callable[..., Any]) -> Callable[..., Any]:
    """Inside it the loop's own steps are passed over; steps that others ask for are taken."""

    def train(loop: Any, *args: Any, **kwargs: Any) -> Any:
        loop._rehearsed = True
        count.trainings += 1
        try:
            return plain(loop, *args, **kwargs)
        finally:
            count.trainings -= 1

    return train


@contextmanager
def counting(gpu: PretendGPU, seconds: float) -> Iterator[Count]:
    """While a run goes on the GPU."""
    count = Count(gpu, seconds)
    with ExitStack() as stack:

        def patch(owner: Any, name: str, value: Any) -> None:
            stack.enter_context(mock.patch.object(owner, name, value))

        def unless_known(owner: Any, name: str, instead: Callable[..., Any]) -> None:
            plain = getattr(owner, name)

            def either(*args: Any, **kwargs: Any) -> Any:
                return instead(*args) if count.mute else plain(*args, **kwargs)

            patch(owner, name, either)

        def stepped(plain: Callable[..., Any]) -> Callable[..., Any]:
            def step(optimiser: torch.optim.Optimizer, *args: Any, **kwargs: Any) -> Any:
                there = isinstance(optimiser.param_groups[0]["params"][0], GPUTensor)
                if count.mute or not there:  # of a schedule alone, which has an optimiser without a network
                    return None
                count.now[STEPS] += 1
                return plain(optimiser, *args, **kwargs)

            return step

        def once(take: Callable[..., Any]) -> Callable[..., Any]:
            def taken(images: Any, indices: Any, crops: Any = None) -> Any:
                shape = images.x.shape[1:] if hasattr(images, "x") else ()
                key = type(images), shape, len(indices), crops is None
                if key not in count.batches:
                    count.batches[key] = take(images, indices, crops)
                return count.batches[key]

            return taken

        patch(nn.Module, "__call__", _root_call(count))
        patch(Run, "progress", lambda _, *told: count.progress(*told))
        for images in (Batches, *_own("take", "in_order")):
            patch(images, "take", once(images.take))
        unless_known(Tensor, "backward", lambda *_: None)
        unless_known(torch.autograd, "grad", lambda _, inputs, *more: tuple(map(torch.zeros_like, inputs)))
        unless_known(Gradients, "add", lambda _: (0.0,) * 5)
        for optimiser in (torch.optim.SGD, torch.optim.Adam):
            patch(optimiser, "step", stepped(optimiser.step))
        patch(Loop, "_to_the_end", _marked(count, Loop._to_the_end))
        patch(Loop, "one", _ahead(count, Loop.one))
        for loop in (loop for loop in _own("one", "train") if not issubclass(loop, Loop)):
            patch(loop, "train", _marked(count, loop.train))
            patch(loop, "one", _ahead(count, loop.one))
        yield count


def _own(*methods: str) -> Iterator[type]:
    """A paper's own classes that do what a class of the harness does, by these methods."""
    for name, module in list(sys.modules.items()):
        if name.startswith("reproduce."):
            for one in vars(module).values():
                if isinstance(one, type) and one.__module__ == name and set(methods) <= vars(one).keys():
                    yield one
