# SPDX-License-Identifier: Apache-2.0
"""`memsnap run`: what the command is started with, and what of the program it leaves as it was. No torch here."""

import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python"
SITE = PACKAGE / "memsnap/site"
SHOW = "import json, os, sys; print(json.dumps([dict(os.environ), sys.path, os.getpid()]))"


@pytest.fixture
def memsnap(stand_in, tmp_path):
    """memsnap(*arguments, **environment): the command line, with the stand-in as the recorder; extra variables of None are unset."""

    def run(*arguments, **extra):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MEMSNAP_")}
        environment |= {"PYTHONPATH": str(PACKAGE), "MEMSNAP_LIBRARY": str(stand_in), "PYTHONDONTWRITEBYTECODE": "1"} | extra
        environment = {name: value for name, value in environment.items() if value is not None}
        command = [sys.executable, "-S", "-m", "memsnap", *map(str, arguments)]  # no sitecustomize in this one
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    return run


def shown(done) -> list:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_command_gets_the_recorder_the_options_and_the_search_path(memsnap, stand_in):
    options = ("--out", "r-%p.bin", "--stack", "both", "--depth", 7, "--ring-mb", 3, "--sample-ms", 0, "--keep", "always", "--tap", "off", "--no-names", "--quiet")
    environment, search, _ = shown(memsnap("run", *options, "--", sys.executable, "-c", SHOW, LD_PRELOAD="/lib/first.so"))

    assert environment["LD_PRELOAD"] == f"{stand_in}:/lib/first.so"
    assert environment["PYTHONPATH"] == f"{SITE}:{PACKAGE}"
    wanted = {"OUT": "r-%p.bin", "STACK": "both", "DEPTH": "7", "RING_MB": "3", "SAMPLE_MS": "0", "KEEP": "always", "TAP": "off", "NAMES": "0", "QUIET": "1"}
    assert {name: environment.get(f"MEMSNAP_{name}") for name in wanted} == wanted
    assert str(SITE) not in search and search[:2] == ["", str(PACKAGE)]


def test_a_run_inside_a_run_repeats_nothing(memsnap, stand_in):
    inner = (sys.executable, "-m", "memsnap", "run", "--", sys.executable, "-c", SHOW)
    environment, search, _ = shown(memsnap("run", "--", *inner))

    assert environment["LD_PRELOAD"] == str(stand_in) and environment["PYTHONPATH"] == f"{SITE}:{PACKAGE}" and str(SITE) not in search


def test_without_hooks_only_the_recorder_is_set(memsnap, stand_in):
    environment, _, _ = shown(memsnap("run", "--no-hooks", sys.executable, "-c", SHOW))

    assert environment["LD_PRELOAD"] == str(stand_in) and environment["PYTHONPATH"] == str(PACKAGE)


def test_options_behind_the_command_are_the_commands_own(memsnap):
    done = memsnap("run", "--quiet", "echo", "--out", "x", "--", "-n")

    assert done.stdout == "--out x -- -n\n"


