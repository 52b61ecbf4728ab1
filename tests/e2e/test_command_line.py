# SPDX-License-Identifier: Apache-2.0
"""memsnap-replay's command line on rings of real jobs."""

import json
import os
import pty
import re
import resource
import subprocess

import pytest

from conftest import ORACLE, REPLAY, TOP


@pytest.fixture(scope="module")
def failed(module_bench):
    """The ring of a job that ran out of memory."""
    job = module_bench.run("fragmentation.py", MEMSNAP_RING_MB="1", MEMSNAP_OUT="failed.bin", SLURM_JOB_ID="1")
    assert job.code == 1
    return module_bench.folder / "failed.bin"


@pytest.fixture(scope="module")
def successful(module_bench, failed):
    """The ring of a job that ended well, made after the failed one."""
    job = module_bench.run("outcomes.py", "success", MEMSNAP_RING_MB="1", MEMSNAP_OUT="successful.bin", SLURM_JOB_ID="2")
    assert job.code == 0
    return module_bench.folder / "successful.bin"


def on_a_terminal(*arguments, **environment: str) -> str:
    """What the program writes to a terminal."""
    primary, secondary = pty.openpty()
    job = subprocess.Popen([REPLAY, *arguments], stdout=secondary, stderr=secondary, env=os.environ | environment)
    os.close(secondary)
    written = b""
    while True:
        try:
            piece = os.read(primary, 65536)
        except OSError:
            break
        if not piece:
            break
        written += piece
    job.wait()
    os.close(primary)
    return written.decode()


def test_help_lists_the_options_and_every_exit_code(bench):
    replay = bench.replay("--help")

    assert replay.code == 0 and replay.stderr == ""
    listed = re.findall(r"^  (\d+) +\S", replay.stdout, re.M)
    assert listed == ["0", "10", "11", "2", "3", "4", "5", "6", "7"]
    for word in ("--json", "--csv", "--force", "--device", "dump", "check"):
        assert word in replay.stdout


@pytest.mark.parametrize("arguments", [["--nonsense"], ["dump", "--nonsense"], ["--json"], ["--device", "many"], ["dump", "one.bin", "two.bin"], ["dump", "--header", "--state"], [""], ["--json", ""], ["--at", "-1"], ["--at", "99999999999999999999"]])
def test_a_usage_error_exits_with_2_and_says_what_is_wrong(bench, arguments):
    replay = bench.replay(*arguments)
    assert replay.code == 2 and replay.stderr != "" and replay.stdout == ""


@pytest.mark.parametrize("arguments, said", [
    (["folder", "dump"], "dump reads one recording, and a job was named"),
    (["one.bin", "two.bin", "dump"], "dump reads one recording, and a job was named"),
    (["one.bin", "dump", "two.bin"], "ring is given both before and after dump"),
    (["one.bin", "ranges", "two.bin"], "ring is given both before and after ranges"),
    (["one.bin", "check", "two.bin"], "ring is given both before and after check"),
    (["--device", "0", "check", "--device", "1", "--csv", "a.csv", "one.bin"], "--device is given both before and after check"),
    (["--job", "2", "check", "one.bin"], "--job is of a folder or several recordings"),
    (["check", "--receipt", "job.json", "--device", "1", "folder"], "are of one recording, and a job was named"),
    (["check", "--receipt", "job.json", "--at", "5", "folder"], "are of one recording, and a job was named"),
    (["check", "--receipt", "job.json", "--card", "80GiB", "folder"], "are of one recording, and a job was named"),
    (["check", "--receipt", "one.json", "--at", "5", "one.bin"], "--device and --at of check are of its --csv"),
])
def test_what_would_be_ignored_is_refused_and_nothing_is_read_in_its_place(bench, arguments, said):
    (bench.folder / "folder").mkdir()
    replay = bench.replay(*arguments)
    assert replay.code == 2 and said in replay.stderr and replay.stdout == "", replay.stderr


def test_a_device_without_a_failure_is_told_from_one_that_was_never_recorded(module_bench, failed):
    never = module_bench.replay(failed, "--device", "5")
    assert never.code == 2 and "nothing was recorded of device 5" in never.stderr


def test_a_failure_whose_records_are_gone_is_not_called_no_failure(module_bench, failed):
    gone = module_bench.folder / "gone.bin"
    ring = failed.read_bytes()
    gone.write_bytes(ring[:65536] + bytes(len(ring) - 65536))
    replay = module_bench.replay(gone)
    gone.unlink()
    assert replay.code == 11 and "NO FAILURE" not in replay.stdout and "FAILURE LOST" in replay.stdout


def test_without_an_argument_an_empty_folder_is_a_usage_error(bench):
    replay = bench.replay()
    assert replay.code == 2 and replay.stderr != ""


def test_without_an_argument_the_newest_job_is_read_and_named(module_bench, failed, successful):
    newest = module_bench.replay()
    assert newest.code == 0 and "successful.bin" in newest.stderr

    subcommand = module_bench.replay("dump", "--header")
    assert subcommand.code == 0 and "successful.bin" in subcommand.stderr


def test_of_several_rings_of_one_job_the_one_with_the_failure_is_read(bench):
    for way, name in (("oom_uncaught", "rank-0.bin"), ("success", "rank-1.bin")):
        bench.run("outcomes.py", way, MEMSNAP_RING_MB="1", MEMSNAP_OUT=name, SLURM_JOB_ID="5")

    replay = bench.replay()

    assert replay.code == 10 and re.search(r"reading \S*rank-0.bin", replay.stderr) and "rank-1.bin" in replay.stderr


def test_the_exit_code_tells_an_incident_from_a_good_end(module_bench, failed, successful):
    assert module_bench.replay(failed).code == 10
    assert module_bench.replay(successful).code == 0
    assert module_bench.replay("check", failed).code == 0


