"""Overlaps and persistence diagrams as PyTorch differentiates them, and arrays that it shares."""

from typing import Any

import numpy as np
import pytest
from warpsmith import DeviceArray, devices, homology
from warpsmith.overlap import Overlap, Shape

torch: Any = pytest.importorskip("torch")

from warpsmith.torch import areas, rips  # noqa: E402


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


def cloud(*shape: int) -> Any:
    return torch.tensor(np.random.default_rng(4).normal(size=shape), device=HOME, requires_grad=True)


@pytest.mark.parametrize("shape", [(12, 2), (3, 9, 3)])
def test_derivatives_of_bars(shape: tuple[int, ...]) -> None:
    def finite(points: Any) -> Any:
        return torch.cat([bars[torch.isfinite(bars)] for of_cloud in rips(points, threshold=1.6) for bars in of_cloud])

    assert torch.autograd.gradcheck(finite, (cloud(*shape),), eps=1e-7)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bars_are_those_of_numpy(dtype: str) -> None:
    ragged = [cloud(n, 2).to(getattr(torch, dtype)) for n in (9, 0, 1, 30)]
    batch = cloud(4, 11, 3).to(getattr(torch, dtype))
    for clouds in (ragged, batch, batch[2]):
        given = clouds if isinstance(clouds, list) else [clouds] if clouds.ndim == 2 else list(clouds)
        found = rips(clouds, threshold=1.0)
        expected = homology.rips([one.detach().cpu().numpy() for one in given], threshold=1.0)
        assert len(found) == len(expected)
        for of_cloud, theirs in zip(found, expected):
            for bars, numpys in zip(of_cloud, theirs):
                assert bars.dtype == batch.dtype and bars.device == batch.device
                np.testing.assert_allclose(bars.detach().cpu().numpy(), numpys, rtol=1e-6)
    assert rips([]) == []
    assert len(rips(batch, degree=0)[0]) == 1


def test_points_in_one_place() -> None:
    # A square whose corners are there twice: edges of length 0 start some of its bars.
    corners = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], dtype=torch.float64, device=HOME)
    points = torch.cat([corners, corners]).requires_grad_()
    [of_cloud] = rips(points)
    sum(bars[torch.isfinite(bars)].sum() for bars in of_cloud).backward()
    assert torch.isfinite(points.grad).all() and points.grad.abs().sum() > 0


def test_clouds_in_words() -> None:
    with pytest.raises(TypeError, match="cloud 1 is a ndarray"):
        rips([cloud(3, 2), np.zeros((3, 2))])
    with pytest.raises(ValueError, match="cloud 0: coordinate 1 of point 2 is NaN"):
        rips(torch.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, torch.nan]]))
