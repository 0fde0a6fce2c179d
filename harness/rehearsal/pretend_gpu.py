"""A GPU that is none: tensors that say they live on `cuda:0`, compute on the processor, and meet none there.

PyTorch's PrivateUse1 hooks let a tensor class stand for a device. What a real GPU refuses is refused, by the
name of the operation; what makes a processor wait for a GPU is counted. A `hollow` one computes nothing: its
tensors have shapes alone, so that networks of any size take a step.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

BACKEND = "pretend"
# Of these a GPU itself takes a processor's tensors: what moves, and indices.
MOVES = {"_to_copy", "copy_", "index", "index_put", "index_put_", "_index_put_impl_"}
MASKS = MOVES - {"_to_copy", "copy_"}
# The size of what these give, or a number of theirs, must be known before the program can go on.
WAITS = {
    "_local_scalar_dense",
    "nonzero",
    "masked_select",
    "unique_dim",
    "_unique2",
    "unique_consecutive",
    "equal",
}
active: list["PretendGPU"] = []  # the one in use


class GPUTensor(Tensor):
    """`held`: the tensor on the processor, or on `meta`, that computes for it."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor, index: int = 0) -> "GPUTensor":
        return Tensor._make_wrapper_subclass(
            cls,
            held.size(),
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=torch.device(BACKEND, index),
        )

    def __init__(self, held: Tensor, index: int = 0) -> None:
        self.held, self.index = held, index

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return active[-1].operate(func, args, kwargs or {})

    device = property(lambda self: torch.device("cuda", self.index))
    is_cuda = property(lambda self: True)
    is_cpu = property(lambda self: False)

    def numpy(self, *, force: bool = False) -> Any:
        if not force:
            raise TypeError(f"numpy: a tensor of {tuple(self.shape)} is on {self.device}: move it by .cpu()")
        return self.detach().cpu().numpy()

    def tolist(self) -> Any:
        return self.detach().cpu().tolist()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.numpy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if id(self) not in memo:
            with torch.no_grad():
                copied = self.clone()
            copied.requires_grad_(self.requires_grad)
            if isinstance(self, torch.nn.Parameter):
                copied = torch.nn.Parameter(copied, self.requires_grad)
            memo[id(self)] = copied
        return memo[id(self)]

    def __reduce_ex__(self, protocol: int) -> Any:
        """Saved as what a GPU holds: it comes back there, or where map_location says."""
        parts = self.detach().cpu(), self.dtype, str(self.device), self.requires_grad
        return torch._utils._rebuild_device_tensor_from_cpu_tensor, parts

    def untyped_storage(self) -> Any:
        return self.held.untyped_storage()

    def data_ptr(self) -> int:
        return self.held.data_ptr()


