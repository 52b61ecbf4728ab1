# SPDX-License-Identifier: Apache-2.0
"""What a recorded program's calls become in the ring."""

import pytest

from recorded import (BIRTH, BIRTH_FOLLOWS, BLIND, BLOCK_ALLOC, BLOCK_FREE, BLOCK_OOM, BUILD, CUDA_FREE, CUDA_MALLOC,
                      CU_CTX_CREATE, CU_CTX_DESTROY, CU_CTX_RESET, CU_CTX_RETAIN, CU_MEM_ALLOC, CU_MEM_CREATE, CU_MEM_MAP,
                      CU_MEM_RELEASE, CU_MEM_RETAIN, CU_MEM_UNMAP, FAIL, FREE, FREE_FAIL, FROM_TORCH, KEYFRAME, MEM_INFO,
                      NO_TICKET, OK, OPERATION, TOTALS, TRY, kinds, records_of)

MEBIBYTE = 1 << 20


def test_calls_and_blocks_are_recorded_in_order_and_reach_their_originals(record):
    run = record("simple")
    ring = run.ring()
    assert kinds(ring) == [TRY, OK, BLOCK_ALLOC, BLOCK_ALLOC, BLOCK_FREE, TRY, OK, MEM_INFO, FREE]
    assert run.done.stdout == "done 3 0\n"
    assert run.done.stderr == ""
    assert ring["gap_count"] == 0 and ring["header"]["lost"] == 0 and ring["header"]["unknown_frees"] == 0


def test_a_free_names_the_birth_it_ends(record):
    ring = record("simple").ring()
    born = records_of(ring, BLOCK_ALLOC)[1]
    (freed,) = records_of(ring, BLOCK_FREE)
    assert (freed["link"], freed["size"], freed["address"]) == (born["ticket"], 2048, born["address"])
    (foreign,) = records_of(ring, FREE, CUDA_FREE)
    assert foreign["link"] == records_of(ring, OK, CUDA_MALLOC)[1]["ticket"]
    assert foreign["size"] == 4 * MEBIBYTE


def test_only_what_is_live_stays_in_the_table(record):
    ring = record("simple").ring()
    assert sorted(one["size"] for one in ring["live"]) == [1024, 20 * MEBIBYTE]


def test_the_callers_library_and_role_are_told(record):
    ring = record("simple").ring()
    segment, foreign = records_of(ring, OK, CUDA_MALLOC)
    assert segment["flags"] & FROM_TORCH and not foreign["flags"] & FROM_TORCH
    assert ring["roles"][segment["library"]] == 1  # PyTorch's allocator
    assert ring["roles"][foreign["library"]] == 5  # the program


def test_block_totals_are_the_allocators_own_and_observations_carry_the_last_ones(record):
    ring = record("simple", MEMSNAP_KEEP="always").ring()
    allocs = records_of(ring, BLOCK_ALLOC)
    assert [(one["allocated"], one["reserved"]) for one in allocs] == [(1024, 20 * MEBIBYTE), (3072, 20 * MEBIBYTE)]
    assert ring["pinned"][0]["ticket"] == allocs[0]["ticket"]  # first report
    assert ring["pinned"][5]["ticket"] == allocs[1]["ticket"]  # peak of allocated, second copy


def test_every_call_of_the_runtime_family_pairs_birth_and_free(record):
    run = record("family")
    ring = run.ring()
    assert len(records_of(ring, OK)) == 6
    assert [one["size"] for one in records_of(ring, FREE)][:4] == [8192, 4096, 8192, 16384]
    assert ring["gap_count"] == 0


def test_a_refused_free_leaves_its_object_live(record):
    ring = record("family").ring()
    refused = records_of(ring, FREE_FAIL)
    assert [one["link"] for one in refused[:2]] == [NO_TICKET, NO_TICKET]  # an unknown pointer, a double free
    assert [one["code"] for one in refused] == [1, 1, 1]
    last_birth = records_of(ring, OK, CUDA_MALLOC)[-1]
    assert refused[2]["link"] == last_birth["ticket"]
    assert [one["birth"] for one in ring["live"]] == [last_birth["ticket"]]
    assert ring["header"]["unknown_frees"] == 2


def test_an_out_of_memory_failure_is_recorded_with_its_operation_and_a_keyframe(record):
    run = record("oom")
    ring = run.ring()
    order = kinds(ring)
    assert order[order.index(OPERATION):][:3] == [OPERATION, BLOCK_OOM, KEYFRAME]
    (operation,) = records_of(ring, OPERATION)
    fails = records_of(ring, FAIL)
    infos = records_of(ring, MEM_INFO)
    assert (operation["link"], operation["address"], operation["size"]) == (fails[0]["ticket"], 2048 * MEBIBYTE, 2048 * MEBIBYTE)
    assert (operation["extra"], operation["extra16"], operation["code"], operation["op"]) == (infos[1]["ticket"], 2, 2, CUDA_MALLOC)
    assert ring["header"]["failure_count"] == 1
    assert run.done.stdout == "done 3 1\n" or run.done.stdout == "done 2 1\n"


