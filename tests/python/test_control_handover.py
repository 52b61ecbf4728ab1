# SPDX-License-Identifier: Apache-2.0
"""What `memsnap attach` hands to a job and what comes back: the folder, whoever is at it meanwhile, what runs inside the job and what that
leaves behind."""

import os
import pathlib
import shutil
import stat
import subprocess
import sys
import textwrap
import time

import pytest

from memsnap.attach import _attach, _handover

NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs to act as two users")

FAKE_TORCH = """
import ctypes, sys, types  # as torch does
torch = types.ModuleType("torch")
blocks = [{"address": 4096, "size": 512, "state": "active_allocated"}, {"address": 4608, "size": 1024, "state": "inactive"}]
old = [{"size": 256, "state": "active_awaiting_free"}, {"size": 768, "state": "active_allocated"}]
segments = [{"device": 0, "address": 4096, "total_size": 1536, "blocks": blocks}, {"device": 1, "address": 1 << 40, "total_size": 1024, "is_expandable": True, "blocks": old}]
torch.cuda = types.SimpleNamespace(is_initialized=lambda: STARTED, memory_snapshot=SNAPSHOT, get_allocator_backend=lambda: "native")
sys.modules["torch"] = torch
"""


@pytest.fixture(scope="module")
def stand_in_recorder(tmp_path_factory) -> str:
    library = tmp_path_factory.mktemp("attached") / "libmemsnap.so"
    source = pathlib.Path(__file__).with_name("attached_recorder.c")
    subprocess.run(["cc", "-D_GNU_SOURCE", "-std=c17", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", library, source], check=True)
    return str(library)


@pytest.fixture
def executed(stand_in_recorder, tmp_path):
    """executed(started, answer, library, snapshot, begins): a job with a stand-in for torch that runs the script of a handover as sys.remote_exec would; its report,
    what the recorder was told, and the job's output."""
    handovers = []

    def run(started=True, answer=0, library=stand_in_recorder, snapshot="lambda: segments", begins=True):
        told = tmp_path / "told"
        job = textwrap.dedent(f"""
            STARTED = {started}
            SNAPSHOT = {snapshot}
            {textwrap.indent(FAKE_TORCH, '            ').strip()}
            import os, time
            print(os.getpid(), flush=True)
            with open(input()) as file: script = file.read()
            before = set(sys.modules), set(globals())
            exec(script, {{}})
            time.sleep(1)
            print(sorted(set(sys.modules) - before[0]), sorted(set(globals()) - before[1] - {{"before"}}))
            """)
        environment = os.environ | {"TOLD": str(told), "ANSWER": str(answer), "BEGINS": str(int(begins))}
        with subprocess.Popen([sys.executable, "-X", "dev", "-c", job], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as child:
            pid = int(child.stdout.readline())
            handovers.append(_handover.Handover("", pid, os.geteuid(), library, b"MEMSNAP_OUT=/x/ring.bin\0MEMSNAP_QUIET=1\0"))
            said, _ = child.communicate(handovers[-1].script() + "\n", timeout=60)
        return handovers[-1].report(), told.read_text().splitlines() if told.exists() else [], said

    yield run
    for handover in handovers:
        handover.remove()


def test_the_recorder_is_told_segments_and_live_blocks_between_begin_and_end_and_the_job_is_left_as_it_was(executed):
    report, told, said = executed()

    assert report == {"answer": "0", "told": "2", "entered": "2", "backend": "native"}
    assert told == [
        "attach MEMSNAP_OUT=/x/ring.bin;MEMSNAP_QUIET=1;", "begin",
        "0 cuda:0 4096+1536", "1 cuda:0 4096+512", f"2 cuda:1 {1 << 40}+1024", f"1 cuda:1 {(1 << 40) + 256}+768", "end",
    ]  # fmt: skip
    assert said == "[] []\n"


ASYNC = "lambda: (_ for _ in ()).throw(RuntimeError('cudaMallocAsync does not yet support getting a snapshot'))"


@pytest.mark.parametrize("how, reported, begun, line", [
    ({"snapshot": ASYNC}, {"told": "0", "entered": "2", "initial_error": "RuntimeError: cudaMallocAsync does not yet support getting a snapshot"}, ["begin", "end"], "unknown"),
    ({"snapshot": "lambda: segments + [{}]"}, {"told": "2", "entered": "2", "initial_error": "KeyError: 'device'"}, ["begin", "end"], "unknown, but for 2 blocks: KeyError"),
    ({"begins": False}, {"initial_error": "the recorder takes no list"}, ["begin"], "unknown: the recorder takes no list"),
], ids=["a snapshot that fails", "one that is cut off", "a recorder that takes none"])  # fmt: skip
def test_a_recorder_that_records_is_attached_whatever_became_of_the_list_and_the_list_is_ended(executed, how, reported, begun, line):
    report, told, said = executed(**how)

    assert report == {"answer": "0", "backend": "native"} | reported and said == "[] []\n"
    assert [text for text in told if text in ("begin", "end")] == begun
    _attach._say_refusal(report, 42)
    assert line in _attach._what_was_there(report)


def test_what_is_said_of_blocks_tells_those_told_beside_those_entered():
    assert _attach._what_was_there({"told": "7", "entered": "5"}).startswith("5 of the 7 blocks ")


@pytest.mark.parametrize("how, report, said", [
    ({"started": False}, {"refused": "not_started"}, "nothing is lost"),
    ({"answer": 7 | 28 << 16}, {"answer": str(7 | 28 << 16)}, "No space left on device"),
    ({"answer": 2}, {"answer": "2"}, "memsnap arm 42"),
    ({"answer": 99}, {"answer": "99"}, "answered 99"),
])  # fmt: skip
def test_what_the_recorder_refuses_comes_back_as_a_sentence_and_nothing_else_is_told_to_it(executed, how, report, said):
    found, told, output = executed(**how)

    assert found == report and output == "[] []\n" and "begin" not in told
    with pytest.raises(_attach.Refused, match=said):
        _attach._say_refusal(found, 42)


def test_a_library_that_cannot_be_loaded_is_an_error_in_the_report_and_not_in_the_job(executed, tmp_path):
    report, _, output = executed(library=str(tmp_path / "none.so"))

    assert "none.so" in report["error"] and output == "[] []\n"


def test_a_request_that_was_taken_back_or_is_another_process_does_nothing(tmp_path):
    handover = _handover.Handover("", os.getpid() + 1, os.geteuid(), "/x.so", b"")
    try:
        exec(handover.begin_text())
        time.sleep(0.2)
        assert not handover.begun()
        assert handover.take_back() and not handover.take_back()
    finally:
        handover.remove()
    assert not os.path.exists(handover.inside)


def test_a_folder_is_given_to_the_jobs_user_when_all_is_in_it_and_each_file_is_theirs(monkeypatch):
    """The order is looked at where a folder would be given away; only root can do it."""
    given = []
    monkeypatch.setattr(os, "fchown", lambda file, owner, group: given.append((os.path.basename(os.readlink(f"/proc/self/fd/{file}")), owner)))
    handover = _handover.Handover("", 1, os.geteuid() + 1, "/x.so", b"")
    try:
        folder = os.path.basename(handover.inside)
        assert given[-1] == (folder, os.geteuid() + 1) and sorted(name for name, _ in given[:-1]) == sorted(os.listdir(handover.inside))
        assert pathlib.Path(handover.script()).exists()
    finally:
        handover.remove()


def test_whoever_exchanges_the_folder_for_a_link_gets_no_file_elsewhere_written_read_or_removed(tmp_path, monkeypatch):
    """Exchanged before the second file is written, as the owner of the folder around it could."""
    elsewhere, moved, folder = tmp_path / "elsewhere", tmp_path / "moved", pathlib.Path(f"/tmp/memsnap-attach-{os.getpid()}")
    elsewhere.mkdir()
    (elsewhere / "report").write_text("answer '0'\n")
    (elsewhere / "waiting").touch()
    write = _handover.Handover._write

    def exchange_and_write(handover, name, content):
        if not moved.exists() and os.listdir(folder):
            folder.rename(moved)
            folder.symlink_to(elsewhere)
        write(handover, name, content)

    monkeypatch.setattr(_handover.secrets, "token_hex", lambda size: str(os.getpid()))
    monkeypatch.setattr(_handover.Handover, "_write", exchange_and_write)
    try:
        handover = _handover.Handover("", 1, os.geteuid(), "/x.so", b"")
        assert len(os.listdir(moved)) == 5 and handover.report() is None and handover.take_back()
        handover.remove()
        assert sorted(os.listdir(elsewhere)) == ["report", "waiting"] and os.listdir(moved) == []
    finally:
        folder.unlink(missing_ok=True)


def test_a_place_that_is_a_link_is_passed_over_since_it_would_lead_out_of_the_container(tmp_path):
    victim, root = tmp_path / "victim", tmp_path / "root"
    victim.mkdir()
    (root / "var/tmp").mkdir(parents=True)
    (root / "tmp").symlink_to(victim)

    handover = _handover.Handover(str(root), 1, os.geteuid(), "/x.so", b"")
    assert handover.inside.startswith("/var/tmp/memsnap-attach-") and os.listdir(victim) == []
    facts = os.stat(f"{root}{handover.inside}")
    assert (facts.st_uid, stat.S_IMODE(facts.st_mode)) == (os.geteuid(), 0o700)
    handover.remove()
    assert os.listdir(root / "var/tmp") == []
    shutil.rmtree(root / "var")
    with pytest.raises(_handover.NoPlace):
        _handover.Handover(str(root), 1, os.geteuid(), "/x.so", b"")


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink("/etc/passwd", path)], ids=["folder", "fifo", "link"])
def test_a_report_that_is_no_file_says_nothing_and_is_not_waited_for(make):
    handover = _handover.Handover("", 1, os.geteuid(), "/x.so", b"")
    make(f"{handover.inside}/report")
    assert not handover.report()
    handover.remove()
    shutil.rmtree(handover.inside, ignore_errors=True)


@NEEDS_ROOT
def test_a_report_that_is_another_users_file_under_a_second_name_is_not_read(tmp_path):
    handover = _handover.Handover("", 1, 65534, "/x.so", b"")
    try:
        secret = pathlib.Path(f"{handover.inside}-secret")
        secret.write_text("answer '0'\n")
        os.link(secret, f"{handover.inside}/report")
        assert handover.report() == {}
        os.chown(secret, 65534, -1)
        assert handover.report() == {"answer": "0"}
    finally:
        handover.remove()
        secret.unlink()


@pytest.mark.parametrize("taken_over", [
    lambda folder: os.chmod(folder, 0o755),
    pytest.param(lambda folder: os.chown(folder, 65534, -1), marks=pytest.mark.skipif(os.geteuid() != 0, reason="needs to give a folder away")),
    lambda folder: (os.rename(folder, folder + "-"), os.symlink(folder + "-", folder)),
], ids=["open to others", "another user's", "a link"])  # fmt: skip
def test_a_script_that_somebody_else_put_there_is_not_run(tmp_path, taken_over):
    hit = tmp_path / "hit"
    handover = _handover.Handover("", os.getpid(), os.geteuid(), "/x.so", b"")
    try:
        pathlib.Path(handover.inside, "payload.py").write_text(f"open({str(hit)!r}, 'w').close()")
        taken_over(handover.inside)
        exec(handover.begin_text())
        time.sleep(0.2)
        assert not hit.exists()
    finally:
        handover.remove()
        if os.path.islink(handover.inside):
            os.unlink(handover.inside)
            os.rmdir(handover.inside + "-")


@pytest.mark.parametrize("report", [b"", b"answer 0", b"answer __import__('os').system('x')\n", b"answer " + b"(" * 5000, b"\xff\xfe\n", b"answer 'x" * 10000, b"answer {[]: 1}\n",
                                    b"answer '4294967296'\n", b"answer '" + b"9" * 9000 + b"'\n"])
def test_a_hostile_report_is_only_text(report):
    handover = _handover.Handover("", 1, os.geteuid(), "/x.so", b"")
    try:
        pathlib.Path(handover.inside, "report").write_bytes(report)
        said = handover.report()
        assert all(isinstance(value, str) for value in said.values())
        with pytest.raises(_attach.Refused):
            _attach._say_refusal(said if said.get("answer") != "0" else {}, 42)
    finally:
        handover.remove()