def test_the_process_is_the_commands_own(stand_in, memsnap):
    assert memsnap("run", "--", "sh", "-c", "exit 7").returncode == 7
    assert memsnap("run", "--", "sh", "-c", "kill -TERM $$").returncode == -signal.SIGTERM
    for ignored_by_python in (signal.SIGPIPE, signal.SIGXFSZ):
        assert memsnap("run", "--", "sh", "-c", f"kill -{ignored_by_python} $$").returncode == -ignored_by_python
    environment = os.environ | {"PYTHONPATH": str(PACKAGE), "MEMSNAP_LIBRARY": str(stand_in)}
    command = [sys.executable, "-m", "memsnap", "run", "--", "sh", "-c", "echo $$"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as started:
        assert int(started.stdout.read()) == started.pid


@pytest.mark.parametrize("arguments, code, said", [
    ((), 2, "usage"),
    (("run",), 2, "no command"),
    (("run", "--"), 2, "no command"),
    (("run", "--nonsense", "true"), 2, "--nonsense"),
    (("run", "--ring-mb", "abc", "--", "true"), 2, "abc"),
    (("run", "--library", "/nowhere/libmemsnap.so", "true"), 2, "/nowhere/libmemsnap.so"),
    (("run", "--", "no-such-command-here"), 127, "no-such-command-here: command not found"),
    (("run", "--", "./not-executable"), 126, "./not-executable: "),
])
def test_errors_are_clear(memsnap, tmp_path, arguments, code, said):
    (tmp_path / "not-executable").write_text("")

    done = memsnap(*arguments)

    assert done.returncode == code and said in done.stderr and done.stdout == ""
    assert "Traceback" not in done.stderr


def test_a_library_path_that_the_loader_cannot_take_is_refused(memsnap, stand_in, tmp_path):
    spaced = tmp_path / "a b"
    spaced.mkdir()
    (spaced / "libmemsnap.so").symlink_to(stand_in)

    done = memsnap("run", "--library", spaced / "libmemsnap.so", "true")

    assert done.returncode == 2 and "white space" in done.stderr


def test_a_script_that_is_no_command_is_run_by_python(memsnap, tmp_path):
    (tmp_path / "job.py").write_text("import sys; print(sys.argv, __name__)")

    assert memsnap("run", "job.py", "--lr", "1").stdout == "['job.py', '--lr', '1'] __main__\n"


@pytest.mark.parametrize("body, stdout, said", [
    ("print('own', __name__, __file__[-20:])", "own sitecustomize own/sitecustomize.py\nTrue\n", ""),
    ("import nothing_of_that_name", "False\n", ""),
    ("raise RuntimeError('own trouble')", "False\n", "own trouble"),
    (None, "False\n", ""),
])
def test_the_programs_own_sitecustomize_runs_as_without_us(memsnap, tmp_path, body, stdout, said):
    own = tmp_path / "own"
    own.mkdir()
    if body:
        (own / "sitecustomize.py").write_text(body)
    program = "import sys; print('/own/' in getattr(sys.modules.get('sitecustomize'), '__file__', ''))"
    environment = os.environ | {"PYTHONPATH": f"{own}:{PACKAGE}", "PYTHONDONTWRITEBYTECODE": "1"}

    plain = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    recorded = memsnap("run", "--", sys.executable, "-c", program, PYTHONPATH=environment["PYTHONPATH"])

    assert (recorded.returncode, recorded.stdout) == (plain.returncode, plain.stdout) == (0, stdout)
    assert said in recorded.stderr and said in plain.stderr and bool(recorded.stderr) == bool(plain.stderr)


def test_nothing_is_loaded_and_nothing_printed_before_torch_is_imported(memsnap):
    program = "import sys; print([name for name in sys.modules if name == 'memsnap' or name.startswith('memsnap.') or name == 'ctypes'])"

    done = memsnap("run", "--", sys.executable, "-c", program)

    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_torch_may_be_absent_broken_or_without_anything_to_hook(memsnap, tmp_path):
    (tmp_path / "torch").mkdir()
    source = tmp_path / "torch/__init__.py"
    program = "import importlib.util\nprint(importlib.util.find_spec('torch') is not None)\ntry:\n import torch; print(torch.VALUE, type(torch.__loader__).__name__)\nexcept ImportError as e: print(e)\n"

    source.write_text("raise ImportError('broken')")
    assert memsnap("run", "--", sys.executable, "-S", "-c", program).stdout == "True\nbroken\n"
    source.write_text("VALUE = 3")
    done = memsnap("run", "--", sys.executable, "-c", program)
    assert done.stdout == "True\n3 SourceFileLoader\n"
    assert done.stderr.splitlines() and all(line.startswith("memsnap: torch is not hooked: ") for line in done.stderr.splitlines())
    assert memsnap("run", "--quiet", "--", sys.executable, "-c", program).stderr == ""
    source.unlink()
    source.parent.rmdir()
    gone = memsnap("run", "--", sys.executable, "-S", "-c", program)
    assert gone.stdout == "False\nNo module named 'torch'\n" and gone.stderr == ""


def test_the_package_is_there_for_a_python_that_does_not_have_it(stand_in, tmp_path):
    (tmp_path / "torch.py").write_text("")
    program = "import torch, memsnap; print(memsnap.__file__, memsnap.recording())"
    start = f"import sys; sys.path.append({str(PACKAGE)!r}); from memsnap.__main__ import main; main(sys.argv[1:])"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"MEMSNAP_LIBRARY": str(stand_in)}

    command = [sys.executable, "-c", start, "run", "--quiet", "--", sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)

    assert done.stdout == f"{PACKAGE / 'memsnap/__init__.py'} False\n", done.stderr
