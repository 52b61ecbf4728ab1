# SPDX-License-Identifier: Apache-2.0
"""What `memsnap serve` exposes of what was read, parsed by prometheus_client's own parsers: names, uniqueness, hostile values, who reads when."""

import concurrent.futures
import copy
import random
import re

import pytest
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text
from prometheus_client.registry import CollectorRegistry
from prometheus_client.exposition import generate_latest

from memsnap.live import _metrics, _source
from test_live_screen import DEVICE, VIEW

NUMBER_FIELDS = [name for name, value in DEVICE.items() if isinstance(value, int) and name != "device"]


class Watched:
    """Stands in for the recordings."""

    def __init__(self, views: list):
        self.views, self.reads, self.forgotten = views, 0, []

    def read(self) -> list:
        self.reads += 1
        if self.views is None:
            raise _source.Unusable("nothing there")
        return [copy.deepcopy(view) for view in self.views if view["file"] not in self.forgotten]

    def forget(self, path: str) -> None:
        self.forgotten.append(path)


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass when told to."""

    class Clock:
        now = 1000.0

        def monotonic(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(_metrics, "time", clock)
    return clock


def view(ring: str, **changes) -> dict:
    more = {"events_count": 5, "recorder_version": 100, "torch_version": 21401, "file": f"/jobs/{ring}.bin", "ring_id": ring}
    return copy.deepcopy(VIEW) | more | changes


def served(source, **options) -> tuple:
    registry = CollectorRegistry()
    registry.register(_metrics.Collection(source, **options))
    return registry, lambda: openmetrics(registry).decode()


def samples(text: str) -> dict:
    """By name and labels; a series that is there twice is an error."""
    found = {}
    for family in parse_openmetrics(text):
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in found, f"twice: {key}"
            found[key] = sample.value
    return found


def value(found: dict, name: str, **labels) -> float:
    (one,) = [value for (sample, had), value in found.items() if sample == name and labels.items() <= dict(had).items()]
    return one


def test_what_was_read_is_told_under_documented_names_and_the_page_parses(clock):
    source = Watched([view("a")])
    registry, scrape = served(source)
    found = samples(scrape())
    assert value(found, "memsnap_up") == 1 and value(found, "memsnap_recordings", state="recording") == 1
    assert value(found, "memsnap_margin_bytes", job="ab", rank="3", process="0", gpu="0") == 5 << 30
    assert value(found, "memsnap_full_in_steps") == 1024 and value(found, "memsnap_trend_growing") == 1
    assert value(found, "memsnap_failures_total") == 0 and value(found, "memsnap_events_total") == 5
    assert value(found, "memsnap_device_answer_age_seconds") == 0.4
    assert value(found, "memsnap_process_info", torch="2.14.1") == 1
    assert list(parse_text(generate_latest(registry).decode()))  # for clients that ask for the older text


def test_every_metric_is_in_the_documentation():
    import pathlib

    documented = set(re.findall(r"memsnap_[a-z_]+", (pathlib.Path(__file__).parents[2] / "docs/live.md").read_text()))
    _, scrape = served(Watched([view("a", counters={"lost": 1}, devices=[dict(DEVICE, cap_bytes=7)])]), sites_count=1)
    assert {name for name, _ in samples(scrape())} == {name for name in documented if name not in ("memsnap_site", "memsnap_")}


def test_neither_names_nor_paths_nor_process_ids_are_told_unless_asked_for():
    text = served(Watched([view("a")]), sites_count=5)[1]()
    assert "jobs" not in text and "keep" not in text and "a.py" not in text and "pid" not in text
    assert value(samples(text), "memsnap_site_bytes", site="site-1") == 1 << 30
    assert "memsnap_site" not in served(Watched([view("a")]))[1]()
    assert value(samples(served(Watched([view("a")]), with_pid=True)[1]()), "memsnap_events_total", pid="7") == 5


def test_processes_of_one_job_and_rank_keep_their_numbers_and_a_number_comes_free_with_its_process(clock):
    source = Watched([view("a", rank=None), view("b", rank=None, events_count=6)])
    scrape = served(source)[1]
    assert value(samples(scrape()), "memsnap_events_total", process="1", rank="") == 6
    source.views = source.views[1:]
    clock.now += 2
    assert value(samples(scrape()), "memsnap_events_total", process="1") == 6
    source.views.append(view("c", rank=None, events_count=7))
    clock.now += 2
    assert value(samples(scrape()), "memsnap_events_total", process="0") == 7


def test_a_job_that_ends_is_told_of_for_five_minutes_and_one_that_had_ended_is_not(clock):
    source = Watched([view("a"), view("old", state="ended", exit_status=0)])
    scrape = served(source)[1]
    assert value(samples(scrape()), "memsnap_recordings", state="ended") == 0 and source.forgotten == ["/jobs/old.bin"]
    source.views[0].update(state="killed", failures_count=1)
    clock.now += 2
    found = samples(scrape())
    assert value(found, "memsnap_process_state", state="killed") == 1 and value(found, "memsnap_failures_total") == 1
    clock.now += 301
    assert not any(name == "memsnap_failures_total" for name, _ in samples(scrape()))


def test_many_scrapes_at_once_read_once_a_second(clock):
    source = Watched([view("a")])
    scrape = served(source)[1]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        texts = set(pool.map(lambda _: scrape(), range(64)))
    assert source.reads == 1 and len(texts) == 1
    clock.now += 1.1
    scrape()
    assert source.reads == 2


def test_when_nothing_can_be_read_the_page_says_so_and_is_there(clock):
    source = Watched([view("a")])
    scrape = served(source)[1]
    scrape()
    source.views, clock.now = None, clock.now + 2
    assert value(samples(scrape()), "memsnap_up") == 0


def test_a_recording_that_cannot_be_read_is_counted():
    broken = {"file": "/jobs/x.bin", "error": {"detail": 'a "quoted"\nreason'}}
    text = served(Watched([view("a"), broken]))[1]()
    assert value(samples(text), "memsnap_recordings", state="unreadable") == 1 and "reason" not in text


def test_copies_of_a_recording_are_told_once():
    found = samples(served(Watched([view("a"), view("a", file="/jobs/copy.bin")]))[1]())
    assert value(found, "memsnap_events_total") == 5


def test_no_value_of_a_recording_breaks_the_page():
    """Numbers of any size, and absent ones, wherever the reader may hand them on."""
    chance = random.Random(11)
    numbers = (None, 0, -1, 2**63, 2**64 - 1, -(2**70), 2**128 - 1)
    for _ in range(200):
        device = dict(copy.deepcopy(DEVICE), device=chance.randrange(32), **{name: chance.choice(numbers) for name in NUMBER_FIELDS})
        device["trend"] = chance.choice([None, dict(DEVICE["trend"], bytes_per_step=chance.choice(numbers[1:]), full_in_steps=chance.choice(numbers))])
        hostile = view("a", rank=chance.choice((None, 2**31 - 1)), job=chance.choice((None, "ffff")), events_count=chance.choice(numbers[3:5]), devices=[device], counters={"lost": 2**64 - 1})
        samples(served(Watched([hostile]), sites_count=3)[1]())


def test_integers_that_came_as_digits_are_numbers_again_and_texts_stay_texts():
    made = _source._numbers({"free_bytes": "18446744073709551615", "ring_id": "0123", "devices": [{"margin_bytes": "-9007199254740993", "sites": [{"label": "12"}]}]})
    assert made == {"free_bytes": 2**64 - 1, "ring_id": "0123", "devices": [{"margin_bytes": -9007199254740993, "sites": [{"label": "12"}]}]}
