# SPDX-License-Identifier: Apache-2.0
"""The recorder in a process that was not preloaded: it comes, takes over what was there, records, and gives everything back. Answers
as in interpose/late_attach.h."""

import collections
import errno
import json
import subprocess

import pytest

from recorded import BLOCK_ALLOC, BLOCK_FREE, BUILD, CU_MEM_CREATE, CU_MEM_RELEASE, CUDA_MALLOC, FREE, LIBRARY, NO_TICKET, OK, Run, clean_environment, records_of

DONE, ALREADY_ATTACHED, PRELOADED, DISABLED, NO_DRIVER, NOT_STARTED, BAD_SETTINGS, NO_FILE, NOT_ATTACHED, SLOTS_KEPT = 0, 1, 2, 3, 4, 5, 6, 7, 9, 10
INJECTED, ATTACHED = 1, 2  # channels
INITIAL = 81
RUNTIME = BUILD / "liblate_runtime.so"
STARTED = (f"open={RUNTIME}", "start-runtime", "load")  # the driver has started, then the library comes


class LateJob:
    def __init__(self, folder):
        self.folder = folder

    def run(self, *commands, timeout_s=120, **environment):
        """Runs a job that does what the commands say; what it printed, line by line."""
        settings = {"MEMSNAP_RING_MB": 1, "MEMSNAP_TABLE_ENTRIES": 4096, "MEMSNAP_STACK": "off", "MEMSNAP_SAMPLE_MS": 0, "MEMSNAP_QUIET": 1}
        done = subprocess.run(
            [BUILD / "late_job", *map(str, commands)], cwd=self.folder, capture_output=True, text=True, timeout=timeout_s,
            env=clean_environment(LATE_LIBRARY=LIBRARY, FAKE_CUDA=BUILD / "libfake_libcuda.so", **(settings | environment)),
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()

    def rings(self):
        return Run(self.folder, None).rings()


@pytest.fixture
def late(tmp_path):
    return LateJob(tmp_path)


def live_blocks(ring):
    """What is live, as a bag: the number of entries counts."""
    return collections.Counter((one["address"], one["size"]) for one in ring["live"])


def truth_of(path):
    told = json.loads(path.read_text())
    allocated = told.pop("allocated")
    return allocated, collections.Counter((int(address), size) for address, size in told.items())


def test_what_was_there_before_and_what_came_since_is_the_truth(late):
    lines = late.run(*STARTED, "take=300", "attach", "tell", "give=40", "take=70", "pause", "truth=truth.json")
    assert lines == ["attach 0 0", "told 300"]
    (ring,) = late.rings()
    assert ring["violations"] == []
    allocated, truth = truth_of(late.folder / "truth.json")
    assert live_blocks(ring) == truth
    told = records_of(ring, INITIAL)
    assert len(told) == 300
    assert (told[-1]["allocated"], [one["allocated"] for one in told[:-1] if one["flags"] & 8]) == (sum(one["size"] for one in told), [])
    assert [one["link"] == NO_TICKET for one in records_of(ring, BLOCK_FREE)] == [False] * 40


@pytest.mark.parametrize("threads", [1, 4])
def test_the_live_table_is_the_truth_each_time_while_threads_allocate(late, threads):
    rounds = 6
    commands = []
    for i in range(rounds):
        commands += [f"attach=MEMSNAP_OUT=round-{i:02}.bin", "tell", "sleep=5", "pause", f"truth=truth-{i:02}.json", "detach", "resume"]
    lines = late.run(*STARTED, "take=500", f"churn={threads}", *commands, "quiet", MEMSNAP_RING_MB=4)
    assert [line for line in lines if line.startswith("told")] != [] and set(lines) - {line for line in lines if line.startswith("told")} == {"attach 0 0", "detach 0 0"}
    rings = late.rings()
    assert len(rings) == rounds
    for i, ring in enumerate(rings):
        assert ring["violations"] == []
        _, truth = truth_of(late.folder / f"truth-{i:02}.json")
        assert live_blocks(ring) == truth, f"round {i}"


def test_more_blocks_than_the_table_has_room_for_are_counted(late):
    assert late.run(*STARTED, "take=200000", "attach=MEMSNAP_TABLE_ENTRIES=131072,MEMSNAP_RING_MB=64", "tell")[0] == "attach 0 0"
    (ring,) = late.rings()
    header = ring["header"]
    assert ring["violations"] == []
    assert (header["table_full"] + ring["table_count"], header["incomplete_from"] > 0) == (200000, True)


def test_a_table_with_room_takes_them_all_also_when_the_ring_has_none(late):
    lines = late.run(*STARTED, "take=200000", "attach=MEMSNAP_TABLE_ENTRIES=524288,MEMSNAP_RING_MB=1", "tell", "truth=truth.json")
    assert lines == ["attach 0 0", "told 200000"]
    (ring,) = late.rings()
    assert (ring["violations"], ring["header"]["incomplete_from"]) == ([], 0)
    assert live_blocks(ring) == truth_of(late.folder / "truth.json")[1]


def test_libraries_of_two_runtimes_bound_at_once_or_by_their_first_call_are_recorded_and_served_by_their_own(late):
    plugins = [BUILD / "libplugin_12_now.so", BUILD / "libplugin_13_lazy.so", BUILD / "libplugin_12.so"]
    opened = [f"open={plugins[0]}", f"open-lazily={plugins[1]}", f"open-lazily={plugins[2]}"]
    lines = late.run(*opened, *STARTED, "attach", *(f"run={plugin}" for plugin in plugins), *(f"run={plugin}" for plugin in plugins))
    assert lines == ["attach 0 0", *["served by 12", "served by 13", "served by 12"] * 2]
    (ring,) = late.rings()
    assert ring["violations"] == []
    callers = [one["library"] for one in records_of(ring, OK, CUDA_MALLOC)]
    assert len(callers) == 6 and len(set(callers)) == 3 and 0 not in callers


def test_a_runtime_that_fetched_the_drivers_functions_long_ago_is_seen(late):
    lines = late.run(*STARTED, "create=2097152", "attach", "create=2097152", "release=2", "detach", "create=2097152")
    assert lines == ["handle 1", "attach 0 0", "handle 2", "released 0", "detach 0 0", "handle 3"]
    (ring,) = late.rings()
    assert [one["address"] for one in records_of(ring, OK, CU_MEM_CREATE)] == [2]
    assert [(one["address"], one["link"] == NO_TICKET) for one in records_of(ring, FREE, CU_MEM_RELEASE)] == [(2, False)]


def test_after_detaching_all_slots_hold_what_they_held(late):
    opened = [f"open={BUILD / 'libplugin_12_now.so'}", f"open-lazily={BUILD / 'libplugin_13_lazy.so'}"]
    used = [f"run={BUILD / 'libplugin_12_now.so'}", "take=10", "tell"]
    lines = late.run(*opened, *STARTED, "remember", "attach", "look", *used, "detach", "compare", "attach", "look", *used, "detach", "compare", "look")
    assert [line for line in lines if line.startswith(("patched", "different"))] == ["patched 1", "different 0 of some"] * 2 + ["patched 0"]


def test_what_is_loaded_later_is_recorded_within_a_second_and_what_is_gone_is_not_touched(late):
    plugin = BUILD / "libplugin_12_now.so"
    lines = late.run(
        *STARTED, "attach", f"open={plugin}", "sleep=2500", f"run={plugin}", f"close={plugin}", f"open={plugin}", "sleep=2500", f"run={plugin}",
        f"close={plugin}", "detach", f"open={plugin}", f"run={plugin}", "look",
    )  # fmt: skip
    assert lines == ["attach 0 0", "served by 12", "served by 12", "detach 0 0", "served by 12", "patched 0"]
    (ring,) = late.rings()
    assert len(records_of(ring, OK, CUDA_MALLOC)) == 2


def test_it_is_refused_until_there_is_something_to_attach_to_and_leaves_no_file(late):
    assert late.run("load", "attach", "open-driver", "attach", "detach") == [f"attach {NO_DRIVER} 0", f"attach {NOT_STARTED} 0", f"detach {NOT_ATTACHED} 0"]
    assert late.rings() == []


def test_what_is_refused_can_be_asked_again_otherwise(late):
    lines = late.run(*STARTED, "remember", "attach=MEMSNAP_OUT", "attach=MEMSNAP_OUT=none/ring.bin", "look", "attach", "attach", "detach", "detach")
    answers = [(BAD_SETTINGS, 0), (NO_FILE, errno.ENOENT), None, (DONE, 0), (ALREADY_ATTACHED, 0)]
    assert lines == [*("patched 0" if one is None else f"attach {one[0]} {one[1]}" for one in answers), "detach 0 0", f"detach {NOT_ATTACHED} 0"]


def test_two_threads_that_attach_at_once_attach_once(late):
    assert late.run(*STARTED, "attach-from-two-threads", "take=5") == [f"attach {DONE} {ALREADY_ATTACHED}"]
    (ring,) = late.rings()
    assert len(records_of(ring, BLOCK_ALLOC)) == 5


@pytest.mark.parametrize("environment", [{"MEMSNAP_DISABLE": "1"}, {"LD_PRELOAD": BUILD / "libsecure_process.so"}])
def test_a_process_that_is_to_be_left_alone_is(late, environment):
    assert late.run(*STARTED, "remember", "attach", "look", **environment) == [f"attach {DISABLED} 0", "patched 0"]
    assert late.rings() == []


def test_a_preloaded_process_needs_no_attaching(late):
    assert late.run(*STARTED, "take=1", "attach", "detach", LD_PRELOAD=LIBRARY) == [f"attach {PRELOADED} 0", f"detach {NOT_ATTACHED} 0"]


def test_a_library_that_is_loaded_and_not_attached_records_nothing(late):
    assert late.run(*STARTED, "take=10", "fork") == ["child 0"]
    assert late.rings() == []


def test_forked_children_have_files_of_their_own_while_it_is_attached_and_none_afterwards(late):
    assert late.run(*STARTED, "attach", "fork", "detach", "fork") == ["attach 0 0", "child 0", "detach 0 0", "child 0"]
    assert sorted(ring["header"]["start_mode"] for ring in late.rings()) == [0, 1]


def header_words(folder, offset):
    return [int.from_bytes(path.read_bytes()[offset : offset + 4], "little") for path in sorted(folder.glob("*.bin"))]


@pytest.mark.parametrize(("commands", "channel"), [([*STARTED, "attach"], ATTACHED), ([f"open={RUNTIME}", "open-driver", "load", "inject", "start-runtime"], INJECTED)])
def test_a_forked_child_says_that_its_recorder_came_in_as_its_parents_did(late, commands, channel):
    assert late.run(*commands, "take=1", "fork")[-1] == "child 0"
    assert header_words(late.folder, 368) == [channel, channel]


def test_injected_it_waits_to_be_armed_before_the_programs_first_call_returns(late):
    late.run("open-driver", "load", "inject", MEMSNAP_ARM="standby")
    assert (header_words(late.folder, 316), header_words(late.folder, 368)) == ([2], [INJECTED])


@pytest.mark.parametrize("start", ["cold", "standby"])
def test_attached_it_records_whatever_the_environment_says_of_waiting(late, start):
    assert late.run(*STARTED, "attach", "take=3", "detach", MEMSNAP_ARM=start) == ["attach 0 0", "detach 0 0"]
    (ring,) = late.rings()
    assert len(records_of(ring, BLOCK_ALLOC)) == 3
    assert header_words(late.folder, 48 + 4 * 24 + 20) == [4]  # keyframe slots: not a file that can go to standby


def test_slots_that_could_not_be_given_back_stay_known_and_go_when_it_is_asked_again(late):
    opened = [f"open={BUILD / 'libplugin_12_now.so'}", *STARTED, "remember", "attach"]
    lines = late.run(*opened, "refuse-writes=1", "detach", "detach", "attach", "refuse-writes=0", "detach", "look", "attach", "detach", "look",
                     LD_PRELOAD=BUILD / "libno_page_writes.so")  # fmt: skip
    kept = f"{SLOTS_KEPT} {errno.EBUSY}"
    assert lines == ["attach 0 0", f"detach {kept}", f"detach {kept}", f"attach {kept}", "detach 0 0", "patched 0", "attach 0 0", "detach 0 0", "patched 0"]


def test_killed_after_any_instruction_while_it_takes_over_what_was_there_the_file_is_whole(tmp_path):
    done = subprocess.run(
        [BUILD / "step_kill", tmp_path, "20000", "13", BUILD / "late_job", *STARTED, "take=9", "attach", "stop", "take=2", "tell", "give=2", "stop"],
        cwd=tmp_path, capture_output=True, text=True, timeout=500,
        env=clean_environment(LATE_LIBRARY=LIBRARY, FAKE_CUDA=BUILD / "libfake_libcuda.so", MEMSNAP_RING_MB=1, MEMSNAP_TABLE_ENTRIES=64, MEMSNAP_STACK="off", MEMSNAP_SAMPLE_MS=0),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_killed_in_the_middle_of_attaching_and_detaching_the_files_are_whole(late):
    commands = [*STARTED, "take=50", "churn=2", *["attach", "tell", "detach"] * 50, "quiet"]
    for after_ms in range(30, 180, 10):
        with pytest.raises(subprocess.TimeoutExpired):
            late.run(*commands, timeout_s=after_ms / 1000)
    rings = late.rings()
    assert rings != [] and [ring["violations"] for ring in rings] == [[]] * len(rings)
