# SPDX-License-Identifier: Apache-2.0
"""A job that keeps nothing, or only what is live, until it is asked to record, and goes back when it is asked to or its time is over."""

import stat
import time

import pytest

from armed import COLD, DISARM, DONE, HEADER_BYTES, IS_COLD, IS_STANDBY, RECORD, RECORDING, REFUSED, STANDBY
from armed import ask, blocks, put, wait_for_answer, wait_until, whole, word
from recorded import BIRTH, BLOCK_ALLOC, BLOCK_FREE, BLOCK_OOM, read_ring, records_of


# ---- cold


def test_a_cold_job_has_a_header_from_its_drivers_start_and_keeps_nothing(job):
    one = job("cold", driver=False)
    one.tell("allocate", 512)
    before = one.files()
    one.tell("driver")
    one.tell("churn", 4)
    time.sleep(0.2)
    assert before == [] or [path.stat().st_size for path in before] == [HEADER_BYTES]
    found = one.file().stat()
    assert (found.st_size, stat.S_IMODE(found.st_mode)) == (HEADER_BYTES, 0o600)
    assert [path.name for path in one.folder.iterdir()] == [one.file().name]
    assert (word(one.file(), "arm_state"), word(one.file(), "head"), word(one.file(), "failure_count")) == (IS_COLD, 0, 0)


def test_a_cold_job_that_was_never_armed_leaves_nothing_at_its_exit(job):
    one = job("cold")
    one.tell("pairs", 1000)
    assert one.end("exit", 3) == 3
    assert list(one.folder.iterdir()) == []


def test_a_file_that_took_the_place_of_the_waiting_one_stays(job):
    one = job("cold")
    path = one.file()
    path.rename(path.with_suffix(".moved"))
    path.write_text("another's")
    assert one.end() == 0
    assert path.read_text() == "another's"


def test_killed_while_cold_it_leaves_its_header_alone(job):
    one = job("cold")
    one.kill()
    assert read_ring(one.file())["waiting"]


def test_armed_from_cold_it_records_what_comes_and_says_that_it_began_late(job):
    one = job("cold")
    old = one.tell("allocate", 1024)
    assert ask(one.file(), RECORD) == (DONE, 0)
    new = one.tell("allocate", 2048)
    one.tell("release", old)
    assert one.end() == 0
    ring = whole(one.file())
    assert ring["header"]["start_mode"] == 1
    assert blocks(ring) == [(int(new), 2048)]
    assert ring["header"]["unknown_frees"] == 1
    assert ring["header"]["exit_mark"] == len(ring["records"]) + 1
    assert (one.folder / (one.file().name + ".names")).exists()


def test_it_is_armed_while_threads_allocate_and_none_of_them_loses_a_record(job):
    one = job("cold", MEMSNAP_RING_MB=4)
    one.tell("churn", 8)
    assert ask(one.file(), RECORD) == (DONE, 0)
    assert ask(one.file(), DISARM) == (DONE, 0)
    one.tell("calm")
    ring = whole(one.file())
    assert len(ring["records"]) > 1000
    assert ring["gap_count"] == 0
    assert ring["header"]["lost"] == 0
    assert one.end() == 0


def test_disarmed_to_cold_the_file_is_complete_and_armed_again_the_next_one_follows(job):
    one = job("cold")
    first = one.file()
    ask(first, RECORD)
    one.tell("allocate", 512)
    assert ask(first, DISARM) == (DONE, 0)
    one.tell("allocate", 1024)
    assert (word(first, "arm_state"), word(first, "disarmed_at"), word(first, "superseded")) == (IS_COLD, word(first, "head") + 1, 0)
    assert [one_["size"] for one_ in records_of(whole(first), BLOCK_ALLOC)] == [512]

    assert ask(first, RECORD) == (DONE, 0)
    _, second = one.files()
    assert word(first, "superseded") == 1
    assert (word(second, "arm_state"), word(second, "superseded")) == (RECORDING, 0)
    assert word(second, "arm_answer") == word(first, "arm_answer")
    one.tell("allocate", 2048)
    assert one.end() == 0
    assert [one_["size"] for one_ in records_of(whole(second), BLOCK_ALLOC)] == [2048]
    assert read_ring(first)["header"]["exit_mark"] == 0


