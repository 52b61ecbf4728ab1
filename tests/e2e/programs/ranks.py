# SPDX-License-Identifier: Apache-2.0
"""A job of several ranks, as a launcher runs one: it starts the ranks, and when one ends in an error it ends the others. Arguments: the story
and the number of ranks, each with a card of its own or, in `one_card`, all on the first.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

MIB = 1024 * 1024
GIB = 1024 * MIB
LEAKING_RANK = 3


def wait_for_all(name: str) -> None:
    pathlib.Path(f"{name}-{os.environ['RANK']}").touch()
    wait_for(name, int(os.environ["WORLD_SIZE"]))


def wait_for(name: str, count: int) -> None:
    deadline = time.monotonic() + 200
    while len(list(pathlib.Path().glob(f"{name}-*"))) < count:
        if time.monotonic() > deadline:
            raise TimeoutError(name)
        time.sleep(0.05)


def take(size_bytes: int):
    import torch

    return torch.empty(size_bytes, dtype=torch.uint8, device="cuda:" + os.environ["CARD"])


def one_leaks(rank: int) -> None:
    """All ranks step alike, but one keeps what it made; the others then wait for it, as in a collective."""
    import memsnap

    weights, kept = take((1 + rank % 2) * GIB), []
    if rank == LEAKING_RANK:
        wait_for("stepped", int(os.environ["WORLD_SIZE"]) - 1)
    for _ in range(12):
        activations = take(768 * MIB)
        if rank == LEAKING_RANK:
            kept.append(activations)
        del activations
        memsnap.step()
    pathlib.Path(f"stepped-{rank}").touch()
    time.sleep(200)
    del weights


def one_card(rank: int) -> None:
    """Rank 0 takes nearly all of a card that rank 1 needs too, and goes on."""
    held = None
    if rank == 0:
        held = take(6 * GIB)
        time.sleep(0.3)  # until the other may have seen it
        pathlib.Path("held-0").touch()
        time.sleep(200)
    own = take(64 * MIB)
    wait_for("held", 1)
    time.sleep(0.3)
    take(2 * GIB)
    del own, held


def alike(rank: int) -> None:
    """Every rank asks for more than there is, as soon as all are there."""
    own = take(7 * GIB)
    wait_for_all("ready")
    take(2 * GIB)
    del own


def well(rank: int) -> None:
    """Nothing fails; one rank holds much more than the others."""
    held = take((4 if rank == 1 else 1) * GIB)
    wait_for_all("ready")
    del held


STORIES = {story.__name__: story for story in (one_leaks, one_card, alike, well)}


def launch(story: str, count: int) -> int:
    """Like torchrun: the first error ends all, softly."""
    ranks = [
        subprocess.Popen(
            [sys.executable, __file__, story],
            env=os.environ | {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(count), "CARD": "0" if story == "one_card" else str(rank)},
        )
        for rank in range(count)
    ]
    code = None
    while code is None:
        time.sleep(0.1)
        codes = [rank.poll() for rank in ranks]
        failed = [found for found in codes if found]
        if failed or None not in codes:
            code = failed[0] if failed else 0
    time.sleep(1.2)  # torchrun looks once in a while
    for rank in ranks:
        if rank.poll() is None:
            rank.send_signal(signal.SIGTERM)
    for rank in ranks:
        rank.wait()
    return code


if __name__ == "__main__":
    if "RANK" not in os.environ:
        sys.exit(launch(sys.argv[1], int(sys.argv[2])))
    STORIES[sys.argv[1]](int(os.environ["RANK"]))
