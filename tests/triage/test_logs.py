# SPDX-License-Identifier: Apache-2.0
"""Messages inside logs: prefixes, wrapping, colour, markup, escapes, repetitions, several writers. What a message says must not depend on how it was printed."""

import hashlib
import html
import itertools
import json
import random
import textwrap

import pytest

from triage_cases import CASES, own, sentences
from triage_run import command, triage, without_place

NOISE = ["Epoch 3:  42%|####      | 420/1000 [00:31<00:43, 13.4it/s, loss=0.5]", '  File "train.py", line 10, in <module>', "    loss.backward()", "INFO starting worker 7", "free; 3 GiB allowed"]


def amid(text: str, line_end: str = "\n") -> str:
    return line_end.join([*NOISE, text, *NOISE[::-1], ""])


def wrapped(width):
    return lambda text: amid("\n".join("\n".join(line[at : at + width] for at in range(0, len(line), width)) for line in text.split("\n")))


def each_line(prefix):
    return lambda text: "".join(f"{prefix}{line}\n" for line in amid(text).split("\n"))


PRINTED = {
    "amid other lines": amid,
    "without a line end": lambda text: text,
    "wrapped after 80 columns": wrapped(80),
    "wrapped after 37 columns, in numbers and units": wrapped(37),
    "wrapped after 11 columns": wrapped(11),
    "wrapped between words": lambda text: amid("\n".join(textwrap.fill(line, 60) for line in text.split("\n"))),
    "quoted in a mail": lambda text: each_line("> ")("\n".join(textwrap.fill(line, 70) for line in text.split("\n"))),
    "coloured": lambda text: amid("\x1b[31m" + text.replace(" ", "\x1b[0m \x1b[1;31m") + "\x1b[0m"),
    "colour without the escape character": lambda text: amid("[31m" + text + "[0m"),
    "in HTML": lambda text: amid(html.escape(text)),
    "in HTML, twice, with tags": lambda text: amid('<pre><code class="x">' + html.escape(html.escape(text, False), False).replace("\n", "<br/>") + "</code></pre>"),
    "in JSON": lambda text: json.dumps({"level": "error", "message": amid(text)}),
    "in JSON in JSON": lambda text: json.dumps({"log": json.dumps({"message": amid(text)})}),
    "coloured in JSON": lambda text: json.dumps({"log": "\x1b[31m" + amid(text) + "\x1b[0m"}),
    "with Windows' line ends": lambda text: amid(text.replace("\n", "\r\n"), "\r\n"),
    "as UTF-16": lambda text: amid(text).encode("utf-16"),
    "behind a progress bar": lambda text: "".join(f"\r{step:3}%|{'#' * (step // 10)}" for step in range(100)) + "\r" + text + "\n",
    "amid bytes that are no text": lambda text: b"\xff\xfe\x00\x9f\x92\n"[1:] + bytes(range(128, 256)) + b"\n" + amid(text).encode() + b"\xc3\x28\n",
    "with no-break spaces": lambda text: amid(text.replace(" ", "\u00a0")),
    "in a box": lambda text: "".join(f"│ {line:<100} │\n" for line in amid(text).split("\n")),
    "[rank3]:": each_line("[rank3]: "),
    "[1,2]<stderr>:": each_line("[1,2]<stderr>:"),
    "(RayWorker pid=123)": each_line("\x1b[36m(RayWorkerWrapper pid=123, ip=10.0.0.7)\x1b[0m "),
    "[default0]:": each_line("[default0]:"),
    "3:": each_line("3: "),
    "times": each_line("2026-01-02 03:04:05,678 - ERROR - "),
    "times in brackets, level and rank": each_line("[2026-01-02 03:04:05,678] [ERROR] [rank 3] "),
    "a container's": each_line("2026-01-02T03:04:05.678901234Z stderr F "),
}


@pytest.mark.parametrize("printed", PRINTED)
def test_how_a_message_is_printed_does_not_change_what_it_says(printed, tmp_path):
    changed = []
    for case in CASES:
        if "NCCL WARN" in case.text and ("JSON" in printed or "box" in printed): continue  # its own line's words tell it
        plain = without_place(triage(tmp_path, case.text + "\n").only)
        found = triage(tmp_path, PRINTED[printed](case.text))
        if [without_place(one) for one in found.json["incidents"]] != [plain] or found.json["unrecognised"]:
            changed.append(f"{case.name}\n{found.screen}")
    assert changed == [], "\n\n".join(changed)


