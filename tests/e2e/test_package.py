# SPDX-License-Identifier: Apache-2.0
"""A PyTorch program that tells memsnap about itself: what the recording and the verdict know of it."""

import pytest


def judged(bench, *arguments):
    job = bench.run("package/told.py", *arguments)
    assert job.stdout == "recording True\n", job.stderr
    replay = bench.replay(job.ring, receipt=True)
    assert replay.code == 10, replay.stdout
    return job, replay


@pytest.mark.parametrize("steps", ["told_by_calls", "told_by_scopes"])
def test_steps_are_matched_boundaries_and_a_growing_list_is_retention(bench, steps):
    job, replay = judged(bench, "list_of_results", steps)

    growth = replay.receipt["evidence"]["growth"]
    assert (growth["basis"], growth["family"], growth["boundary_count"]) == ("marked", "step", 16)
    assert growth["growing_pairs_count"] == 5 and growth["retained_bytes"] >= 13 * 16 * 2**20
    assert len(bench.replay("dump", job.ring).stdout.split(" step ")) == 17


def test_a_loop_that_keeps_nothing_has_no_growth(bench):
    _, replay = judged(bench, "nothing", "told_by_calls")

    growth = replay.receipt["evidence"]["growth"]
    assert (growth["basis"], growth["growing_pairs_count"], growth["retained_bytes"]) == ("marked", 0, 0)


def test_bytes_freed_in_passes_of_the_garbage_collector_are_known_and_that_it_is_off(bench):
    _, replay = judged(bench, "cycle", "told_by_calls")

    collections = replay.receipt["evidence"]["collections"]
    assert collections["freed_bytes"] == 16 * 16 * 2**20 and collections["freed_block_count"] == 16
    assert collections["pass_count"] >= 2 and collections["switched_off"] is True


def test_noted_dimensions_are_told_apart_and_their_effect_is_seen(bench):
    _, replay = judged(bench, "dimensions", "told_by_calls")

    evidence = replay.receipt["evidence"]
    assert sorted(noted["value"] for noted in replay.receipt["environment"]["dimensions"]) == [7, 8]
    effects = {effect["dimension"]: effect for effect in evidence["dimension_effects"]}
    rows, columns = (effects[noted["dimension"]] for noted in sorted(replay.receipt["environment"]["dimensions"], key=lambda noted: -noted["value"]))
    assert (rows["least_value"], rows["greatest_value"], rows["value_at_peak"], rows["peak_bytes"]) == (8, 32, 32, 128 * 2**20)
    assert rows["changed_count"] == rows["together_count"] > 0 == columns["changed_count"]


def test_a_phase_labels_what_is_born_in_it(bench):
    _, replay = judged(bench, "phases", "told_by_calls")

    (kept,) = [site for site in replay.receipt["evidence"]["sites"] if site["bytes"] == 32 * 2**20]
    phases = {phase["phase"]: phase["word"] for phase in replay.receipt["dictionary"]["phases"]}
    assert phases[kept["phase"]] is None  # "load #" is no word of the list


def test_the_same_program_without_the_recorder_runs_as_ever(bench):
    job = bench.run("package/told.py", "phases", "told_by_scopes", record=False)

    assert job.code == 1 and job.stdout == "recording False\n" and "OutOfMemoryError" in job.stderr and job.rings == []
