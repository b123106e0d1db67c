"""Overlaps and persistence diagrams as part of a loss: functions of PyTorch's tensors that can be differentiated.

Examples
--------
>>> import torch
>>> from warpsmith.overlap import Overlap, Shape
>>> from warpsmith.torch import areas
>>> evaluator = Overlap([Shape([(0, 0), (1, 0), (1, 1), (0, 1)])], boundary="square")
>>> poses = torch.tensor([[0.0, 0.0, 0.0], [0.75, 0.5, 0.0]], dtype=torch.float64, requires_grad=True)
>>> overlap, outside = areas(evaluator, poses, scales=2.5)
>>> overlap.backward()
>>> poses.grad[1, :2]
tensor([-0.5000, -0.2500], dtype=torch.float64)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

try:
    import torch
    from torch.autograd.function import once_differentiable
except ImportError as error:
    raise ImportError("warpsmith.torch needs PyTorch: pip install torch") from error

from . import homology
from ._warpsmith import DeviceArray
from .overlap import Overlap
from .pcf import Devices

__all__ = ["areas", "rips"]


def areas(
    evaluator: Overlap,
    poses: torch.Tensor,
    *,
    shapes: npt.ArrayLike | None = None,
    scales: torch.Tensor | float | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The area in which poses overlap, and the area outside the evaluator's boundary.

    Both can be differentiated once, by the poses and the scales; derivatives are exact.

    Parameters
    ----------
    evaluator : Overlap
        Its precision is that of the poses. Poses on a GPU are used where they are, if the evaluator is on that GPU.
    poses : (n, 3) or (packings, n, 3) Tensor
        x, y and theta of each copy.
    shapes : array_like of int, optional
        The index of each pose's shape, as in `Overlap.evaluate`.
    scales : () or (packings,) Tensor or float, optional
        The boundary's scale. Without it, nothing is outside.

    Returns
    -------
    tuple of Tensor
        Two of shape () or (packings,), on the poses' device.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As `Overlap.evaluate`.

    Examples
    --------
    >>> from warpsmith.overlap import Shape
    >>> square = Overlap([Shape([(0, 0), (1, 0), (1, 1), (0, 1)])], boundary="square")
    >>> scale = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    >>> overlap, outside = areas(square, torch.zeros((1, 3), dtype=torch.float64), scales=scale)
    >>> outside.backward()
    >>> round(outside.item(), 9), round(scale.grad.item(), 9)
    (0.75, -0.5)
    """
    if not isinstance(poses, torch.Tensor):
        raise TypeError(f"poses are a {type(poses).__name__}, but they must be a Tensor")
    if str(poses.dtype) != f"torch.{evaluator.dtype}":
        raise TypeError(f"poses are of {poses.dtype}, but the evaluator is of {evaluator.dtype}")
    if scales is not None:
        scales = torch.as_tensor(scales, dtype=poses.dtype, device=poses.device)
    overlap, outside = _Areas.apply(poses, scales, evaluator, shapes)
    return overlap, outside


class _Areas(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, poses: torch.Tensor, scales: torch.Tensor | None, evaluator: Overlap, shapes: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        given = poses.detach().contiguous()
        found = evaluator.evaluate(
            given if given.is_cuda else given.numpy(),
            shapes=shapes,
            scales=None if scales is None else scales.detach().cpu().numpy(),
            gradient=True,
        )
        totals, gradient = _tensor(found.totals), _tensor(found.gradient)
        if found.outside is None:
            ctx.save_for_backward(gradient)
            return totals, torch.zeros_like(totals)
        ctx.save_for_backward(gradient, _tensor(found.outside.gradient), _tensor(found.outside.by_scale), scales)
        return totals, _tensor(found.outside.totals)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_overlap: torch.Tensor, by_outside: torch.Tensor) -> Any:
        gradient, *more = ctx.saved_tensors
        by_poses = by_overlap[..., None, None] * gradient
        if not more:
            return by_poses, None, None, None
        outside, by_scale, scales = more
        by_scales = by_outside * by_scale
        # One scale for all packings.
        by_scales = by_scales.reshape(scales.shape) if by_scales.numel() == scales.numel() else by_scales.sum()
        return by_poses + by_outside[..., None, None] * outside, by_scales.reshape(scales.shape), None, None


def _tensor(values: Any) -> torch.Tensor:
    """A result as a tensor, where it is."""
    return torch.from_dlpack(values) if isinstance(values, DeviceArray) else torch.as_tensor(np.asarray(values))


def rips(
    points: torch.Tensor | Sequence[torch.Tensor],
    *,
    threshold: float | None = None,
    degree: int = 1,
    device: Devices = None,
) -> list[list[torch.Tensor]]:
    """The persistence diagrams of point clouds. Births and deaths can be differentiated by the points.

    A birth or a death is the length of an edge, whose derivative is exact unless several edges are equally long. Of an
    edge of length 0 it is 0.

    Parameters
    ----------
    points : (n, d) or (clouds, n, d) Tensor, or sequence of (n, d) Tensor
        float32 or float64. Tensors on a GPU are used where they are.
    threshold, degree, device
        As in `warpsmith.homology.rips`.

    Returns
    -------
    list of list of Tensor
        For each cloud a tensor (bars, 2) of births and deaths for each degree, on the points' device and in the order
        of `warpsmith.homology.Diagrams.bars`.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As `warpsmith.homology.rips`.

    Examples
    --------
    >>> points = torch.tensor([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]], requires_grad=True)
    >>> [[_, cycles]] = rips(points)
    >>> (cycles[:, 1] - cycles[:, 0]).sum().backward()
    >>> points.grad.abs().sum() > 0
    tensor(True)
    """
    whole = points if isinstance(points, torch.Tensor) else None
    tensors: list[torch.Tensor] = list(points) if whole is None or whole.ndim == 3 else [whole]
    for index, tensor in enumerate(tensors):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"cloud {index} is a {type(tensor).__name__}, but it must be a Tensor")
    given = [tensor.detach().contiguous() for tensor in tensors] if whole is None else whole.detach().contiguous()
    diagrams = homology.rips(given, threshold=threshold, degree=degree, edges=True, device=device)
    if not tensors:
        return []
    # All points one after another, and the first one of each cloud.
    flat = torch.cat([tensor.reshape(-1, tensor.shape[-1]) for tensor in tensors if tensor.numel()] or tensors[:1])
    starts = np.cumsum([0, *(len(tensor) for tensor in tensors)])
    found = []
    for at in range(diagrams.degrees):
        counts = np.diff(diagrams.offsets(at))
        edges = diagrams.edges(at).reshape(-1, 2, 2)
        present = edges[..., 0] >= 0
        ends = np.where(present[..., None], edges + np.repeat(starts[:-1], counts)[:, None, None], 0)
        bars = _lengths(flat, torch.as_tensor(ends, device=flat.device))
        # Bars of degree 0 start at 0, and others without an edge don't end.
        absent = torch.tensor([0.0, np.inf], dtype=bars.dtype, device=bars.device)
        bars = torch.where(torch.as_tensor(present, device=bars.device), bars, absent)
        found.append(bars.split(counts.tolist()))
    return [list(of_cloud) for of_cloud in zip(*found)]


def _lengths(points: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    """The distances of pairs of points. Their derivatives are finite, also those of a distance of 0."""
    squares = (points[ends[..., 0]] - points[ends[..., 1]]).square().sum(-1)
    positive = squares > 0
    # Also the branch that isn't taken must have a finite derivative.
    roots = torch.where(positive, squares, torch.ones_like(squares)).sqrt()
    return torch.where(positive, roots, torch.zeros_like(squares))