FIRST, SECOND, THIRD = (sentences("4.00 GiB", "80.00 GiB", "1.00 GiB", f"{gigabytes}.00 GiB", "1.00 GiB", own("79.00 GiB"), device=str(gigabytes % 7)) for gigabytes in (70, 71, 77))


@pytest.mark.parametrize("prefix, rank", [("[rank3]: ", 3), ("[1,12]<stderr>: ", 12), ("3: ", 3), ("[rank: 3] ", 3), ("rank=7 ", 7), ("2026-01-02 03:04:05 [INFO] [Rank 5] ", 5), ("", None)])
def test_the_rank_is_that_of_the_lines_prefix(prefix, rank, tmp_path):
    one = triage(tmp_path, f"{prefix}hello\n{prefix}{FIRST}\n").only
    assert (one["rank"], one["line"]) == (rank, 2)


def test_place_is_the_line_and_the_byte_where_the_message_begins(tmp_path):
    log = f"hello\r\nwörld\n[rank3]: {FIRST}\n"
    one = triage(tmp_path, log).only
    assert one["line"] == 3
    assert log.encode()[one["offset_bytes"] :].startswith(b"out of memory")


def test_interleaved_lines_of_several_ranks_are_told_apart(tmp_path):
    messages = {rank: case.text for rank, case in enumerate(case for case in CASES if case.format == "F7")}
    lines = itertools.zip_longest(*([f"[rank{rank}]: {line}\n" for line in text.split("\n")] for rank, text in messages.items()))
    found = triage(tmp_path, "".join(line for group in lines for line in group if line))
    assert [one["rank"] for one in found.json["incidents"]] == list(messages)
    for rank, one in enumerate(found.json["incidents"]):
        assert without_place(one) == without_place(triage(tmp_path, messages[rank]).only)


def test_errors_are_grouped_by_process_and_the_first_comes_first(tmp_path):
    log = f"[rank1]: {FIRST}\n[rank0]: {SECOND}\n[rank1]: {THIRD}\n"
    found = triage(tmp_path, log)
    assert [(one["order"], one["rank"], one["process"], one["grew"]) for one in found.json["incidents"]] == [(1, 1, 1, False), (2, 0, 2, False), (3, 1, 1, True)]
    assert found.json["process_count"] == 2
    places = [found.screen.index(text) for text in ("1. rank 1", "followed in this process by", "3. rank 1", "2. rank 0")]
    assert places == sorted(places), found.screen
    assert "growth, and no evidence of retention" in found.screen
    assert found.json["incidents"][2]["verdict"]["primary"] != "retention"


def test_a_message_that_chained_tracebacks_and_launchers_repeat_is_one(tmp_path):
    log = f"[rank2]: {FIRST}\n[rank2]: During handling of the above exception, another exception occurred:\n[rank2]: {FIRST}\nsummary of the launcher\n{FIRST}\n"
    one = triage(tmp_path, log).only
    assert (one["seen_count"], one["rank"], one["line"]) == (3, 2, 1)


def test_several_messages_on_one_line_are_several(tmp_path):
    found = triage(tmp_path, f"{FIRST} | {SECOND} | {THIRD}\n")
    assert [one["line"] for one in found.json["incidents"]] == [1, 1, 1]


def test_equal_numbers_of_two_ranks_are_two_errors(tmp_path):
    assert len(triage(tmp_path, f"[rank0]: {FIRST}\n[rank1]: {FIRST}\n").json["incidents"]) == 2


def summary(allocated, active, reserved, failures=1, unit="MiB"):
    rows = [("Allocated memory", allocated), ("Active memory", active), ("GPU reserved memory", reserved), ("Non-releasable memory", 3)]
    body = "\n".join(f"|{'-' * 75}|\n| {name:<21} | {value:>6} {unit} | {value:>6} {unit} | {value:>6} {unit} |      0 B   |" for name, value in rows)
    return f"|{'=' * 75}|\n|                  PyTorch CUDA memory summary, device ID 0                 |\n|{'-' * 75}|\n|            CUDA OOMs: {failures}            |        cudaMalloc retries: 2         |\n|{'=' * 75}|\n|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n{body}\n|{'=' * 75}|\n"


