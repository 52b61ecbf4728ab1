# SPDX-License-Identifier: Apache-2.0
"""Birth sites on real PyTorch: what its own recorder says of the same blocks, block for block, and what it cannot see."""

import bisect
import json
import os
import pathlib
import subprocess
import sys

import pytest

import ring_file
from ring_file import KIND, OP

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(TOP / "tests/recorder"))
from sidecar import path_of, read_sidecar  # noqa: E402

DEEP = {"MEMSNAP_DEPTH": "128"}


def births(ring):
    """Address, size and site of each block_alloc, oldest first."""
    records = ring_file.records(ring)
    chosen = records[records["kind"] == KIND["block_alloc"]]
    return [(int(one["address"]), int(one["size"]), int(one["link"])) for one in chosen]


def our_site(sidecar, token):
    """(file, plain name, line) of the Python frames, as PyTorch puts it."""
    return [[file, name.rpartition(".")[2], line] for file, name, line in sidecar.frames(token)] if token else []


def compare(ring, told):
    """Ours against PyTorch's own for each live block; returns those that are not empty."""
    sidecar, last = read_sidecar(ring), {address: token for address, _, token in births(ring)}
    compared = [(our_site(sidecar, last[address]), site) for address, site in json.loads(told.read_text())]
    assert [ours for ours, _ in compared] == [site for _, site in compared]
    return [site for _, site in compared if site]


@pytest.mark.parametrize(("program", "at_least"), [("everyday", 18), ("training", 35), ("compiled", 6), ("cells", 250)])
def test_python_sites_are_those_that_pytorchs_own_recorder_gives_for_the_same_blocks(bench, program, at_least):
    job = bench.run("sites.py", program, "told.json", **DEEP)
    assert job.code == 0, job.stderr
    sites = compare(job.ring, bench.folder / "told.json")
    assert len(sites) >= at_least
    assert len({json.dumps(site) for site in sites}) >= 5


def test_a_forked_child_tells_its_own_sites_in_its_own_files(bench):
    job = bench.run("sites.py", "forked", "told.json", **DEEP)
    assert job.code == 0, job.stderr
    told = [bench.folder / "told.json", bench.folder / "told.json.child"]
    assert len(job.rings) == 2
    by_start = sorted(job.rings, key=lambda ring: ring.stat().st_mtime_ns)  # the child ends first
    for ring, expected in zip(by_start, reversed(told)):
        assert len(compare(ring, expected)) >= 18


def test_under_pytest_the_sites_are_the_same(bench):
    (bench.folder / "test_job.py").write_text(
        f"import sys\nsys.path.insert(0, {str(TOP / 'tests/e2e/programs')!r})\nimport sites\n\n"
        "def test_it(tmp_path):\n    sites.start_recording()\n    sites.everyday()\n    sites.write_sites('told.json')\n"
    )
    job = bench.run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_job.py", **DEEP, MEMSNAP_KEEP="always")
    assert job.code == 0, job.stdout
    sites = compare(job.ring, bench.folder / "told.json")
    assert len(sites) >= 18
    assert any(file.endswith("_pytest/runner.py") for file, _, _ in sites[0])


@pytest.fixture(scope="module")
def training(module_bench):
    """The rings of one training job in each mode."""
    rings = {}

    def ring(mode):
        if mode not in rings:
            job = module_bench.run("sites.py", "training", f"{mode}.json", MEMSNAP_STACK=mode, MEMSNAP_OUT=f"ring-{mode}.bin")
            assert job.code == 0, job.stderr
            rings[mode] = module_bench.folder / f"ring-{mode}.bin"
        return rings[mode]

    return ring


def sorts(ring):
    """Which sorts of frames the births have: pairs of (Python, native)."""
    sidecar = read_sidecar(ring)
    return [(bool(sidecar.stacks[token].python), bool(sidecar.stacks[token].native)) if token else (False, False) for _, _, token in births(ring)]


def test_by_default_a_birth_has_python_frames_and_one_of_an_autograd_thread_native_ones(training):
    found = sorts(training("auto"))
    assert set(found) == {(True, False), (False, True)}
    assert found.count((False, True)) >= 50
    assert ring_file.counter(training("auto"), "no_stack") == 0


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("python", {(True, False), (False, False)}), ("native", {(False, True)}), ("both", {(True, True), (False, True)}), ("off", {(False, False)})],
)
def test_each_mode_records_what_its_name_says(training, mode, expected):
    found = sorts(training(mode))
    assert set(found) == expected
    records = ring_file.records(training(mode))
    segments = records[(records["op"] == OP["cudaMalloc"]) & (records["kind"] == KIND["ok"]) & (records["link"] == 0)]
    without = found.count((False, False)) + len(segments)
    assert ring_file.counter(training(mode), "no_stack") == (0 if mode == "off" else without)


def dynamic_symbols(path):
    listed = subprocess.run(["nm", "-D", "-C", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    symbols = sorted((int(line.split()[0], 16), line.split(maxsplit=2)[2]) for line in listed.splitlines() if line[:1] != " ")
    return [address for address, _ in symbols], [name for _, name in symbols]


def test_a_birth_of_the_backward_pass_leads_through_autograds_engine(training):
    ring = training("auto")
    sidecar = read_sidecar(ring)
    native = {token for _, _, token in births(ring) if token and sidecar.stacks[token].native}
    symbols = {}
    through_engine = 0
    for token in native:
        objects = sidecar.native(token)
        assert None not in objects
        assert os.path.basename(objects[0].path) == "libc10_cuda.so"
        for address, one in zip(sidecar.stacks[token].native, objects):
            if os.path.basename(one.path) != "libtorch_cpu.so":
                continue
            addresses, names = symbols.get(one.path) or symbols.setdefault(one.path, dynamic_symbols(one.path))
            if "torch::autograd::Engine::" in names[bisect.bisect_right(addresses, address - 1 - one.bias) - 1]:
                through_engine += 1
                break
    assert through_engine >= 0.9 * len(native) > 0


def test_nothing_of_the_job_can_be_read_in_the_ring(training):
    ring = training("auto")
    names = path_of(ring).read_bytes()
    for text in (b"sites.py", b"TransformerEncoder.forward", b"torch/nn/modules", b"libtorch_cpu", b"Doubled.backward", str(TOP).encode()):
        assert text in names
        assert text not in ring.read_bytes()
    assert ring_file.counter(ring, "names_dropped") == 0
