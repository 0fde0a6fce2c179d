"""The device that a run asks for."""

from harness.errors import HarnessError


def require(device: str, run: str) -> None:
    """Refuse before anything is read where torch has no such device."""
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        raise HarnessError(f"{run} wants a GPU and torch sees none: use scale cpu or a CUDA build")