def stats(allocated, active, reserved, failures=1):
    return {"active_bytes.all.current": active, "active_bytes.all.peak": 9, "allocated_bytes.all.current": allocated, "num_alloc_retries": 1, "num_ooms": failures, "reserved_bytes.all.current": reserved}


def nested(flat):
    tree = {}
    for key, value in flat.items():
        *path, last = key.split(".")
        node = tree
        for part in path:
            node = node.setdefault(part, {})
        node[last] = value
    return tree


G = 1 << 30
OPEN = sentences("2.00 GiB", "80.00 GiB", "512.00 MiB", "60.00 GiB", "18.00 GiB", own("79.50 GiB"))


@pytest.mark.parametrize("tell", [
    lambda *numbers: json.dumps(stats(*numbers)), lambda *numbers: json.dumps(stats(*numbers), indent=2), lambda *numbers: repr(stats(*numbers)), lambda *numbers: repr(list(stats(*numbers).items())),
    lambda *numbers: json.dumps(nested(stats(*numbers))), lambda *numbers: summary(*(number >> 20 for number in numbers)), lambda *numbers: summary(*(number >> 20 for number in numbers), unit="MB "),
], ids=["json", "indented", "dictionary", "pairs", "nested", "summary", "old summary"])
def test_statistics_of_the_same_instant_tell_fragmentation_from_deferred_frees(tell, tmp_path):
    unmoved = triage(tmp_path, f"{OPEN}\n{tell(60 * G, 60 * G, 78 * G)}\n")
    assert (unmoved.only["class"], unmoved.code, unmoved.only["statistics_line"] is not None) == ("fragmentation", 10, True), unmoved.screen
    assert "deferred_free_not_excluded" not in unmoved.only["verdict"]["qualifiers"] and "active" not in unmoved.only["missing"]
    waiting = triage(tmp_path, f"{OPEN}\n{tell(60 * G, 78 * G - (G >> 2), 78 * G)}\n")
    assert (waiting.only["class"], waiting.code) == ("live_set", 10), waiting.screen


def test_statistics_of_another_instant_are_not_joined(tmp_path):
    found = triage(tmp_path, f"{OPEN}\n{summary(2 << 10, 2 << 10, 78 << 10)}\n")
    assert (found.only["class"], found.only["statistics_line"], found.only["other_statistics_line"]) == ("fragmentation_or_deferred_free", None, 3), found.screen
    assert "of another instant" in found.screen


def test_statistics_of_another_device_or_rank_are_not_joined(tmp_path):
    numbers = summary(60 << 10, 60 << 10, 78 << 10)
    assert triage(tmp_path, f"{OPEN}\n{numbers.replace('device ID 0', 'device ID 1')}").only["class"] == "fragmentation_or_deferred_free"
    labelled = "".join(f"[rank1]: {line}\n" for line in numbers.splitlines())
    assert triage(tmp_path, f"[rank0]: {OPEN}\n{labelled}").json["incidents"][0]["class"] == "fragmentation_or_deferred_free"


@pytest.mark.parametrize("text, expected", [(summary(5, 5, 9), "memory_summary"), (repr(stats(5, 5, 9)), "memory_stats"), (summary(5, 5, 9, failures=0), None)])
def test_failures_that_statistics_count_and_nothing_prints_are_incidents_without_a_cause(text, expected, tmp_path):
    found = triage(tmp_path, text)
    assert [one["format"] for one in found.json["incidents"]] == [expected] * (expected is not None)
    assert found.code == (11 if expected else 0)


REFUSED = "[W102 03:04:05.678 CUDACachingAllocator.cpp:3934] memory allocation failed with OOM on device 0 while trying to allocate {} bytes (free: {}, total: {}).\n"


