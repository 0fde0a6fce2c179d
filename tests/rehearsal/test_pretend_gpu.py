"""A pretend GPU refuses what a real one refuses, counts what a processor waits for, computes the same."""

import copy
import io

import numpy as np
import pytest
import torch
from torch import nn

from harness.rehearsal.pretend_gpu import GPUTensor, PretendGPU


@pytest.fixture
def gpu():
    with PretendGPU(devices=2).use() as gpu:
        yield gpu


def network() -> nn.Module:
    torch.manual_seed(0)
    body = [nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.2)]
    return nn.Sequential(*body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 5))


def trained(device: str, steps: int = 3) -> tuple[nn.Module, torch.optim.Optimizer]:
    net = network().to(device, memory_format=torch.channels_last)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-3)
    x, y = torch.linspace(-1, 1, 8 * 3 * 6 * 6).view(8, 3, 6, 6).to(device), torch.arange(8).to(device) % 5
    for step in range(steps):
        torch.manual_seed(step)
        optimiser.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimiser.step()
    return net, optimiser


def test_a_training_there_gives_the_bits_of_the_processor():
    here = trained("cpu")[0].state_dict()
    with PretendGPU().use():
        there = {name: value.cpu() for name, value in trained("cuda")[0].state_dict().items()}
    assert all(torch.equal(here[name], there[name]) for name in here)


def test_a_tensor_left_behind_is_told_by_the_operation(gpu):
    with pytest.raises(RuntimeError, match=r"^add: a tensor of \(3,\) on the cpu among tensors on the GPU"):
        torch.ones(3, device="cuda") + torch.ones(3)
    with pytest.raises(RuntimeError, match="convolution: a tensor of"):
        network().to("cuda")(torch.zeros(1, 3, 6, 6))
    with pytest.raises(TypeError, match=r"^numpy: a tensor of \(3,\) is on cuda:0"):
        np.asarray(torch.ones(3, device="cuda"))
    assert (torch.ones(3, device="cuda") + torch.tensor(1.0)).tolist() == [2.0] * 3  # a number is a number


def test_tensors_of_two_gpus_do_not_meet_and_a_third_is_not_there(gpu):
    x, y = torch.ones(2, device="cuda:0"), torch.ones(2, device="cuda:1")
    with pytest.raises(RuntimeError, match="add: tensors of cuda:0 and of cuda:1"):
        x + y
    assert (x.to("cuda:1") + y).device == torch.device("cuda:1")
    with pytest.raises(RuntimeError, match="no cuda:2 among 2 GPUs"):
        torch.ones(2, device="cuda:2")


def test_what_makes_a_processor_wait_is_counted(gpu):
    x = torch.arange(4.0).to("cuda")
    assert dict(gpu.uploads) == {"_to_copy": 1} and not gpu.waits
    x.sum().item(), x.cpu(), x[x > 1], x.nonzero(), bool(x[0] == 0)
    torch.cuda.synchronize()
    assert dict(gpu.waits) == {"_local_scalar_dense": 2, "_to_copy": 1, "index": 1, "nonzero": 1}
    assert gpu.synchronised == 1


def test_tensors_say_where_they_live_and_parameters_stay_themselves(gpu):
    net = network()
    before = list(net.parameters())
    net.to("cuda")
    assert all(a is b for a, b in zip(before, net.parameters(), strict=True))
    assert all(p.is_cuda and p.device.type == "cuda" and isinstance(p, nn.Parameter) for p in before)
    x = torch.zeros(4, 3, device="cuda")
    assert (
        x[[0, 2]].shape == (2, 3) and x.new_tensor([1.0]).is_cuda and torch.tensor([1], device="cuda").is_cuda
    )
    assert torch.zeros(2, device=x.device).is_cuda
    x[[1], 0] = 5.0
    assert x.view(-1)[3].item() == 5.0
    copied = copy.deepcopy(net)
    assert all(p.is_cuda and p is not q for p, q in zip(copied.parameters(), net.parameters(), strict=True))


def test_what_is_saved_there_comes_back_there_or_where_it_is_told():
    file = io.BytesIO()
    with PretendGPU().use():
        net, optimiser = trained("cuda")
        torch.save([net.state_dict(), optimiser.state_dict()], file)
        file.seek(0)
        kept, moments = torch.load(file, weights_only=True)
        assert all(isinstance(value, GPUTensor) for value in kept.values())
        again, other = trained("cuda", 0)
        again.load_state_dict(kept)
        other.load_state_dict(moments)
        assert all(p["momentum_buffer"].is_cuda for p in other.state.values())
    file.seek(0)
    with pytest.raises(AssertionError, match="CUDA"):  # as of a real one where there is none
        torch.load(file, weights_only=True)
    file.seek(0)
    here, _ = torch.load(file, map_location="cpu", weights_only=True)
    assert type(here["0.weight"]) is torch.Tensor and here["0.weight"].equal(kept["0.weight"].held)


def test_a_hollow_gpu_takes_steps_of_shapes_alone():
    with PretendGPU(hollow=True).use():
        net = nn.Sequential(nn.Conv2d(3, 4096, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4096, 9))
        net.to("cuda")
        x = torch.empty(10_000, 3, 224, 224, device="cuda")  # 6 GB, and 8 TB behind the convolution
        loss = nn.functional.cross_entropy(net(x), torch.zeros(10_000, dtype=torch.long, device="cuda"))
        loss.backward()
        assert net[0].weight.grad.shape == (4096, 3, 3, 3) and net[0].weight.grad.is_cuda
        assert loss.item() == 0.5 and x[:2, 0, 0, 0].tolist() == [0.5, 0.5]
