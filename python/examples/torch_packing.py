"""Packs twelve trees into a small square by gradient descent in PyTorch: what overlaps is part of a loss."""

import math

import torch
from warpsmith.overlap import Overlap, Shape
from warpsmith.torch import areas

STEPS = 600

torch.manual_seed(4)
evaluator = Overlap([Shape.tree()], boundary="square")
poses = torch.rand((12, 3), dtype=torch.float64) * torch.tensor([3.0, 3.0, 2 * math.pi]) - torch.tensor([1.5, 1.5, 0.0])
poses.requires_grad_()
side = torch.tensor(3.5, dtype=torch.float64, requires_grad=True)
optimizer = torch.optim.Adam([{"params": [poses], "lr": 0.02}, {"params": [side], "lr": 0.01}])
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS, eta_min=1e-4)

for step in range(STEPS + 1):
    overlap, outside = areas(evaluator, poses, scales=side)
    if step % 100 == 0:
        print(f"step {step:3}: side {side.item():.3f}, overlap {overlap.item():.5f}, outside {outside.item():.5f}")
    # The weight of what is wrong grows, until nothing is.
    loss = side + (1 + step / 5) * (overlap + outside)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()

assert overlap.item() + outside.item() < 0.01