class _Names(TorchFunctionMode):
    """What a program calls `cuda` is the backend behind it."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is torch.device:
            return func(*args, **(kwargs or {}))
        args = tuple(_renamed(one) for one in args)
        kwargs = {name: _renamed(one) for name, one in (kwargs or {}).items()}
        # These build a tensor below what this mode sees: it is built here and brought there.
        if func in (torch.tensor, torch.as_tensor) and _is_there(kwargs.get("device")):
            device = kwargs.pop("device")
            return func(*args, **kwargs).to(device)
        if args and isinstance(args[0], GPUTensor):
            if func is Tensor.new_tensor:
                return torch.tensor(*args[1:], **{"dtype": args[0].dtype, **kwargs}).to(
                    torch.device(BACKEND, args[0].index)
                )
            if func in (Tensor.__getitem__, Tensor.__setitem__):
                args = (args[0], _indices(args[1]), *args[2:])
        return func(*args, **kwargs)


def _is_there(device: Any) -> bool:
    return isinstance(device, torch.device) and device.type == BACKEND


def _indices(given: Any) -> Any:
    if isinstance(given, tuple):
        return tuple(torch.tensor(one) if isinstance(one, list) else one for one in given)
    return torch.tensor(given) if isinstance(given, list) else given


def _renamed(one: Any) -> Any:
    named = isinstance(one, str) and (one == "cuda" or one.startswith("cuda:"))
    if not named and not (isinstance(one, torch.device) and one.type == "cuda"):
        return one
    return torch.device(BACKEND, torch.device(one).index or 0)


@cache
def _changed(func: Any) -> int | None:
    """The place of the argument that an in-place operation gives back."""
    given = func._schema.returns
    if len(given) != 1 or given[0].alias_info is None or not given[0].alias_info.is_write:
        return None
    marks = given[0].alias_info.after_set
    for place, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.after_set == marks:
            return None if argument.kwarg_only else place
    return None


class PretendGPU(TorchDispatchMode):
    """While it is in use, `device="cuda"` is this; `waits` and `uploads` count by operation."""

    def __init__(self, *, hollow: bool = False, devices: int = 1) -> None:
        super().__init__()
        self.hollow, self.devices = hollow, devices
        self.waits: Counter[str] = Counter()
        self.uploads: Counter[str] = Counter()
        self.synchronised = 0
        self.watch: Callable[[Any, tuple, dict, Any], None] | None = None  # of each operation there

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return self.operate(func, args, kwargs or {})

    def operate(self, func: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """One operation, done by what computes for its tensors."""
        flat = [one for given in (args, kwargs.values()) for part in given for one in _parts(part)]
        mine = [one for one in flat if isinstance(one, GPUTensor)]
        asked = kwargs.get("device")
        target = asked if asked is not None and asked.type == BACKEND else None
        if not mine and target is None:
            return func(*args, **kwargs)
        name, others = func.overloadpacket.__name__, len(mine) < len(flat)
        index = (target.index or 0) if target is not None else mine[0].index
        moves = name in MOVES
        if not moves:
            self._refuse(name, flat, index)
        if index >= self.devices:
            raise RuntimeError(f"{name}: there is no cuda:{index} among {self.devices} GPUs")
        home = name == "copy_" and not isinstance(args[0], GPUTensor)
        home |= name == "_to_copy" and asked is not None and target is None
        if home or name in WAITS or (name in MASKS and _by_mask(args)):
            self.waits[name] += 1
        elif moves and others and any(one.dim() for one in flat if not isinstance(one, GPUTensor)):
            self.uploads[name] += 1
        home |= name == "_local_scalar_dense"
        if self.hollow and home:
            return self._made_up(name, args, kwargs)
        plain = [self._plain(one) for one in args]
        out = func(*plain, **{key: self._plain(one) for key, one in kwargs.items()} if kwargs else kwargs)
        if home:
            return args[0] if name == "copy_" else out
        if self.watch is not None:
            self.watch(func, args, kwargs, out)
        if (place := _changed(func)) is not None:
            return args[place]
        if isinstance(out, Tensor):
            return GPUTensor(out, index)
        if isinstance(out, list | tuple):
            return type(out)(GPUTensor(one, index) if isinstance(one, Tensor) else one for one in out)
        return out

    def _refuse(self, name: str, flat: list[Tensor], index: int) -> None:
        """What a real GPU would not do."""
        for one in flat:
            if isinstance(one, GPUTensor):
                if one.index != index:
                    raise RuntimeError(f"{name}: tensors of cuda:{index} and of cuda:{one.index}")
            elif one.dim():
                raise RuntimeError(
                    f"{name}: a tensor of {tuple(one.shape)} on the {one.device} among tensors on the GPU"
                )

    def _plain(self, one: Any) -> Any:
        """What stands behind an argument."""
        if isinstance(one, GPUTensor):
            return one.held
        if isinstance(one, list | tuple):
            return [self._plain(each) for each in one]
        if isinstance(one, torch.device) and one.type == BACKEND:
            return torch.device("meta" if self.hollow else "cpu")
        if self.hollow and isinstance(one, Tensor) and one.dim():
            return one.to("meta")
        return one

    def _made_up(self, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """What a hollow GPU tells a processor: numbers that hurt nobody."""
        if name == "copy_":
            return args[0].zero_()
        dtype = kwargs.get("dtype") or args[0].dtype
        if name == "_local_scalar_dense":
            return True if dtype == torch.bool else 0.5 if dtype.is_floating_point else 1
        return torch.full(args[0].shape, 0.5 if dtype.is_floating_point else 0, dtype=dtype)

    @contextmanager
    def use(self) -> Iterator["PretendGPU"]:
        """Programs that ask torch for a GPU find this one."""
        _register()
        swapped = torch.__future__.get_swap_module_params_on_conversion()
        torch.__future__.set_swap_module_params_on_conversion(True)  # a parameter that moves stays itself
        active.append(self)

        def waited(*_: Any) -> None:
            self.synchronised += 1

        try:
            with ExitStack() as stack:
                patch = lambda name, value: stack.enter_context(mock.patch.object(torch.cuda, name, value))  # noqa: E731
                patch("is_available", lambda: True)
                patch("device_count", lambda: self.devices)
                patch("synchronize", waited)
                # Of a device that it did not know when it began the engine has no thread.
                stack.enter_context(torch.autograd.set_multithreading_enabled(False))
                stack.enter_context(_Names())
                stack.enter_context(self)
                yield self
        finally:
            active.pop()
            torch.__future__.set_swap_module_params_on_conversion(swapped)


def _parts(given: Any) -> list[Tensor]:
    """The tensors of an argument, which is one, or a list of some."""
    if isinstance(given, Tensor):
        return [given]
    if isinstance(given, list | tuple):
        return [one for one in given if isinstance(one, Tensor)]
    return []


def _by_mask(args: tuple) -> bool:
    return any(one is not None and one.dtype in (torch.bool, torch.uint8) for one in args[1])


@cache
def _register() -> None:
    """Once per process."""
    _setup_privateuseone_for_python_backend(BACKEND)
