# SPDX-License-Identifier: Apache-2.0
"""A job's receipt, recomputed by memsnap-oracle from the recordings: every field counts, and no receipt, folder or file makes it end in anything but a message."""

import hashlib
import json
import os
import pathlib
import subprocess

import pytest

from conftest import ORACLE
from test_ranks import ENCODE, SECOND_NS, START_NS, canonical, encode, job_receipt, oracle, replay
from this_host import as_another

OTHER_HOST = {"host_key": 2}


@pytest.fixture(scope="module")
def job(tmp_path_factory) -> pathlib.Path:
    """Five ranks: one failed, one a victim of another, one survived a failure and was armed again, one of another host, one damaged; and a file without a head."""
    folder = tmp_path_factory.mktemp("judged") / "job"
    held = "neighbour pid=100 bytes=700MiB job\nneighbour pid=102 bytes=9MiB\nprocess_sample own=100MiB others=720MiB count=2\ndevice_sample total=1GiB free=20MiB"
    steps = "\n".join(f"alloc k{i} s+{300 + i}MiB 1MiB\nstep" for i in range(7))
    encode(folder / "a.bin", 0, world=8, failed_ns=2 * SECOND_NS, events=steps)
    encode(folder / "b.bin", 1, world=8, failed_ns=2 * SECOND_NS + 500_000, events=held, end="exit 1")
    encode(folder / "c.bin", 2, world=8, failed_ns=SECOND_NS, superseded=1)
    encode(folder / "deeper/d.bin", 2, world=8, offset_ns=3 * SECOND_NS, end="exit 0")
    encode(folder / "deeper/e.bin", 3, world=8, end="exit 1", **OTHER_HOST)
    encode(folder / "f.bin", 4, world=8, events="alloc b s+0 1MiB")
    (folder / "cut.bin").write_bytes((folder / "a.bin").read_bytes()[:70000])
    return folder


@pytest.fixture(scope="module")
def receipt(job) -> dict:
    return job_receipt(job)


def leaves(value, path: str = ""):
    """(path as the oracle names it, what holds the leaf, its key)."""
    for key, member in value.items() if isinstance(value, dict) else enumerate(value):
        here = f"{path}[{key}]" if isinstance(value, list) else f"{path}.{key}".lstrip(".")
        if isinstance(member, (dict, list)) and member:
            yield from leaves(member, here)
        else:
            yield here, value, key


