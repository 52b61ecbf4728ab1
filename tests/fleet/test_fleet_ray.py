# SPDX-License-Identifier: Apache-2.0
"""The same work on a Ray cluster of several worker processes, one of them lost in the middle."""

import contextlib
import os
import pathlib
import signal
import time

import pytest
from fleet_run import contents, environment, fleet, same_key, start


@pytest.fixture
def cluster(monkeypatch):
    """A head and two nodes of one core each, small, without dashboard and reports."""
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    from ray import cluster_utils  # ray looks at the environment when it is imported

    small = {"object_store_memory": 100 << 20, "include_dashboard": False}
    made = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1, **small})
    for _ in range(2):
        made.add_node(num_cpus=1, object_store_memory=100 << 20)
    yield made
    made.shutdown()


def _command_line(pid: int) -> str:
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def _below(pid: int) -> list[int]:
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found += [child, *_below(child)]
    return found


def _kill_a_worker_at_work(node) -> bool:
    """A process of the node that runs a task right now."""
    raylet = node.all_processes["raylet"][0].process.pid
    for pid in _below(raylet):
        if _command_line(pid).startswith("ray::") and "IDLE" not in _command_line(pid):
            os.kill(pid, signal.SIGKILL)
            return True
    return False


def test_a_lost_worker_and_a_lost_node_lose_and_double_nothing(cluster, simulated, lake, tmp_path):
    other = same_key(lake, tmp_path / "other")
    process = start("ingest", simulated / "receipts", "--to", other, "--batch", 40, "--engine", "ray", "--address", cluster.address, "--workers", 3)
    nodes, deadline, killed = list(cluster.worker_nodes), time.monotonic() + 300, False
    while process.poll() is None and not (killed and list((other / "_commits").glob("*.json"))) and time.monotonic() < deadline:
        killed = killed or _kill_a_worker_at_work(nodes[0])
        time.sleep(0.01)
    in_the_middle = process.poll() is None
    cluster.remove_node(nodes[1], allow_graceful=False)
    out, err = process.communicate(timeout=400)

    assert (process.returncode, killed, in_the_middle) == (0, True, True), out + err
    assert contents(other) == contents(lake)


def test_both_engines_give_the_same_report_to_the_byte(lake):
    alone, on_ray = (fleet("report", lake, "--json", *options) for options in ([], ["--engine", "ray", "--workers", 2]))
    assert on_ray == alone


def test_a_cluster_that_is_not_there_is_said_in_one_line(lake):
    told = fleet("report", lake, "--engine", "ray", "--address", "127.0.0.1:1", status=5)
    assert "no Ray cluster at 127.0.0.1:1" in told


def test_parts_are_added_up_without_what_another_part_tells_better():
    from memsnap.fleet import _counting

    cases = [
        ("a", "1", 5, 0),
        ("a", "2", 6, 0),
        ("b", "3", None, 9),
        ("b", "4", 1, 0),
        ("c", "5", 2, 1),
        ("c", "6", 2, 2),
        ("d", "8", 1, 1),
        ("d", "7", 1, 1),
        ("e", "9", 1, 1),
    ]
    for order in (cases, cases[::-1]):
        assert _counting.left_out(order) == ["1", "3", "5", "8"]