def test_a_keyframe_holds_the_failure_its_operation_the_table_and_the_last_records(record):
    ring = record("oom").ring()
    keyframe = ring["keyframes"][0]
    (failure,) = records_of(ring, BLOCK_OOM)
    assert keyframe["failure"] == failure
    assert [one["kind"] for one in keyframe["operation"]] == [TRY, FAIL, MEM_INFO, TRY, FAIL, MEM_INFO]
    assert keyframe["entries"] == 2 and keyframe["entries_dropped"] == 0
    assert keyframe["ring"] == [one for one in ring["records"] if one["ticket"] < keyframe["end_ticket"]]
    assert ring["keyframes"][1:] == [None, None, None]


def test_a_failed_foreign_request_is_a_failure_of_its_own_without_an_earlier_observation(record):
    ring = record("foreign_oom").ring()
    assert kinds(ring) == [TRY, OK, MEM_INFO, TRY, FAIL, OPERATION, KEYFRAME]
    failed, operation = ring["records"][4:6]
    assert (operation["link"], operation["size"], operation["extra"]) == (failed["ticket"], 4096 * MEBIBYTE, NO_TICKET)
    assert ring["keyframes"][0]["failure"] == failed
    assert ring["header"]["failure_count"] == 1


def test_a_refused_segment_alone_is_no_failure(record):
    ring = record("segment_refused").ring()
    assert records_of(ring, OPERATION) == [] and ring["header"]["failure_count"] == 0


def test_without_pytorchs_cache_a_refused_segment_is_pytorchs_failure(record):
    ring = record("segment_refused", PYTORCH_NO_CUDA_MEMORY_CACHING=1).ring()
    assert len(records_of(ring, OPERATION)) == 1 and ring["header"]["failure_count"] == 1


def test_a_storm_of_failures_costs_two_keyframes_and_then_one_a_second(record):
    ring = record("storm", 50).ring()
    assert ring["header"]["failure_count"] == 50
    assert [one is not None for one in ring["keyframes"]][:2] == [True, True]
    written = len(records_of(ring, KEYFRAME))
    assert written < 50 and ring["header"]["keyframes_skipped"] == 50 - written


def test_an_exception_through_a_hook_reaches_its_handler_and_does_not_silence_the_thread(record):
    run = record("exception")
    assert run.done.stdout.splitlines() == ["left", "done 3 0"]
    assert kinds(run.ring()) == [TRY, TRY, OK, BLOCK_ALLOC, BLOCK_ALLOC, BLOCK_FREE, TRY, OK, MEM_INFO, FREE]


def test_a_call_inside_a_recorded_call_is_the_same_fact(record):
    assert kinds(record("nested").ring()) == [TRY, OK, FREE]


def test_cpu_reports_are_forwarded_and_not_recorded(record):
    run = record("cpu")
    assert run.done.stdout == "done 1 0\n"
    assert run.rings() == []


def test_many_laps_keep_what_is_live_and_every_free_leads_to_its_birth(record):
    ring = record("churn", 400000).ring()
    assert ring["header"]["head"] > 20 * 16384
    assert ring["gap_count"] <= ring["header"]["lapped"]
    assert len(ring["live"]) == 25 + 20 + 21 + 22 + 23
    old = [one for one in records_of(ring, BLOCK_FREE) if one["size"] == MEBIBYTE]
    assert len(old) == 25 and all(one["flags"] & BIRTH_FOLLOWS for one in old)
    beside = records_of(ring, BIRTH)
    assert len(beside) >= 25 and all((one["flags"] & TOTALS, one["extra"], one["extra16"]) == (0, 0, 0) for one in beside)  # no step, no phase


def test_a_full_table_is_declared_and_the_job_goes_on(record):
    run = record("churn", 2000, MEMSNAP_TABLE_ENTRIES=64)
    (ring,) = run.rings()
    assert ring["header"]["table_full"] > 0 and ring["header"]["incomplete_from"] > 0
    assert run.done.returncode == 0
    assert "MEMSNAP_TABLE_ENTRIES" in run.done.stderr


def test_two_runtimes_in_one_process_each_get_their_own_calls(record):
    run = record("two_runtimes", PLUGIN_12=BUILD / "libplugin_12.so", PLUGIN_13=BUILD / "libplugin_13.so")
    assert run.done.stdout.splitlines()[:2] == ["12", "13"]
    assert [one["size"] for one in records_of(run.ring(), OK, CUDA_MALLOC)] == [1 << 20, 2 << 20]