def test_a_job_that_recorded_from_the_start_goes_cold_when_it_is_disarmed(job):
    one = job("recording")
    one.tell("allocate", 512)
    assert ask(one.file(), STANDBY) == (REFUSED, 95)
    assert ask(one.file(), DISARM) == (DONE, 0)
    one.tell("allocate", 1024)
    assert one.end() == 0
    ring = whole(one.file())
    assert [one_["size"] for one_ in records_of(ring, BLOCK_ALLOC)] == [512]
    assert (ring["header"]["start_mode"], ring["header"]["arm_state"]) == (0, IS_COLD)


# ---- standby


def test_in_standby_what_is_live_is_known_and_no_event_is_stored(job):
    one = job("standby")
    one.tell("churn", 4)
    time.sleep(0.2)
    one.tell("calm")
    ring = whole(one.file())
    assert ring["records"] == []
    assert blocks(ring) == one.live()
    assert word(one.file(), "arm_state") == IS_STANDBY


@pytest.mark.parametrize("pace", ["stroll", "churn"])  # within one lap, and after many
def test_armed_from_standby_every_free_finds_its_birth_and_the_state_is_the_truth(job, pace):
    one = job("standby", MEMSNAP_RING_MB=4)
    one.tell(pace, 8)
    time.sleep(0.1)
    assert ask(one.file(), RECORD) == (DONE, 0)
    time.sleep(0.1)
    one.tell("calm")
    ring = whole(one.file())
    assert ring["records"]
    assert ring["header"]["armed_from"] > 0
    assert ring["header"]["unknown_frees"] == 0
    assert ring["gap_count"] == 0
    assert blocks(ring) == one.live()
    assert one.end() == 0
    assert blocks(whole(one.file())) == blocks(ring)


def test_blocks_of_any_age_have_their_birth_beside_their_free_after_arming(job):
    one = job("standby")
    old = one.tell("allocate", 4096)
    one.tell("pairs", 50)
    young = one.tell("allocate", 1024)
    ask(one.file(), RECORD)
    one.tell("release", old)
    one.tell("release", young)
    ring = whole(one.file())
    assert [one_["size"] for one_ in records_of(ring, BIRTH)] == [4096, 1024]
    assert all(one_["link"] < ring["header"]["armed_from"] for one_ in records_of(ring, BLOCK_FREE))


def test_disarmed_to_standby_the_window_and_the_state_at_its_end_stay(job):
    one = job("standby", MEMSNAP_RING_MB=4)
    one.tell("stroll", 4)
    ask(one.file(), RECORD)
    one.tell("calm")
    truth = one.live()
    assert ask(one.file(), DISARM) == (DONE, 0)
    for _ in range(3):
        one.tell("allocate", 8192)
    one.tell("pairs", 100)
    ring = whole(one.file())
    assert ring["closed"]
    assert ring["header"]["arm_state"] == IS_STANDBY
    assert blocks(ring) == truth
    assert blocks(ring, "table") == one.live()
    assert one.end() == 0
    assert blocks(whole(one.file())) == truth


def test_armed_again_from_standby_the_window_is_the_last_one(job):
    one = job("standby")
    path = one.file()
    for round_ in range(3):
        assert ask(path, RECORD) == (DONE, 0)
        kept = one.tell("allocate", 512 * (round_ + 1))
        assert [one_["size"] for one_ in records_of(whole(path), BLOCK_ALLOC)] == [512 * (round_ + 1)]
        assert ask(path, DISARM) == (DONE, 0)
        assert int(kept) in [address for address, _ in blocks(whole(path))]
        one.tell("pairs", 20000)  # more than the ring holds, were they stored
    assert len(one.files()) == 1
    assert one.end() == 0


@pytest.mark.parametrize("mode", ["cold", "standby"])
def test_armed_and_disarmed_again_and_again_under_load_each_file_is_whole(job, mode):
    one = job(mode, MEMSNAP_RING_MB=4)
    one.tell("stroll", 4)
    for _ in range(4):
        path = one.files()[-1]
        assert ask(path, RECORD) == (DONE, 0)
        time.sleep(0.05)
        path = one.files()[-1]
        assert ask(path, DISARM) == (DONE, 0)
        ring = whole(path)
        assert ring["records"]
        assert ring["header"]["unknown_frees"] == 0 or mode == "cold"
        if mode == "standby":
            assert ring["closed"]
            assert ring["gap_count"] == 0
    one.tell("calm")
    assert one.end() == 0
    for path in one.files():
        whole(path)