def other(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return 1 if value is None else "victim" if value != "victim" else "failed"


def sealed(receipt: dict) -> str:
    """With a digest that fits, so that nothing is noticed by it alone."""
    covered = {name: member for name, member in receipt.items() if name not in ("digest", "times")}
    return canonical(receipt | {"digest": {"algorithm": "sha256", "job": hashlib.sha256(canonical(covered).encode()).hexdigest()}})


def judged(text: str, job: pathlib.Path) -> tuple[int, str]:
    path = job.parent / "judged.json"
    path.write_text(text)
    done = oracle("--receipt", path, job)
    return done.returncode, done.stderr.removeprefix("memsnap-oracle: ")


def test_the_job_of_these_tests_has_something_in_every_field(receipt):
    rows = receipt["processes"]
    assert [row["role"] for row in rows] == ["failed", "victim", "ended", "followed", "unreadable"]
    assert receipt["first"]["rivals"] == [2] and rows[1]["held_by"] == [{"bytes": 700 << 20, "process": 1}, {"bytes": 9 << 20, "process": 3}]
    assert rows[0]["steps"]["rise_bytes"] and rows[2]["earlier_count"] == 1 and rows[2]["incident"] == "survived"
    assert receipt["job"]["unread_count"] == 1 and receipt["job"]["missing"] and receipt["skew"]


def test_every_leaf_that_is_changed_is_named_though_the_digest_fits(job, receipt):
    text, unnoticed = canonical(receipt), {}
    for index, (path, _, _) in enumerate(leaves(receipt)):
        edited = json.loads(text)
        _, holder, key = list(leaves(edited))[index]
        holder[key] = other(holder[key])
        code, said = judged(canonical(edited) if path.startswith("digest") else sealed(edited), job)
        if (code, said.split(": ")[0]) != (6, path):
            unnoticed[path] = (code, said)
    assert set(unnoticed) == {"job.clocks_within_ns"} and unnoticed["job.clocks_within_ns"] == (0, ""), "only what is taken as stated may pass"


def test_a_member_too_many_and_one_too_few_are_named(job, receipt):
    def objects(value, path=""):
        if isinstance(value, dict):
            yield path, value
        for key, member in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
            yield from objects(member, f"{path}[{key}]" if isinstance(value, list) else f"{path}.{key}".lstrip("."))

    text = canonical(receipt)
    for index, (path, holder) in enumerate(objects(receipt)):
        for change in ("more", "fewer"):
            edited = json.loads(text)
            members = list(objects(edited))[index][1]
            name = "comment" if change == "more" else next(reversed(members))
            members.pop(name, None) if change == "fewer" else members.update({name: 0})
            code, said = judged(sealed(edited) if path != "digest" else canonical(edited), job)
            # A digest that is not there is put there by the seal.
            if not (path == "" and name == "digest"):
                assert code == 6 and said.startswith((f"{path}.{name}: ".lstrip("."), "job.clocks_within_ns: ")), (path, name, said)


def test_a_row_that_is_left_out_is_noticed(job, receipt):
    assert judged(sealed(receipt | {"processes": receipt["processes"][:-1]}), job) == (6, "processes (length): the recordings say 5, the receipt says 4\n")
    assert judged(sealed(receipt | {"skew": receipt["skew"][1:]}), job)[0] == 6


def test_both_values_of_what_differs_are_said(job, receipt):
    edited = json.loads(canonical(receipt))
    edited["processes"][1]["role"] = "failed_first"
    assert judged(sealed(edited), job) == (6, 'processes[1].role: the recordings say "victim", the receipt says "failed_first"\n')


def test_text_that_is_not_canonical_is_refused_and_one_line_end_is_no_part_of_it(job, receipt):
    text = canonical(receipt)
    assert judged(text + "\n", job) == (0, "")
    for odd in (text + "\n\n", " " + text, json.dumps(receipt), text.replace('"schema"', '"schem\\u0061"')):
        assert judged(odd, job)[0] == 6, odd[:40]


def test_where_a_process_without_an_exit_was_is_taken_as_stated_and_what_follows_from_it_is_not(tmp_path):
    folder = tmp_path / "job"
    encode(folder / "a.bin", 0, failed_ns=2 * SECOND_NS)
    encode(folder / "b.bin", 1)
    receipt = job_receipt(folder)
    row = receipt["processes"][1]
    assert (row["role"], row["order"]) == ("followed", "after")

    for role, order, code in (("running", "none", 0), ("no_end_seen", "after", 0), ("killed", "after", 6), ("running", "after", 6), ("ended", "after", 6), ("disarmed", "none", 6)):
        row |= {"role": role, "order": order}
        assert judged(sealed(receipt), folder)[0] == code, (role, order)


HOSTILE = [
    "", "{", "[]", "null", "1.5", '"memsnap.job.v1"', '{"schema":"memsnap.job.v1"}', '{"schema":"memsnap.job.v1","schema":"memsnap.job.v1"}', "[" * 100000, '{"a":' * 100 + "1" + "}" * 100,
    '{"job":{"clocks_within_ns":-1},"schema":"memsnap.job.v1"}', '{"job":{"clocks_within_ns":"9223372036854775807"},"schema":"memsnap.job.v1"}',
    '{"job":{"clocks_within_ns":1},"processes":[{"role":7},5,null,{"role":"running"}],"schema":"memsnap.job.v1"}', '{"job":{"clocks_within_ns":1},"processes":{"role":"killed"},"schema":"memsnap.job.v1"}',
    '{"schema":"memsnap.receipt.v1"}', '{"evidence":{"failure":{"ticket":7}},"schema":"memsnap.job.v1"}', "\0", "\x7fELF",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_receipt_of_anything_is_a_difference_told_in_one_line(job, text):
    code, said = judged(text, job)
    assert code == 6 and said.count("\n") == 1 and said.isprintable() == (said[-1] != "\n"), said[:200]


def test_a_receipt_that_cannot_be_read_is_an_error_of_input(job, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path, tmp_path / "none.json", tmp_path / "fifo"):
        done = oracle("--receipt", path, job)
        assert done.returncode == 5 and "cannot read" in done.stderr, done


# ---------------------------------------------------------------- what is named


def test_a_job_is_printed_as_the_receipt_has_it_and_ends_with_its_exit_status(job, receipt):
    printed = oracle(job)
    document = json.loads(printed.stdout)
    assert printed.returncode == receipt["exit_status"] == 10 and document.pop("schema") == "memsnap.oracle.job.v1"
    assert canonical(document) == canonical({name: receipt[name] | {} if isinstance(receipt[name], dict) else receipt[name] for name in document})
    assert set(receipt) - set(document) == {"schema", "times", "removed_fields", "digest"}


def test_without_a_receipt_nobody_says_that_a_process_without_an_exit_is_gone(tmp_path):
    encode(tmp_path / "job/a.bin", 0)
    assert [row["role"] for row in json.loads(oracle(tmp_path / "job").stdout)["processes"]] == ["no_end_seen"]


@pytest.mark.parametrize("apart_ns, header, told", [
    (1_000_000, {}, False), (1_000_001, {}, True), (128_000_000, OTHER_HOST, False), (128_000_001, OTHER_HOST, True), (128_000_000, {"host_key": 0}, False), (128_000_001, {"host_key": 0}, True),
])
def test_failures_are_in_order_when_they_are_further_apart_than_the_clocks_by_a_nanosecond(tmp_path, apart_ns, header, told):
    folder = tmp_path / "job"
    encode(folder / "a.bin", 0, failed_ns=2 * SECOND_NS)
    encode(folder / "b.bin", 1, failed_ns=2 * SECOND_NS + apart_ns, **header)
    assert job_receipt(folder)["first"]["told"] is told


@pytest.mark.parametrize("after_ns, order", [(-2_001_000_001, "before"), (-2_001_000_000, "untold"), (1_000_000, "untold"), (1_000_001, "after")])
def test_a_death_in_silence_lies_between_the_last_sign_of_life_and_two_seconds_later(tmp_path, after_ns, order):
    folder = tmp_path / "job"
    encode(folder / "a.bin", 0, failed_ns=4 * SECOND_NS, last_ns=9 * SECOND_NS)
    failed_ns = job_receipt(folder)["times"]["instant_unix_ns"]
    encode(folder / "b.bin", 1, last_ns=int(failed_ns) - START_NS + after_ns)
    row = job_receipt(folder)["processes"][1]
    assert (row["role"], row["order"]) == ("followed" if order == "after" else "killed", order)


def test_the_clocks_are_within_what_the_command_line_says(tmp_path):
    folder = tmp_path / "job"
    encode(folder / "a.bin", 0, failed_ns=2 * SECOND_NS + 100_000_000, host_key=2)
    encode(folder / "b.bin", 1, failed_ns=2 * SECOND_NS)
    told = [json.loads(oracle(*within, folder).stdout)["first"]["told"] for within in ([], ["--clocks-within", "50"])]
    assert told == [False, True]


def test_of_several_jobs_in_a_folder_one_is_judged_by_number_or_key(tmp_path):
    folder = tmp_path / "runs"
    encode(folder / "old/a.bin", 0, job_key=5, failed_ns=2 * SECOND_NS)
    encode(folder / "new/a.bin", 0, job_key=6, end="exit 0")
    os.utime(folder / "old/a.bin", (1, 1))
    replay(folder, "--job", "2", "--json", tmp_path / "old.json", code=10)

    assert [oracle("--job", wish, "--receipt", tmp_path / "old.json", folder).returncode for wish in ("2", "0x5", "1", "0x6")] == [0, 0, 6, 6]
    assert oracle("--receipt", tmp_path / "old.json", folder).returncode == 6
    for wish in ("3", "0", "none", "\x1b[2J"):
        refused = oracle("--job", wish, folder)
        assert refused.returncode == 2 and "has no job" in refused.stderr and "\x1b" not in refused.stderr


def test_recordings_that_are_named_are_one_job_and_one_is_a_job_when_its_receipt_says_so(tmp_path):
    a, b = tmp_path / "a.bin", tmp_path / "b.bin"
    encode(a, 0, job_key=5, failed_ns=2 * SECOND_NS)
    encode(b, 1, job_key=6)
    replay(a, b, "--json", tmp_path / "both.json", code=10)
    assert oracle("--receipt", tmp_path / "both.json", b, a).returncode == 0
    assert oracle("--receipt", tmp_path / "both.json", a).returncode == 6
    (tmp_path / "alone").mkdir()
    a.rename(tmp_path / "alone/a.bin")
    replay(tmp_path / "alone", "--json", tmp_path / "one.json", code=10)
    assert oracle("--receipt", tmp_path / "one.json", tmp_path / "alone/a.bin").returncode == 0


def test_the_receipt_of_one_recording_does_not_pass_for_that_of_a_job(tmp_path):
    encode(tmp_path / "job/a.bin", 0, failed_ns=2 * SECOND_NS)
    replay(tmp_path / "job/a.bin", "--json", tmp_path / "one.json", code=10)
    assert oracle("--receipt", tmp_path / "one.json", tmp_path / "job").returncode == 6


@pytest.mark.parametrize("arguments, said", [
    (["--at", "3"], "are of one recording"), (["--device", "0"], "are of one recording"), (["--ids"], "are of one recording"),
    (["--clocks-within", "5", "--receipt", "x.json"], "excludes"), (["--clocks-within", "3600001"], "not in range"), (["--job", ""], "is empty"),
])
def test_what_does_not_go_with_a_job_is_refused(job, arguments, said):
    refused = oracle(*arguments, job)
    assert refused.returncode == 2 and said in refused.stderr


def test_what_is_of_a_job_is_refused_for_one_recording(job):
    for arguments in (["--job", "1"], ["--clocks-within", "5"]):
        refused = oracle(*arguments, job / "a.bin")
        assert refused.returncode == 2 and "are of a folder or several recordings" in refused.stderr


# ---------------------------------------------------------------- what is found


def agree(folder: pathlib.Path, *sources) -> dict:
    """Both programs' word on the same sources, as a receipt that they agree about."""
    path = folder.parent / "agreed.json"
    written = replay(*(sources or [folder]), "--json", path, "--force")
    assert path.exists(), written.stderr
    done = oracle("--receipt", path, *(sources or [folder]))
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(path.read_text())


def test_folders_eight_levels_down_count_and_no_deeper_ones_nor_links_to_folders(tmp_path):
    folder, deep = tmp_path / "job", tmp_path / "job"
    for level in range(1, 10):
        deep = deep / f"level-{level}"
        encode(deep / "r.bin", level, world=12)
    encode(tmp_path / "elsewhere/x.bin", 11, world=12)
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    (folder / "loop").symlink_to(folder)
    assert [row["rank"] for row in agree(folder)["processes"]] == list(range(1, 9))


def test_only_files_of_recordings_are_looked_at(tmp_path):
    folder = tmp_path / "job"
    encode(folder / "a.bin", 0)
    encode(folder / "b.ring", 1)
    encode(folder / ".bin", 2)
    (folder / "linked.bin").symlink_to(folder / "b.ring")
    (folder / "dangling.bin").symlink_to("nowhere")
    os.mkfifo(folder / "fifo.bin")
    (folder / "short.bin").write_bytes((folder / "a.bin").read_bytes()[:15])
    (folder / "weights.bin").write_bytes(b"no recording at all")
    found = agree(folder)
    assert [row["rank"] for row in found["processes"]] == [0, 1] and found["job"]["unread_count"] == 0


def test_files_that_begin_as_recordings_and_go_wrong_are_counted(tmp_path):
    folder = tmp_path / "job"
    encode(folder / "a.bin", 0)
    whole = (folder / "a.bin").read_bytes()
    for name, damaged in (("cut", whole[:70000]), ("head", whole[:700]), ("newer", whole[:8] + b"\2" + whole[9:]), ("swapped", whole[:12] + b"\1\2\3\4" + whole[16:]), ("areas", whole[:48] + b"\1" + whole[49:])):
        (folder / f"{name}.bin").write_bytes(damaged)
    assert agree(folder)["job"]["unread_count"] == 5


def test_what_may_not_be_read_is_counted_and_where_nothing_is_left_it_is_the_error(tmp_path):
    folder = tmp_path / "job"
    encode(folder / "a.bin", 0, failed_ns=2 * SECOND_NS)
    encode(folder / "closed/b.bin", 1)
    encode(folder / "c.bin", 2)
    (folder / "closed").chmod(0)
    (folder / "c.bin").chmod(0)
    printed = as_another([ORACLE, folder])
    nothing = as_another([ORACLE, folder / "closed"])
    (folder / "closed").chmod(0o700)

    document = json.loads(printed.stdout)
    assert printed.returncode == 10 and document["job"]["unread_count"] == 2 and len(document["processes"]) == 1
    assert nothing.returncode == 5 and "cannot list" in nothing.stderr


@pytest.mark.parametrize("names, code", [(["none.bin"], 2), (["cut.bin"], 4), (["dormant.bin"], 7), (["dormant.bin", "bad.bin"], 4), (["newer.bin"], 3)])
def test_where_nothing_can_be_judged_the_error_is_the_exit_status_of_both(tmp_path, names, code):
    folder = tmp_path / "job"
    folder.mkdir()
    encode(tmp_path / "a.bin", 0)
    whole = (tmp_path / "a.bin").read_bytes()
    makers = {
        "none.bin": lambda path: path.write_bytes(b"no recording at all"),
        "cut.bin": lambda path: path.write_bytes(whole[:70000]),
        "newer.bin": lambda path: path.write_bytes(whole[:8] + b"\2" + whole[9:]),
        "dormant.bin": lambda path: subprocess.run([ENCODE, "-", path], input="memsnap-events 1\nheader dormant arm_state=cold rank=0 job_key=7\n", text=True, check=True),
        "bad.bin": lambda path: encode(path, 1, events="alloc b s+0 1MiB"),
    }
    for name in names:
        makers[name](folder / name)
    assert (replay(folder).returncode, oracle(folder).returncode) == (code, code)


def test_named_files_that_are_no_recordings_are_counted_and_the_others_go_on(tmp_path):
    encode(tmp_path / "a.bin", 0, failed_ns=2 * SECOND_NS)
    (tmp_path / "b.txt").write_text("no recording")
    found = agree(tmp_path / "a.bin", tmp_path / "a.bin", tmp_path / "b.txt", tmp_path / "none.bin")
    assert found["job"]["process_count"] == 1 and found["job"]["unread_count"] == 2


def test_a_recording_that_breaks_a_rule_has_its_head_and_no_times(tmp_path):
    folder = tmp_path / "job"
    encode(folder / "a.bin", 0, failed_ns=2 * SECOND_NS)
    encode(folder / "b.bin", 1, events="alloc b s+0 1MiB", end="exit 3")
    row = agree(folder)["processes"][1]
    assert (row["role"], row["rank"], row["exit_status"]) == ("unreadable", 1, 3)
    assert row["first_seen_ns"] is row["last_seen_ns"] is row["verdict"] is row["receipt"] is None


def test_clocks_at_the_end_of_time_do_not_wrap(tmp_path):
    folder, end = tmp_path / "job", (1 << 64) - 2 * SECOND_NS
    encode(folder / "a.bin", 0, failed_ns=2 * SECOND_NS, end="exit 1")
    text = ["memsnap-events 1", "header ring_records=64 rank=1 world_size=4 job_key=7 job_key_source=launcher clock_source=monotonic_ns",
            f"anchor counter=0 monotonic_ns=0 realtime_ns={end}", "segment s 400MiB time=1000000", "alloc a s+0 1MiB", "time 1900000000", "failing 800MiB total=1GiB free=20MiB"]
    subprocess.run([ENCODE, "-", folder / "b.bin"], input="\n".join(text) + "\n", text=True, check=True)
    rows = agree(folder)["processes"]
    assert [(row["role"], row["order"]) for row in rows] == [("failed_first", "none"), ("failed", "after")]


# The process, host, job and ranks; clock, arming, exit.
HEAD_WORDS = [0, 8, 12, 16, 20, 24, *range(32, 48, 4), *range(240, 292, 4), 308, 312, 316, *range(368, 384, 4), *range(408, 432, 4), *range(712, 724, 4)]


@pytest.mark.parametrize("offset", HEAD_WORDS)
def test_a_head_with_a_word_changed_is_judged_alike(tmp_path, offset):
    folder = tmp_path / "job"
    encode(folder / "a.bin", 0, failed_ns=2 * SECOND_NS)
    encode(folder / "b.bin", 1, failed_ns=2 * SECOND_NS + 5_000_000, end="exit 1")
    whole = (folder / "b.bin").read_bytes()
    for word in (b"\0\0\0\0", b"\3\0\0\0", b"\xff\xff\xff\xff"):
        (folder / "b.bin").write_bytes(whole[:offset] + word + whole[offset + 4:])
        agree(folder)