def test_a_function_that_no_library_provides_answers_not_supported(record):
    run = record("missing_original", ORPHAN_PLUGIN=BUILD / "liborphan_plugin.so")
    ring = run.ring()
    assert run.done.stdout.splitlines()[0] == "801"
    assert run.done.returncode == 0
    (blind,) = records_of(ring, BLIND)
    assert blind["code"] == 5 and ring["header"]["originals_missing"] == ring["header"]["blind"] == 1
    assert "no library provides" in run.done.stderr


@pytest.fixture
def driver_run(record):
    return record("driver", FAKE_CUDA=BUILD / "libfake_cuda.so", MEMSNAP_QUIET=1)


def test_the_resolver_answers_as_the_driver_does(driver_run):
    lines = driver_run.done.stdout.splitlines()
    assert "cuNoSuchFunction 500 1" in lines
    assert "cuMemCreate 0 0" in lines
    assert "same resolver 1" in lines
    assert "unhooked is the driver's 1" in lines


def test_virtual_memory_is_followed_through_handles_and_mappings(driver_run):
    ring = driver_run.ring()
    creates = records_of(ring, OK, CU_MEM_CREATE)
    maps = records_of(ring, OK, CU_MEM_MAP)
    assert [one["device"] for one in creates + maps] == [0, 0, 0, 0]
    assert [one["extra"] for one in maps] == [one["address"] for one in creates]
    (retained,) = records_of(ring, OK, CU_MEM_RETAIN)
    assert (retained["address"], retained["size"]) == (creates[0]["address"], 2 * MEBIBYTE)
    # Of three references two are gone: one of the two to the first handle, and none of the second.
    assert sorted(one["size"] for one in ring["live"]) == [2 * MEBIBYTE]
    assert {one["link"] for one in records_of(ring, FREE, CU_MEM_RELEASE)} == {creates[0]["ticket"], retained["ticket"]}


def test_unmapping_a_range_ends_each_of_its_mappings_and_a_refusal_none(driver_run):
    ring = driver_run.ring()
    maps = [one["ticket"] for one in records_of(ring, OK, CU_MEM_MAP)]
    assert [one["link"] for one in records_of(ring, FREE, CU_MEM_UNMAP)] == maps * 2
    assert [one["link"] for one in records_of(ring, FREE_FAIL, CU_MEM_UNMAP)] == maps


def test_a_refused_granule_of_another_library_is_a_failure(driver_run):
    ring = driver_run.ring()
    (operation,) = records_of(ring, OPERATION)
    assert (operation["op"], operation["size"], operation["device"]) == (CU_MEM_CREATE, 4096 * MEBIBYTE, 0)


def test_the_side_thread_notes_the_drivers_version_and_leaves_the_record_as_it_was(record):
    run = record("driver", FAKE_CUDA=BUILD / "libfake_cuda.so", MEMSNAP_QUIET=1, LINGER=1)
    ring = run.ring()
    assert ring["header"]["driver_version"] == 13000
    assert ring["header"]["device_unknown"] == 0


def ends_of(ring, op):
    return [one["link"] for one in records_of(ring, FREE, op)]


def test_a_context_ends_with_what_was_made_in_it_and_a_refusal_leaves_all_live(record):
    run = record("contexts", 3, FAKE_CUDA=BUILD / "libfake_cuda.so")
    ring = run.ring()
    (primary,) = records_of(ring, OK, CU_CTX_RETAIN)
    (own,) = records_of(ring, OK, CU_CTX_CREATE)
    first, *made = [one["ticket"] for one in records_of(ring, OK, CU_MEM_ALLOC)]
    ended = ends_of(ring, CU_CTX_DESTROY)
    assert sorted(ended[:3]) == sorted(ended[4:7]) == made and ended[3] == ended[7] == own["ticket"]
    assert [one["link"] for one in records_of(ring, FREE_FAIL, CU_CTX_DESTROY)] == ended[:4]
    assert ends_of(ring, CU_CTX_RESET) == [first, primary["ticket"]]
    assert ring["live"] == [] and ring["header"]["incomplete_from"] == 0


def test_a_refusal_that_ended_more_than_can_be_entered_again_is_declared(record):
    run = record("contexts", 70, FAKE_CUDA=BUILD / "libfake_cuda.so")
    (ring,) = run.rings()
    assert len(records_of(ring, FREE_FAIL, CU_CTX_DESTROY)) == 64
    assert ring["header"]["incomplete_from"] > 0
    assert run.done.returncode == 0
