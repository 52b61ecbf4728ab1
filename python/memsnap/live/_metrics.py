# SPDX-License-Identifier: Apache-2.0
"""The metrics of docs/live.md, made of what was read. The rule: label values are numbers, tokens and words of closed lists, so that nothing of a
recording can break the exposition, tell a name or make series without bound; every series is unique."""

from __future__ import annotations

import threading
import time

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.registry import Collector

from .. import __version__
from . import _lanes, _source

_READ_EVERY_SECONDS = 1.0
_ENDED_SECONDS = 300.0  # that a job which ended while it was watched is still told of
_STATES = (*_lanes.RUNNING, "ended", "killed", "unreadable")

# (metric, field of a device, help)
_DEVICE_GAUGES = (
    ("memsnap_active_bytes", "active_bytes", "Bytes of live blocks of PyTorch's caching allocator."),
    ("memsnap_reserved_bytes", "reserved_bytes", "Bytes that PyTorch's caching allocator holds of the device."),
    ("memsnap_outside_bytes", "outside_bytes", "Bytes that other libraries of the process hold by their own calls."),
    ("memsnap_others_bytes", "others_bytes", "Bytes of the device that other processes hold."),
    ("memsnap_device_total_bytes", "total_bytes", "Bytes of the device."),
    ("memsnap_device_free_bytes", "free_bytes", "Free bytes of the device when it was asked last."),
    ("memsnap_available_bytes", "available_bytes", "Bytes that PyTorch may have in all: free when asked last, and reserved then, or its limit."),
    ("memsnap_margin_bytes", "margin_bytes", "Available bytes that are not active."),
    ("memsnap_cap_bytes", "cap_bytes", "Limit that the program set itself."),
    ("memsnap_peak_active_bytes", "peak_active_bytes", "Most active bytes of the recording."),
    ("memsnap_peak_reserved_bytes", "peak_reserved_bytes", "Most reserved bytes of the recording."),
    ("memsnap_peak_outside_bytes", "peak_outside_bytes", "Most bytes of the device beside PyTorch's allocator, other processes included."),
    ("memsnap_live_blocks", "blocks_count", "Live blocks of PyTorch's caching allocator."),
)
_TREND_GAUGES = (
    ("memsnap_trend_bytes_per_step", "bytes_per_step", "Change of active bytes from one comparable step to the next."),
    ("memsnap_trend_steps", "steps_count", "Steps that the change was taken over."),
    ("memsnap_trend_growing", "growing", "1: the trend is called growth, 0: it is not."),
    ("memsnap_full_in_steps", "full_in_steps", "Steps until the growth fills the margin; only where it is growth."),
)