def test_a_warning_of_the_same_call_makes_its_numbers_exact(tmp_path):
    warning = REFUSED.format(2 * G, G // 2, 80 * G)
    one = triage(tmp_path, warning * 2 + OPEN).only
    assert one["evidence"]["total_bytes"] == [80 * G, 80 * G] and one["evidence"]["device_free_bytes"] == [G // 2, G // 2]
    assert one["evidence"]["segment_request_bytes"] == [2 * G, 2 * G] and one["evidence"]["device_call"] == "failed"


def test_both_warnings_of_one_call_belong_to_its_error_and_an_earlier_call_does_not(tmp_path):
    first, second = REFUSED.format(2 * G, G // 4, 80 * G), REFUSED.format(2 * G, G // 2, 80 * G)
    assert triage(tmp_path, first + second + OPEN).json["refusals"] == []
    assert [one["line"] for one in triage(tmp_path, REFUSED.format(G, G // 4, 80 * G) + first + second + OPEN).json["refusals"]] == [1]


def test_a_warning_that_no_error_follows_is_no_incident_and_is_said(tmp_path):
    found = triage(tmp_path, REFUSED.format(2 * G, G // 2, 80 * G) + "step 8\n")
    assert (found.code, found.json["incidents"], len(found.json["refusals"])) == (0, [], 1)
    assert "1 refused device call that no error followed" in found.screen


def test_a_warning_of_another_call_is_not_joined(tmp_path):
    found = triage(tmp_path, REFUSED.format(3 * G, G // 2, 80 * G) + OPEN)
    assert found.only["evidence"]["total_bytes"] != [80 * G, 80 * G] and len(found.json["refusals"]) == 1


def test_nothing_of_the_log_is_in_the_json_and_the_screen_stays_harmless(tmp_path):
    found = triage(tmp_path, f"/home/someone/secret.py \x1b]0;title\x07 {FIRST}\nRuntimeError: \x1b[2J\x9bfrobnicator of someone is out of memory\n")
    assert not any(word in json.dumps(found.json) for word in ("someone", "secret", "frobnicator", "title"))
    assert "\x1b" not in found.screen and "frobnicator" in found.screen
    assert max(map(len, found.screen.splitlines())) <= 100


def test_the_json_is_the_same_every_time_and_its_digest_is_of_the_rest(tmp_path):
    once, again = (triage(tmp_path, f"{FIRST}\n{OPEN}\n").json for _ in range(2))
    assert once == again
    digest = once.pop("digest")
    assert digest == {"algorithm": "sha256", "triage": hashlib.sha256(json.dumps(once, sort_keys=True, separators=(",", ":")).encode()).hexdigest()}


def test_input_and_output_errors_have_their_exit_codes(tmp_path):
    log, result = tmp_path / "a.log", tmp_path / "r.json"
    log.write_text(FIRST)
    result.write_text("mine")
    assert command(tmp_path / "absent.log").returncode == 5
    assert command(tmp_path).returncode == 5
    assert command(log, "--json", result).returncode == 5 and result.read_text() == "mine"
    assert command(log, "--json", result, "--force").returncode == 10 and json.loads(result.read_text())["schema"] == "memsnap.triage.v1"
    assert command(log, "--json", log, "--force").returncode == 5 and log.read_text() == FIRST
    assert command("--nonsense").returncode == 2 and command(log, log).returncode == 2


def test_a_cut_at_any_byte_never_makes_another_class_of_a_message(tmp_path):
    for case in random.Random(7).sample(CASES, 12):
        for length in range(0, len(case.text), 17):
            found = triage(tmp_path, case.text[:length])
            assert {one["class"] for one in found.json["incidents"]} <= {case.kind, "undecidable", "fragmentation_or_deferred_free", "live_set" if "limit" in case.name else case.kind}, found.screen


def test_the_recorders_own_line_is_no_unknown_error_and_points_at_the_recording(tmp_path):
    notice = "memsnap: out of memory recorded in ring-42.bin; read it with: memsnap-replay ring-42.bin\n"
    found = triage(tmp_path, FIRST + "\n" + notice)
    assert (found.json["recordings"], found.json["unrecognised"], len(found.json["incidents"])) == ([{"line": 2, "rank": None}], [], 1)
    assert triage(tmp_path, notice).code == 11, "an error that only the recorder saw is one"
