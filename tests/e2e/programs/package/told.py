# SPDX-License-Identifier: Apache-2.0
"""Loops that tell memsnap about themselves and leave something behind; the first argument chooses what, the second how the steps are told."""

import gc
import sys

import torch

import memsnap

MIB = 1024 * 1024


def take(mib: int) -> torch.Tensor:
    return torch.empty(mib * MIB, dtype=torch.uint8, device="cuda")


def nothing(number: int) -> None:
    take(64)


KEPT = []


def list_of_results(number: int) -> None:
    take(64)
    KEPT.append(take(16))


class Node:
    def __init__(self, number: int):
        self.tensor = take(16)
        self.me = self


def cycle(number: int) -> None:
    if number == 0:
        gc.disable()
    Node(number)
    if number % 8 == 7:
        gc.collect()


def dimensions(number: int) -> None:
    rows = 8 << (number % 3)
    memsnap.note(rows=rows, columns=7)
    take(4 * rows)


@memsnap.phase("evaluation")
def phases(number: int) -> None:
    with memsnap.phase(f"load {number}"):
        KEPT[:] = [take(32)]
    take(8)


def told_by_calls(body) -> None:
    for number in range(16):
        body(number)
        memsnap.step()


def told_by_scopes(body) -> None:
    for number in range(16):
        with memsnap.step_scope("train"):
            body(number)


def main() -> None:
    body, steps = (globals()[name] for name in sys.argv[1:3])
    steps(body)
    print("recording", memsnap.recording())
    take(16 * 1024)


if __name__ == "__main__":
    main()
