"""Overlaps as PyTorch differentiates them, and arrays that it shares."""

from typing import Any

import numpy as np
import pytest
from warpsmith import DeviceArray, devices
from warpsmith.overlap import Overlap, Shape

torch: Any = pytest.importorskip("torch")

from warpsmith.torch import areas  # noqa: E402


HOME = devices()[0].backend


def poses(*shape: int) -> Any:
    # Apart enough that no two sides are parallel, near enough that copies overlap.
    values = np.random.default_rng(3).uniform(-0.6, 0.6, (*shape, 3))
    return torch.tensor(values, dtype=torch.float64, device=HOME, requires_grad=True)


@pytest.mark.parametrize("shape", [(5,), (3, 4)])
def test_derivatives_are_those_of_differences(shape: tuple[int, ...]) -> None:
    evaluator = Overlap([Shape.tree()], boundary="square")
    scales = torch.full(shape[:-1], 1.1, dtype=torch.float64, device=HOME, requires_grad=True)
    assert torch.autograd.gradcheck(lambda p, s: areas(evaluator, p, scales=s), (poses(*shape), scales), eps=1e-7)
    assert torch.autograd.gradcheck(lambda p: areas(evaluator, p)[0], (poses(*shape),), eps=1e-7)
    one = torch.tensor(1.1, dtype=torch.float64, device=HOME, requires_grad=True)
    assert torch.autograd.gradcheck(lambda s: areas(evaluator, poses(*shape), scales=s)[1], (one,), eps=1e-7)


def test_one_place() -> None:
    # On either device the same, whatever the evaluator's is.
    evaluator, there = Overlap([Shape.tree()], boundary="square"), poses(6)
    here = there.detach().cpu().requires_grad_()
    for tensor in (there, here):
        overlap, outside = areas(evaluator, tensor, scales=1.2)
        (overlap + 2 * outside).backward()
        assert overlap.device == tensor.device
    assert torch.allclose(there.grad.cpu(), here.grad, rtol=1e-12, atol=1e-12)


def test_in_words() -> None:
    evaluator = Overlap([Shape.tree()])
    with pytest.raises(TypeError, match="torch.float32"):
        areas(evaluator, poses(2).float())
    with pytest.raises(TypeError, match="ndarray"):
        areas(evaluator, np.zeros((2, 3)))
    with pytest.raises(ValueError, match="boundary"):
        areas(evaluator, poses(2), scales=1.0)


@pytest.mark.skipif(HOME != "cpu", reason="PyTorch's own backend must be the same")
def test_tensors_share_memory() -> None:
    array = DeviceArray(np.arange(6.0).reshape(2, 3))
    tensor = torch.from_dlpack(array)
    del array
    assert torch.equal(tensor, torch.arange(6.0, dtype=torch.float64).reshape(2, 3))
    assert DeviceArray(tensor).numpy().tolist() == tensor.tolist()
