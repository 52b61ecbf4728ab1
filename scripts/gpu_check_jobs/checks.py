# SPDX-License-Identifier: Apache-2.0
"""What is compared with what. The rule: pure functions of what was seen; each gives one line, with the numbers that decided it."""

from __future__ import annotations

import dataclasses
import re

OK, DIFFERS, SKIPPED = "ok", "differs", "skipped"
MIB = 1024 * 1024
NVML_SLACK_BYTES = 2 * MIB  # one granule: nothing of the job changes between the two questions
DEVICE_FREE_PERMILLE = 15  # the runtime and NVML count the driver's own reserve differently; VERDICT.md calls nothing below 1.5 % of the card material
WORST_OVERHEAD_RATIO = 2.0


@dataclasses.dataclass
class Line:
    status: str
    text: str
    numbers: dict = dataclasses.field(default_factory=dict)


def judge(good: bool, text: str, **numbers) -> Line:
    return Line(OK if good else DIFFERS, text, numbers)


def skip(why: str, **numbers) -> Line:
    return Line(SKIPPED, why, numbers)


def same_job(plain: dict, recorded: dict) -> Line:
    """Each: code, stdout, peak_bytes (None: the job did not come to its end)."""
    differing = [name for name in ("code", "stdout", "peak_bytes") if plain[name] != recorded[name]]
    numbers = {f"{name}_{side}": run[name] for side, run in (("plain", plain), ("recorded", recorded)) for name in ("code", "peak_bytes")}
    if not differing:
        return judge(True, f"exit code {plain['code']}, output and peak bytes equal", **numbers)
    return judge(False, f"{', '.join(differing)} not the same with the recorder", **numbers)


def agreement(replay_code: int, oracle_code: int, has_receipt: bool) -> Line:
    """The oracle given the replay's receipt has 0 when it comes to the same."""
    text = f"memsnap-replay exit {replay_code}, memsnap-oracle exit {oracle_code}"
    return judge(has_receipt and oracle_code == 0, text, replay_code=replay_code, oracle_code=oracle_code)


def verdict(expected: str | None, receipt: dict) -> Line:
    """None: no incident. A cause outside needs the bytes of other processes, which not every machine tells."""
    found = receipt["verdict"]
    text = f"primary {found['primary']}, expected {expected}"
    blind_to_others = (receipt["evidence"].get("outside") or {}).get("others_bytes") is None
    if expected == "external" and "external" in found["undecidable"] and blind_to_others:
        return skip("the bytes of other processes are not told here")
    if expected is None:
        return judge(receipt["evidence"]["failure"] is None and found["exit_status"] == 0, text)
    return judge(found["primary"] == expected, text)


def torch_state(truth: dict, state: dict) -> Line:
    """PyTorch's memory_snapshot() and memory_stats() against the replayed state: blocks and segments by address and size, totals by device."""
    expected = {"segments": truth["segments"], "blocks": truth["blocks"], "totals": {d: v[:2] for d, v in truth["totals"].items() if v[2]}}
    differing = [name for name, value in expected.items() if state[name] != value]
    numbers = {f"{name}_count": len(truth[name]) for name in ("segments", "blocks")}
    numbers |= {f"{name}_only_{side}": len(only(one[name], other[name])) for name in ("segments", "blocks")
                for side, one, other in (("torch", expected, state), ("memsnap", state, expected))}
    if differing:
        return judge(False, f"{', '.join(differing)} are not PyTorch's", **numbers)
    return judge(True, f"{len(truth['segments'])} segments, {len(truth['blocks'])} blocks and the totals are PyTorch's", **numbers)


def only(these: list, others: list) -> set:
    return set(map(tuple, these)) - set(map(tuple, others))


