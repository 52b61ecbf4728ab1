# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin: `@pytest.mark.limit_gpu_memory("200 MiB")` fails a test that takes more on top of what was there, and
`@pytest.mark.limit_gpu_leaks("0")` one that leaves more behind. Tests without a mark are left alone."""

from __future__ import annotations

import gc

import pytest

from .. import _native, _tools
from ._bytes import bytes_of, text_of
from ._use import Counted, NotMeasured, Recorded, Site, Use

_MEMORY, _LEAKS = "limit_gpu_memory", "limit_gpu_leaks"
_SITES_SHOWN = 5


def pytest_addoption(parser) -> None:
    parser.getgroup("memsnap").addoption(
        "--memsnap",
        choices=("auto", "require", "off"),
        default="auto",
        help="limits of GPU memory: by the recorder where it is in the process, else by PyTorch's counters; only by the recorder; not at all",
    )


def pytest_configure(config) -> None:
    config.addinivalue_line("markers", f'{_MEMORY}(size, device=None): the most of a GPU that the test may take on top of what was there ("200 MiB")')
    config.addinivalue_line("markers", f'{_LEAKS}(size, device=None): the most of it that may still be there at its end ("0")')


class _Limit:
    """One mark."""

    def __init__(self, mark):
        self.is_leak = mark.name == _LEAKS
        if len(mark.args) != 1 or set(mark.kwargs) - {"device"}:
            raise pytest.UsageError(f'{mark.name} takes a size, and device=N: @pytest.mark.{mark.name}("200 MiB")')
        size = mark.args[0]
        try:
            self.most_bytes = size if isinstance(size, int) else bytes_of(size)
        except (ValueError, AttributeError) as problem:
            raise pytest.UsageError(f"{mark.name}: {problem}") from None
        self.device = mark.kwargs.get("device")

    def broken_by(self, use: Use) -> str | None:
        """What to say, or nothing."""
        if self.device not in (None, use.device):
            return None
        taken, sites, verb = (use.left_bytes, use.left, "left") if self.is_leak else (use.added_bytes, use.at_peak, "took")
        if taken <= self.most_bytes:
            return None
        said = f"{verb} {text_of(taken)} of cuda:{use.device} on top of {text_of(use.begin_bytes)}, the limit is {text_of(self.most_bytes)}"
        return "\n".join([said, *_lines(sites)])


def _lines(sites: tuple[Site, ...]) -> list[str]:
    shown = [f"  {text_of(site.bytes):>12}  {site.block_count:>6} blocks  {site.label}" for site in sites[:_SITES_SHOWN]]
    return shown + ([f"  and {len(sites) - _SITES_SHOWN} more sites"] if len(sites) > _SITES_SHOWN else [])


def _limits_of(item) -> list[_Limit]:
    return [_Limit(mark) for name in (_MEMORY, _LEAKS) for mark in item.iter_markers(name)]


def _begin(item, choice: str):
    if _native.active:
        return Recorded(item.nodeid)
    if choice == "require":
        raise NotMeasured("the recorder is not in this process: memsnap run -- pytest …")
    return Counted()


def _end(stretch, limits: list[_Limit]) -> list[str]:
    """What broke a limit, in words."""
    if any(limit.is_leak for limit in limits):
        gc.collect()  # what only a cycle holds is no leak
    uses = stretch.end()
    return [said for limit in limits for use in uses if (said := limit.broken_by(use))]


def _or_fail(measure, *arguments):
    """What `measure` gives; a test whose memory cannot be told fails."""
    problem = None
    try:
        return measure(*arguments)
    except (NotMeasured, _tools.Missing) as error:
        problem = error
    pytest.fail(f"memsnap: {problem}", pytrace=False)


def _hold(stretch, limits: list[_Limit]) -> None:
    broken = _or_fail(_end, stretch, limits)
    if broken:
        pytest.fail("\n".join(broken), pytrace=False)


# The wrapper that every pytest knows: the plugin is loaded into all that are installed beside memsnap, and must not break one. First, so that
# nothing is left half done where an outcome cannot be changed and the failure has to be raised (pluggy before 1.1).
@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_call(item):
    choice = item.config.getoption("--memsnap")
    limits = [] if choice == "off" else _limits_of(item)
    if not limits:
        yield
        return
    stretch = _or_fail(_begin, item, choice)
    outcome = yield
    if outcome.excinfo is not None:
        stretch.close()
        return
    try:
        _hold(stretch, limits)
    except BaseException as failure:
        if not hasattr(outcome, "force_exception"):
            raise
        outcome.force_exception(failure)
