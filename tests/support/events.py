"""The small classes that trees of objects are written from."""

from __future__ import annotations

import dataclasses

import numpy as np


@dataclasses.dataclass
class Hit:
    x: float
    adc: np.int32


@dataclasses.dataclass
class Event:
    number: int
    name: str
    hits: list[Hit]