def device_free(memory: dict, sample: dict | None) -> Line:
    """The recorder's sample behind the job's last question, NVML by another way, and the runtime's answer, on a card that stands still."""
    told = memory["nvml"]
    if isinstance(told, str):
        return skip(told)
    if not memory["still"]:
        return skip("others were using the card")
    if sample is None:
        return judge(False, "NVML answers, but the recording holds no sample")
    numbers = {"nvml_free_bytes": told["free_bytes"], "sample_free_bytes": sample["free_bytes"], "runtime_free_bytes": memory["free_bytes"],
               "nvml_total_bytes": told["total_bytes"], "sample_total_bytes": sample["total_bytes"], "runtime_total_bytes": memory["total_bytes"]}
    from_nvml = max(abs(told[name] - sample[name]) for name in ("free_bytes", "total_bytes"))
    from_runtime = max(abs(memory[name] - sample[name]) for name in ("free_bytes", "total_bytes"))
    good = from_nvml <= NVML_SLACK_BYTES and from_runtime * 1000 <= memory["total_bytes"] * DEVICE_FREE_PERMILLE
    return judge(good, f"sample within {from_nvml} bytes of NVML and {from_runtime} of cudaMemGetInfo", **numbers)


def reconciliation(predictions: list, must_match: bool) -> Line:
    """[expected, observed] free bytes of the device, one a question of the program. On hardware a difference is a fact to be told: modules
    and local memory are taken without any call."""
    if not predictions:
        return skip("no question to the device could be predicted")
    differences = [abs(expected - observed) for expected, observed in predictions]
    mismatch_count = sum(difference != 0 for difference in differences)
    text = f"{mismatch_count} of {len(predictions)} answers not as predicted, by {max(differences)} bytes at most"
    return judge(not must_match or mismatch_count == 0, text, observation_count=len(predictions), mismatch_count=mismatch_count,
                 largest_difference_bytes=max(differences))


def entry_points(used: tuple, counts: dict) -> Line:
    """`counts`: driver entry points that each listed library was given as the recorder's. A library that is loaded and not used asks for none."""
    if not used:
        return skip("this job need not use such a library", **counts)
    text = ", ".join(f"{name} {counts.get(name, 0)}" for name in used)
    return judge(all(counts.get(name, 0) > 0 for name in used), text, **counts)


def cupti(check_code: int, check_stdout: str, job_stderr: str) -> Line:
    reason = re.search(r"no cross-check, or not a whole one: ([^;]+);", job_stderr)
    if reason is not None:
        return skip(reason[1])
    said = "; ".join(line.strip() for line in check_stdout.splitlines() if "CUPTI" in line)
    counts = re.search(r"CUPTI agrees on (\d+) allocations and (\d+) releases", said)
    if check_code == 0 and counts is None:
        return judge(False, said or "the recording holds nothing of CUPTI")
    numbers = {} if counts is None else {"allocation_count": int(counts[1]), "release_count": int(counts[2])}
    return judge(check_code == 0 and numbers["allocation_count"] > 0, said or f"check exit {check_code}", **numbers)


def exported_entry_points(answers: list) -> Line:
    """Rows of entry_points.py. What the driver refuses or does not export is of another version, not of another place."""
    different = [f"{name} {version} {flags}" for name, version, flags, _, word in answers if word == "different"]
    equal_count = sum(word == "equal" for *_, word in answers)
    numbers = {"equal_count": equal_count, "different_count": len(different), "other_count": len(answers) - equal_count - len(different)}
    text = f"{equal_count} of {len(answers)} pointers of cuGetProcAddress are the exported ones" + (f"; not {', '.join(different)}" if different else "")
    return judge(equal_count > 0 and not different, text, **numbers)


def overhead(best_ns: dict) -> Line:
    """Least ns of CPU time for an alloc and free pair of a cached block: off, history (PyTorch's own recorder), memsnap."""
    added = {name: best_ns[name] - best_ns["off"] for name in ("history", "memsnap")}
    numbers = {f"{name}_ns": round(value) for name, value in best_ns.items()}
    if added["history"] <= 0:
        return skip("PyTorch's own recorder cost nothing that could be measured", **numbers)
    ratio = added["memsnap"] / added["history"]
    text = f"memsnap adds {added['memsnap']:.0f} ns a pair, PyTorch's history {added['history']:.0f}: ratio {ratio:.2f}"
    return judge(ratio <= WORST_OVERHEAD_RATIO, text, ratio=round(ratio, 2), **numbers)