class Collection(Collector):
    """Reads at most once a second, however many ask; those who come meanwhile get what is being read."""

    def __init__(self, source: _source.Source, sites_count: int = 0, with_pid: bool = False):
        self._source = source
        self._sites_count = sites_count
        self._labels = ["job", "rank", "process", *(["pid"] if with_pid else [])]
        self._with_pid = with_pid
        self._lock = threading.Lock()
        self._views = []
        self._up = False
        self._read_seconds = 0.0
        self._read_at = None
        self._ordinals = {}  # ring_id -> (job, rank, ordinal)
        self._ended_at = {}  # ring_id -> when it was first seen so; of what was seen running

    def _read(self) -> None:
        begin = time.monotonic()
        if self._read_at is not None and begin - self._read_at < _READ_EVERY_SECONDS:
            return
        try:
            self._views, self._up = self._still_told(self._source.read()), True
        except (_source.Unusable, OSError, ValueError):
            self._views, self._up = [], False
        self._read_at = time.monotonic()
        self._read_seconds = self._read_at - begin

    def _still_told(self, views: list) -> list:
        """Without what had ended before it was watched, or long ago."""
        told = []
        for view in views:
            ring = view.get("ring_id")
            over = not _lanes.runs(view) and "error" not in view
            if over and (ring not in self._ordinals or time.monotonic() - self._ended_at.setdefault(ring, time.monotonic()) > _ENDED_SECONDS):
                self._source.forget(view["file"])
                self._ordinals.pop(ring, None)
                self._ended_at.pop(ring, None)
                continue
            told.append(view)
        self._number(told)
        return told

    def _number(self, views: list) -> None:
        """Processes of one job and rank are told apart by the order in which they were seen; a number comes free with its process."""
        there = {view["ring_id"] for view in views if "ring_id" in view}
        self._ordinals = {ring: taken for ring, taken in self._ordinals.items() if ring in there}
        for view in views:
            if "ring_id" not in view or view["ring_id"] in self._ordinals:
                continue
            pair = (view["job"] or "", "" if view["rank"] is None else str(view["rank"]))
            taken = {ordinal for *other, ordinal in self._ordinals.values() if tuple(other) == pair}
            self._ordinals[view["ring_id"]] = (*pair, next(number for number in range(len(taken) + 1) if number not in taken))

    def _of(self, view: dict) -> list:
        job, rank, ordinal = self._ordinals[view["ring_id"]]
        return [job, rank, str(ordinal), *([str(view["pid"])] if self._with_pid else [])]

    def collect(self):
        with self._lock:
            self._read()
            views, up, read_seconds = self._views, self._up, self._read_seconds
            labels = {view["ring_id"]: self._of(view) for view in views if "ring_id" in view}
        unique = {view["ring_id"]: view for view in views if "ring_id" in view}  # a copy of a recording is no other one
        yield InfoMetricFamily("memsnap_build", "The memsnap that serves this.", value={"version": __version__})
        yield GaugeMetricFamily("memsnap_up", "1: recordings could be looked for and read, 0: not.", value=float(up))
        yield GaugeMetricFamily("memsnap_read_seconds", "What the last reading took.", value=read_seconds)
        yield self._states(views)
        yield from self._of_processes(unique, labels)
        yield from self._of_devices(unique, labels)
        if self._sites_count:
            yield from self._of_sites(unique, labels)

    def _states(self, views: list):
        words = ["unreadable" if "error" in view else view["state"] for view in views]
        family = GaugeMetricFamily("memsnap_recordings", "Recordings by the state of their process.", labels=["state"])
        for state in _STATES:
            family.add_metric([state], words.count(state))
        return family

    def _of_processes(self, unique: dict, labels: dict):
        info = InfoMetricFamily("memsnap_process", "Versions in the process.", labels=self._labels)
        state = GaugeMetricFamily("memsnap_process_state", "1, with the state of the process as a label.", labels=[*self._labels, "state"])
        events = CounterMetricFamily("memsnap_events", "Events told to the recorder.", labels=self._labels)
        failures = CounterMetricFamily("memsnap_failures", "Allocations that failed, those that the job survived included.", labels=self._labels)
        issues = CounterMetricFamily("memsnap_recorder_issues", "What the recorder could not do, by kind (docs/recording.md).", labels=[*self._labels, "kind"])
        for ring, view in unique.items():
            of = labels[ring]
            info.add_metric(of, {"torch": _version(view["torch_version"]), "recorder": _version(view["recorder_version"])})
            state.add_metric([*of, view["state"]], 1)
            events.add_metric(of, view["events_count"])
            failures.add_metric(of, view["failures_count"])
            for kind, count in view["counters"].items():
                issues.add_metric([*of, kind], count)
        return [info, state, events, failures, issues]

    def _of_devices(self, unique: dict, labels: dict):
        label_names = [*self._labels, "gpu"]
        families = {name: GaugeMetricFamily(name, text, labels=label_names) for name, _, text in (*_DEVICE_GAUGES, *_TREND_GAUGES)}
        age = GaugeMetricFamily("memsnap_device_answer_age_seconds", "Since the device was asked last.", labels=label_names)
        for ring, view in unique.items():
            for device in view["devices"]:
                of = [*labels[ring], str(device["device"])]
                for name, field, _ in _DEVICE_GAUGES:
                    if device[field] is not None:
                        families[name].add_metric(of, device[field])
                for name, field, _ in _TREND_GAUGES:
                    if device["trend"] and device["trend"][field] is not None:
                        families[name].add_metric(of, float(device["trend"][field]))
                if device["device_age_ns"] is not None:
                    age.add_metric(of, device["device_age_ns"] / 1e9)
        return [*families.values(), age]

    def _of_sites(self, unique: dict, labels: dict):
        label_names = [*self._labels, "gpu", "site"]
        bytes_ = GaugeMetricFamily("memsnap_site_bytes", "Live bytes of the sites that have most, by token.", labels=label_names)
        blocks = GaugeMetricFamily("memsnap_site_blocks", "Their live blocks.", labels=label_names)
        for ring, view in unique.items():
            for device in view["devices"]:
                sums = {}
                for site in device["sites"][: self._sites_count]:
                    held = sums.setdefault(site["token"] or "none", [0, 0])
                    held[0] += site["bytes"]
                    held[1] += site["blocks_count"]
                for token, (held_bytes, held_blocks) in sums.items():
                    of = [*labels[ring], str(device["device"]), token]
                    bytes_.add_metric(of, held_bytes)
                    blocks.add_metric(of, held_blocks)
        return [bytes_, blocks]


def _version(number: int) -> str:
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}" if number else ""
