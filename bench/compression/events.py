"""Events of Pythia 8 as CMS simulates them: tracks, vertices, and hits where helices cross the layers of a barrel tracker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

SETTINGS = [
    "Print:quiet = on",
    "Beams:eCM = 13000",
    "HardQCD:all = on",
    "PhaseSpace:pTHatMin = 20",
    "Random:setSeed = on",
    "Random:seed = 2017",
]
FIELD = 3.8  # tesla
LAYERS = np.array([4.4, 7.3, 10.2, 25.5, 33.9, 41.9, 49.8, 60.8, 69.2, 78.0, 86.8, 96.5, 108.0])  # cm
HALF_LENGTH = 110.0  # cm
MODULE = (1.6, 6.4)  # width and length of a module, cm
THICKNESS = 0.03  # cm
LIGHT = 29.979  # cm/ns


def _record(pythia: Any) -> np.ndarray:
    """Final particles of an event: id, place in the record, its mother's, momentum, production vertex, charge."""
    found = [
        (
            p.id(),
            p.index(),
            p.mother1(),
            p.px(),
            p.py(),
            p.pz(),
            p.e(),
            p.xProd(),
            p.yProd(),
            p.zProd(),
            p.tProd(),
            p.charge(),
        )
        for p in pythia.event
        if p.isFinal()
    ]
    return np.array(found).reshape(-1, 12)


def _hits(tracks: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Hits of charged particles: entry, segment, momentum, energy loss, angles, time, particle, process, module, track."""
    number = np.arange(len(tracks))
    pt = np.hypot(tracks[:, 3], tracks[:, 4])
    seen = (tracks[:, 11] != 0) & (pt > 0.1)
    track, layer = np.meshgrid(number[seen], np.arange(len(LAYERS)), indexing="ij")
    track, layer = track.ravel(), layer.ravel()
    of, pt = tracks[track], pt[track]
    radius = LAYERS[layer]
    bend = 100 * pt / (0.3 * FIELD)  # cm
    turn = np.arcsin(np.clip(radius / (2 * bend), -1, 1))
    z = of[:, 9] / 10 + 2 * bend * turn * of[:, 5] / pt
    reached = (radius < 2 * bend) & (np.abs(z) < HALF_LENGTH)
    track, layer, of, pt, radius, bend, turn, z = (
        a[reached] for a in (track, layer, of, pt, radius, bend, turn, z)
    )
    phi = np.arctan2(of[:, 4], of[:, 3]) - of[:, 11] * turn
    around = (phi % (2 * np.pi)) * radius
    module_phi, module_z = np.floor(around / MODULE[0]), np.floor((z + HALF_LENGTH) / MODULE[1])
    momentum = np.sqrt(pt**2 + of[:, 5] ** 2)
    slope = np.tan(of[:, 11] * turn), of[:, 5] / pt
    path = THICKNESS * np.sqrt(1 + slope[0] ** 2 + slope[1] ** 2)
    beta = momentum / of[:, 6]
    # Moyal's form of what thin silicon takes of a particle's energy.
    fluctuation = -np.log(random.normal(size=len(track)) ** 2 + 1e-12)
    loss = np.maximum(1e-6, path * (2.3e-3 / beta**2 + 2.0e-4 * fluctuation))
    detector = (((1 + layer) << 25) | (module_phi.astype(int) << 10) | module_z.astype(int)).astype(float)
    return np.stack(
        [
            around - (module_phi + 0.5) * MODULE[0], z + HALF_LENGTH - (module_z + 0.5) * MODULE[1],
            np.full(len(track), -THICKNESS / 2), THICKNESS * slope[0], THICKNESS * slope[1],
            np.full(len(track), THICKNESS), momentum, loss, np.arctan2(pt, of[:, 5]), phi,
            np.hypot(2 * bend * turn, z) / (LIGHT * beta), of[:, 0], np.full(len(track), 2.0), detector,
            track + 1.0,
        ],
        axis=1,
    )  # fmt: skip


def write(path: Path, events: int) -> None:
    """Writes the numbers that `cms_write` reads: events, then of each its counts and members, as doubles."""
    import pythia8mc

    pythia = pythia8mc.Pythia("", False)
    for setting in SETTINGS:
        pythia.readString(setting)
    pythia.init()
    random = np.random.default_rng(2017)
    with path.open("wb") as out:
        np.array([float(events)]).tofile(out)
        written = 0
        while written < events:
            if not pythia.next():
                continue
            tracks = _record(pythia)
            spot = random.normal(0, (0.015, 0.015, 53.0))  # mm, of the crossing bunches
            tracks[:, 7:10] += spot
            places, vertex = np.unique(tracks[:, [7, 8, 9, 10, 2]], axis=0, return_inverse=True)
            hits = _hits(tracks, random)
            np.array([len(tracks), len(places), len(hits)], "f8").tofile(out)
            columns = [tracks[:, 0], *tracks[:, 3:7].T, vertex.ravel().astype("f8"), tracks[:, 1]]
            np.stack(columns, axis=1).tofile(out)
            places.tofile(out)
            hits.tofile(out)
            written += 1