def test_a_failure_in_standby_is_kept_with_all_that_lived(job):
    one = job("standby", MEMSNAP_QUIET=1)
    for _ in range(3):
        one.tell("allocate", 1 << 20)
        one.tell("step")
    one.tell("fail", 1 << 40)
    truth = one.live()
    one.tell("pairs", 1000)
    one.kill()
    ring = whole(one.file())
    keyframe = ring["keyframes"][0]
    assert (keyframe["failure"]["kind"], keyframe["failure"]["size"], keyframe["ring"]) == (BLOCK_OOM, 1 << 40, [])
    assert keyframe["entries"] == len(truth)
    assert keyframe["operation"]
    assert len(ring["boundaries"]) == 3
    assert ring["records"] == []


def test_from_standby_it_can_go_cold_and_keeps_the_window_it_had(job):
    one = job("standby")
    ask(one.file(), RECORD)
    one.tell("allocate", 512)
    assert ask(one.file(), COLD) == (DONE, 0)
    one.tell("allocate", 1024)
    ring = whole(one.file())
    assert ring["closed"]
    assert [one_["size"] for one_ in records_of(ring, BLOCK_ALLOC)] == [512]
    assert word(one.file(), "arm_state") == IS_COLD
    assert ask(one.file(), STANDBY) == (REFUSED, 95)
    assert one.end() == 0


# ---- requests


@pytest.mark.parametrize(("mode", "wish", "state"), [("cold", COLD, IS_COLD), ("standby", STANDBY, IS_STANDBY), ("recording", RECORD, RECORDING),
                                                     ("cold", DISARM, IS_COLD), ("standby", DISARM, IS_STANDBY)])
def test_what_is_already_so_is_done_at_once(job, mode, wish, state):
    one = job(mode)
    one.tell("allocate", 512)
    assert ask(one.file(), wish) == (DONE, 0)
    assert word(one.file(), "arm_state") == state


@pytest.mark.parametrize("mode", ["cold", "standby", "recording"])
def test_a_word_that_nobody_knows_is_refused_and_changes_nothing(job, mode):
    one = job(mode)
    one.tell("allocate", 512)
    path = one.file()
    state = word(path, "arm_state")
    for request in (1 << 8, 7 << 8 | 6, 9 << 8 | 0xFF, 2**64 - 1):
        put(path, "arm_until_ns", 2**64 - 1)
        put(path, "arm_request", request)
        assert wait_for_answer(path, request >> 8) == (REFUSED, 22)
    assert word(path, "arm_state") == state
    answer = word(path, "arm_answer")
    put(path, "arm_until_ns", 0)
    put(path, "arm_request", COLD if mode == "recording" else RECORD)  # without a serial: no request
    time.sleep(1.5)  # the side thread has looked
    assert (word(path, "arm_state"), word(path, "arm_answer")) == (state, answer)
    one.tell("pairs", 10)
    assert one.end() == 0


def test_its_time_over_it_disarms_itself(job):
    one = job("cold")
    path = one.file()
    assert ask(path, RECORD, for_s=2) == (DONE, 0)
    wait_until(path, lambda: word(path, "arm_state") == IS_COLD)
    assert (word(path, "arm_until_ns"), word(path, "disarmed_at") > 0) == (0, True)
    assert one.end() == 0
    whole(path)


def test_a_time_box_moved_while_armed_counts_and_one_that_is_over_is_refused(job):
    one = job("standby")
    path = one.file()
    assert ask(path, RECORD, for_s=3600) == (DONE, 0)
    assert ask(path, RECORD, for_s=2) == (DONE, 0)
    wait_until(path, lambda: word(path, "arm_state") == IS_STANDBY)
    put(path, "arm_until_ns", 1)
    put(path, "arm_request", ((word(path, "arm_request") >> 8) + 1) << 8 | RECORD)
    assert wait_for_answer(path, word(path, "arm_request") >> 8) == (REFUSED, 110)
    assert one.end() == 0


def test_a_word_written_without_a_request_is_no_time_box(job):
    one = job("recording")
    one.tell("allocate", 512)
    put(one.file(), "arm_until_ns", 1)
    assert ask(one.file(), STANDBY) == (REFUSED, 95)  # the side thread has looked
    assert word(one.file(), "arm_state") == RECORDING
