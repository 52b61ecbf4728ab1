# SPDX-License-Identifier: Apache-2.0
"""The README's sample verdict is what the demo's job gets, and its commands are those of the tree."""

import re

from conftest import TOP

README = (TOP / "README.md").read_text()


def without_clock(screen: str) -> list[str]:
    """How often the card was looked at is a matter of time, and each look is an event: it moves the columns of the lanes. Their names and greatest values stay."""
    lines = re.sub(r"events \d+ of \d+ kept", "events kept", screen).splitlines()
    begin = next(at for at, line in enumerate(lines) if line.lstrip().startswith("most  events "))
    end = lines.index("", begin)
    lanes = [line[:36].rstrip() for line in lines[begin + 1 : end - 1]]
    marks = re.findall(r"[a-z]+ at", lines[end - 1])
    return [*lines[:begin], *lanes, *marks, *lines[end:]]


def test_the_sample_in_the_readme_is_the_demos_real_output(bench):
    sample = re.search(r"<!-- demo:begin -->\n```\n(.*?)```\n<!-- demo:end -->", README, re.S).group(1)
    job = bench.run("pinned_remainders.py", MEMSNAP_OUT="ring.bin")
    assert job.code == 1

    replay = bench.replay("ring.bin")

    assert replay.code == 10
    assert without_clock(replay.stdout) == without_clock(sample)


def test_the_readmes_scripts_exist_and_can_be_run():
    scripts = set(re.findall(r"\./scripts/(\w+)", README))
    assert {"demo", "test", "bench"} <= scripts
    assert [name for name in scripts if not (TOP / "scripts" / name).stat().st_mode & 0o111] == []
