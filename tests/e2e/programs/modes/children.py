# SPDX-License-Identifier: Apache-2.0
"""Child processes of every kind. Argument: spawn (the child uses the card), fork_before (forked before the parent uses it, then
both do), fork_after (forked from a parent that uses it already: the child computes on the host only)."""

import multiprocessing
import sys

from card import look, take


def use_the_card(may_start, has_taken, may_end) -> None:
    """Takes 1 GiB when it may, and holds it until it is told."""
    may_start.wait()
    kept = take(1024)
    look()
    has_taken.set()
    may_end.wait()
    del kept


def compute(number: int) -> int:
    return number * number


def share_the_card(method: str) -> None:
    make = multiprocessing.get_context(method)
    may_start, has_taken, may_end = (make.Event() for _ in range(3))
    child = make.Process(target=use_the_card, args=(may_start, has_taken, may_end))
    child.start()
    kept = take(100)
    look()
    may_start.set()
    has_taken.wait()
    look()
    may_end.set()
    child.join()
    look()
    del kept
    print("child", child.exitcode)


def spawn() -> None:
    share_the_card("spawn")


def fork_before() -> None:
    share_the_card("fork")


def fork_after() -> None:
    kept = take(100)
    look()
    with multiprocessing.get_context("fork").Pool(2) as workers:
        print(workers.map(compute, range(10)))
    look()
    del kept


if __name__ == "__main__":
    globals()[sys.argv[1]]()
