# SPDX-License-Identifier: Apache-2.0
"""What the torch tap tells through the C functions, as records of the ring."""

import struct
import sys

import pytest

from recorded import kinds

ALLOC, FREE_REQUESTED, FREE_COMPLETED, SEGMENT_ALLOC, SEGMENT_FREE, SEGMENT_MAP, SEGMENT_UNMAP, OOM = range(64, 72)
FROM_TORCH = 4
POOL_UNKNOWN, UNTOLD, ATTACHED, REFUSED = 65535, 0, 1, 3
TAP_STATE_OFFSET = 364

TELL = """
import ctypes, os, sys
recorder = ctypes.CDLL(None)
u32, u64 = ctypes.c_uint32, ctypes.c_uint64
recorder.memsnap1_tap.argtypes = [u32, ctypes.c_int32, u64, u64, u64, u64, u32, u32]
recorder.memsnap1_tap_state.argtypes = [u32]
tap, state = recorder.memsnap1_tap, recorder.memsnap1_tap_state
"""


@pytest.fixture
def tell(record):
    """Runs Python lines that call tap(kind, device, address, bytes, link, stream, pool, code) and state(state)."""
    return lambda lines, **environment: record(command=[sys.executable, "-c", TELL + lines], **environment)


def told(ring) -> list:
    words = ("kind", "device", "address", "size", "link", "extra", "extra16", "code")
    return [tuple(one[word] for word in words) for one in ring["records"]]


def tap_state(run) -> int:
    (file,) = run.folder.glob("*.bin")
    return struct.unpack_from("<I", file.read_bytes(), TAP_STATE_OFFSET)[0]


def test_each_word_of_the_allocators_trace_is_one_record_as_it_was_said(tell):
    said = [(kind, 3, 0x7F0000000000 + kind, 1000 + kind, 77 if kind == OOM else 0, 0x5500 + kind, kind, 1 if kind == SEGMENT_MAP else 0) for kind in range(ALLOC, OOM + 1)]
    ring = tell(f"for word in {said}: tap(*word)").ring()

    assert told(ring) == said
    assert {one["flags"] for one in ring["records"]} == {FROM_TORCH}
    assert ring["live"] == []


@pytest.mark.parametrize("kind", [ALLOC, SEGMENT_ALLOC, SEGMENT_MAP, OOM])
def test_memory_that_is_taken_and_a_failure_may_be_a_processs_first_event(tell, kind):
    assert kinds(tell(f"tap({kind}, 0, 4096, 512, 0, 0, 0, 0)").ring()) == [kind]


@pytest.mark.parametrize("kind", [FREE_REQUESTED, FREE_COMPLETED, SEGMENT_FREE, SEGMENT_UNMAP])
def test_memory_that_is_given_up_makes_no_recording(tell, kind):
    assert tell(f"tap({kind}, 0, 4096, 512, 0, 0, 0, 0)").rings() == []


def test_a_child_that_gives_up_what_it_inherited_has_no_recording_and_one_that_takes_memory_has_its_own(tell):
    children = f"""
tap({ALLOC}, 0, 4096, 512, 0, 0, 0, 0); state({ATTACHED})
for kind in ({FREE_REQUESTED}, {ALLOC}):
    child = os.fork()
    if child == 0:
        tap(kind, 0, 4096, 512, 0, 0, 0, 0)
        os._exit(0)
    os.waitpid(child, 0)
"""
    run = tell(children)

    assert [kinds(ring) for ring in run.rings()] == [[ALLOC], [ALLOC]]
    assert sorted(struct.unpack_from("<I", file.read_bytes(), TAP_STATE_OFFSET)[0] for file in run.folder.glob("*.bin")) == [UNTOLD, ATTACHED]


def test_other_kinds_are_not_written_and_a_device_or_pool_that_does_not_fit_is_not_known(tell):
    ring = tell(f"""
for kind in (0, 1, 63, 72, 320, 2**32 - 1): tap(kind, 0, 4096, 512, 0, 0, 0, 0)
tap({ALLOC}, 0, 4096, 512, 0, 0, 0, 65536)
tap({ALLOC}, 32, 4096, 512, 0, 0, 65536, 0)
tap({ALLOC}, -7, 4096, 512, 0, 0, 65534, 0)
""").ring()

    assert told(ring) == [(ALLOC, -1, 4096, 512, 0, 0, POOL_UNKNOWN, 0), (ALLOC, -1, 4096, 512, 0, 0, 65534, 0)]


@pytest.mark.parametrize("lines, state", [
    ("", UNTOLD), (f"state({ATTACHED}); ", ATTACHED), (f"state({ATTACHED}); state({REFUSED}); ", REFUSED), (f"state({ATTACHED}); state(5); ", ATTACHED)])
@pytest.mark.parametrize("before", [True, False], ids=["before-the-recording", "after-its-begin"])
def test_what_became_of_the_tap_is_in_the_header(tell, lines, state, before):
    first_event = f"tap({ALLOC}, 0, 4096, 512, 0, 0, 0, 0); "
    assert tap_state(tell(lines + first_event if before else first_event + lines)) == state


def test_what_only_says_again_what_was_said_takes_no_more_than_a_sixteenth_of_the_ring(tell):
    run = tell("print(*(recorder.memsnap1_tap_may_repeat(count) for count in (0, 1024, 1025, 2**32 - 1)))", MEMSNAP_RING_MB="1")

    assert run.done.stdout.split() == ["1", "1", "0", "0"]