def test_the_receipt_goes_to_a_file_or_to_standard_output(module_bench, failed):
    to_file = module_bench.replay(failed, receipt=True)
    to_stdout = module_bench.replay(failed, "--json", "-")

    assert json.loads(to_stdout.stdout) == to_file.receipt and "OUT OF MEMORY" in to_file.stdout
    assert to_stdout.code == to_file.code == 10


def test_the_receipt_is_the_same_every_time_and_names_no_path_or_process(module_bench, failed):
    first, second = (module_bench.replay(failed, "--json", "-").stdout for _ in range(2))
    assert first == second
    header = dict(line.split(maxsplit=1) for line in module_bench.replay("dump", "--header", failed).stdout.splitlines())
    # A process number is small enough to be some ticket too.
    assert header["process_start_ticks"] not in re.findall(r"\b\d+\b", first) and header["ring_id"] not in first
    assert str(module_bench.folder) not in first and "failed.bin" not in first and not re.search(rf"\b{re.escape(os.uname().nodename)}\b", first)


def test_only_one_result_goes_to_standard_output(module_bench, failed):
    replay = module_bench.replay(failed, "--json", "-", "--csv", "-")
    assert replay.code == 2 and replay.stdout == "" and "standard output" in replay.stderr


def test_a_receipt_where_a_recording_is_expected_is_called_a_receipt(module_bench, failed):
    module_bench.replay(failed, receipt=True)
    receipt = module_bench.folder / "receipt.json"
    again = receipt.rename(module_bench.folder / "handed-on.json")
    replay = module_bench.replay(again, "--json", "-")
    assert replay.code == 3 and replay.stdout == "" and "is a receipt already" in replay.stderr


def test_colour_only_on_a_terminal_and_not_with_no_color(module_bench, failed):
    assert "\x1b[" not in module_bench.replay(failed).stdout
    assert "\x1b[" in on_a_terminal(failed, TERM="xterm")
    assert "\x1b[" not in on_a_terminal(failed, TERM="xterm", NO_COLOR="1")
    assert "\x1b[" not in on_a_terminal(failed, TERM="dumb")


def test_the_report_is_one_screen_wide_and_high(module_bench, failed):
    lines = module_bench.replay(failed).stdout.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 120


def test_a_reader_that_stops_reading_is_no_trouble(module_bench, failed):
    done = subprocess.run(["bash", "-c", f'set -o pipefail; "{REPLAY}" dump "{failed}" | head -n 1'], capture_output=True, text=True)
    assert len(done.stdout.splitlines()) == 1
    assert done.returncode in (0, 128 + 13, 5), done.stderr
    assert "terminate" not in done.stderr


ABOUT = (["--help"], ["dump", "--help"], ["--commands"], ["--version"])


@pytest.mark.parametrize("broken", [">/dev/full", ">&-"])
def test_standard_output_that_cannot_be_written_is_an_output_error(failed, broken):
    replayed = [[REPLAY, *words] for words in ([failed], ["dump", failed], ["check", failed], [failed, "--json", "-"], [failed, "--csv", "-"], *ABOUT)]
    recomputed = [[ORACLE, *words] for words in ([failed], ["--ids", failed], ["--help"], ["--commands"])]
    for command in (*replayed, *recomputed):
        done = subprocess.run(["bash", "-c", f'exec "$@" {broken}', "-", *command], stderr=subprocess.PIPE, text=True)
        assert done.returncode == 5 and "cannot" in done.stderr, (command, done)


def test_standard_error_that_cannot_be_written_is_no_crash(failed):
    for command in ([REPLAY, "/nowhere"], [REPLAY, failed, "--device", "7"]):
        done = subprocess.run(["bash", "-c", 'exec "$@" 2>/dev/full', "-", *command], stdout=subprocess.PIPE)
        assert done.returncode in (2, 5), (command, done)


RESULTS = ("--json", "--csv", "--collapsed", "--pickle", "--perfetto", "--html")


@pytest.mark.parametrize("option", RESULTS)
def test_a_result_beyond_the_limit_of_file_sizes_is_an_output_error_and_leaves_nothing(failed, tmp_path, option):
    limited = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))}
    done = subprocess.run([REPLAY, failed, option, tmp_path / "result"], capture_output=True, text=True, **limited)
    assert done.returncode == 5 and "File too large" in done.stderr, done
    assert list(tmp_path.iterdir()) == []


def test_dump_has_one_line_for_each_record_and_can_be_limited_to_a_device(module_bench, failed):
    lines = module_bench.replay("dump", failed).stdout.splitlines()
    assert [int(line.split()[0]) for line in lines] == list(range(len(lines)))
    assert module_bench.replay("dump", "--device", "1", failed).stdout == ""
    assert sum(" block_oom " in line for line in lines) == 1


def test_ranges_writes_names_of_phases_into_a_file_only_when_they_were_asked_for(bench):
    bench.run("phased.py", MEMSNAP_RING_MB="1", MEMSNAP_OUT="ring.bin", PYTHONPATH=str(TOP / "python"))
    ring = bench.folder / "ring.bin"

    assert "forward" in bench.replay("ranges", ring).stdout and "forward" not in bench.replay("ranges", "--no-names", ring).stdout
    tokens, names = (json.loads(bench.replay("ranges", *more, "--json", "-", ring).stdout) for more in ((), ("--with-names",)))
    assert {row["name"] for row in tokens["ranges"]} == {None} and {"forward", "backward"} <= {row["name"] for row in names["ranges"]}
    assert [row["token"] for row in tokens["ranges"]] == [row["token"] for row in names["ranges"]]
    assert all(site["label"] is None for one in tokens["last"]["sites"] for site in one["at_peak"])
