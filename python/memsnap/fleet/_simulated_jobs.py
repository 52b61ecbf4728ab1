# SPDX-License-Identifier: Apache-2.0
"""The plan of a simulated fleet: which jobs there are, where they ran and how they ended. The rule: all chance is in here, from one seed, and the
effects that a report must find are the constants below."""

from __future__ import annotations

import dataclasses
import hashlib
import random

FIRST_DAY, DAYS = 20_545, 42  # 2026-04-02, in days since 1970
WORLD_SIZES, WORLD_WEIGHTS = (8, 16, 32, 128, 256), (50, 25, 15, 8, 2)
CARDS_GIB, CARD_WEIGHTS = (16, 32, 64, 128), (20, 35, 30, 15)
TORCH_VERSIONS, TORCH_WEIGHTS = ("2.12.0", "2.13.1", "2.14.1"), (30, 25, 45)
MODELS = 12
# What happens to a job, and how often in thousand; the rest ends well.
ENDINGS = {
    "live_set": 70,
    "retention": 40,
    "fragmentation": 30,
    "external": 25,
    "cache_hoarding": 10,
    "deferred_free": 10,
    "driver_refused": 8,
    "undecided": 25,
    "near_miss": 60,
}
# Planted: this torch fragments so many times as often, cards this small are too small, and one model leaks at one site.
FRAGMENTING_TORCH, FRAGMENTING_TIMES = "2.13.1", 12
SMALL_CARD_GIB, SMALL_CARD_TIMES = 16, 5
LEAKING_MODEL, LEAKING_TIMES = 3, 10
SPREADING = ("live_set", "fragmentation")  # fails on several ranks; the others on one
DOUBLE_PER_MILLE = 20  # a failure that two receipts tell of


@dataclasses.dataclass(frozen=True)
class Job:
    number: int
    day: int  # since 1970
    start_second: int
    world_size: int
    card_gib: int
    torch_version: str
    expandable: bool
    model: int
    ending: str  # one of ENDINGS, or "well"
    failing: tuple[int, ...]  # ranks, in the order of their failures
    told_twice: frozenset  # of them

    @property
    def name(self) -> str:
        return f"job-{self.number:05}"


def site_token(seed: int, text: str) -> str:
    """As with a token key that all recordings share."""
    return f"site-{hashlib.blake2b(text.encode(), key=str(seed).encode(), digest_size=8).hexdigest()}"


def _ending(chance: random.Random, card_gib: int, torch_version: str, model: int) -> str:
    weights = dict(ENDINGS)
    weights["fragmentation"] *= FRAGMENTING_TIMES if torch_version == FRAGMENTING_TORCH else 1
    weights["live_set"] *= SMALL_CARD_TIMES if card_gib == SMALL_CARD_GIB else 1
    weights["retention"] *= LEAKING_TIMES if model == LEAKING_MODEL else 1
    drawn = chance.randrange(max(1000, sum(weights.values())))
    for ending, weight in weights.items():
        if drawn < weight:
            return ending
        drawn -= weight
    return "well"


def jobs(rank_count: int, seed: int) -> list[Job]:
    """Jobs of `rank_count` ranks in all; the last one has what is left."""
    chance, made, left = random.Random(seed), [], rank_count
    while left:
        world_size = min(left, chance.choices(WORLD_SIZES, WORLD_WEIGHTS)[0])
        left -= world_size
        card_gib = chance.choices(CARDS_GIB, CARD_WEIGHTS)[0]
        torch_version, model = chance.choices(TORCH_VERSIONS, TORCH_WEIGHTS)[0], chance.randrange(MODELS)
        ending = _ending(chance, card_gib, torch_version, model)
        failing_count = chance.randint(1, max(1, world_size // 4)) if ending in SPREADING else 1
        failing = tuple(chance.sample(range(world_size), failing_count)) if ending not in ("well", "near_miss") else ()
        twice = frozenset(rank for rank in failing if chance.randrange(1000) < DOUBLE_PER_MILLE)
        day, second = FIRST_DAY + chance.randrange(DAYS), chance.randrange(80_000)
        made.append(Job(len(made), day, second, world_size, card_gib, torch_version, chance.random() < 0.3, model, ending, failing, twice))
    return made
