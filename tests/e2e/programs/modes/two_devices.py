# SPDX-License-Identifier: Apache-2.0
"""Two cards in one process; the second one gets full."""

from card import fill, look, take


def main() -> None:
    first, second = take(700), take(40, device=1)
    look(0)
    look(1)
    del first
    first = [take(30), take(900)]
    look(0)
    del second
    look(1)
    fill(device=1)


if __name__ == "__main__":
    main()
