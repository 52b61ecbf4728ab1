# SPDX-License-Identifier: Apache-2.0
"""What is handed to the job, and its report: a folder of the job's user alone, in a place that the job sees under the same name. Removing it
takes the request back: what begins later finds nothing and does nothing. The rule: who asks may be root, and whom the folder is given to may
put anything there or in its place; so the folder is made, filled, given away, read and removed by descriptors, never by a name that leads
through somebody else's folder, and it is given away last."""

from __future__ import annotations

import ast
import contextlib
import os
import pathlib
import secrets
import stat

_PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/run")
_MOST_REPORT_BYTES, _MOST_TEXT = 65536, 400
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILES = ("payload.py", "library", "settings", "begin.py", "waiting", "begun", "report.new", "report")  # ours and the payload's
_PAYLOAD = pathlib.Path(__file__).with_name("_payload.py")

# Runs at a point where the interpreter has the process to itself; the work is left to a thread, so the job waits for these lines alone. A
# forked child inherits the request, and is not meant. An interrupt that comes in here is the job's.
_BEGIN = """try:
 if __import__('os').getpid() == {pid}: __import__('_thread').start_new_thread(exec, ({work!r}, {{}}))
except KeyboardInterrupt: __import__('_thread').interrupt_main()
except BaseException: pass"""
# A request that is taken back may still be queued: what somebody else puts in place of the folder is not run.
_WORK = """try:
 import os
 facts = os.lstat({folder!r})
 if facts.st_uid == os.geteuid() and facts.st_mode & 0o170077 == 0o40000:
  with open({payload!r}, 'rb') as file: text = file.read()
  exec(compile(text, '<memsnap>', 'exec'), {{'folder': {folder!r}}})
except BaseException: pass"""


class NoPlace(Exception):
    """No folder that both we and the job can write to."""


def _open_place(root: str, place: str) -> int:
    """A folder in a file system, no link followed: in another root directory one would lead into ours. Raises OSError."""
    folder = os.open(root or "/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for name in place.strip("/").split("/"):
        try:
            below = os.open(name, _FOLDER, dir_fd=folder)
        finally:
            os.close(folder)
        folder = below
    return folder


class Handover:
    """`pid`: the process's number in its own pid namespace; `root`: its file system as seen from here ("" where it is ours); `inside`: the
    folder as the process sees it."""

    def __init__(self, root: str, pid: int, owner: int, library: str, settings: bytes):
        """Raises NoPlace."""
        self._pid, self._owner = pid, owner
        content = {"payload.py": _PAYLOAD.read_bytes(), "library": os.fsencode(library), "settings": settings, "waiting": b""}
        for place in _PLACES:
            with contextlib.suppress(OSError):
                self._place = _open_place(root, place)
                self._make(place, content)
                return
        raise NoPlace

    def _make(self, place: str, content: dict) -> None:
        """The whole folder, given away when all is in it. Raises OSError, and then there is none."""
        self._folder, self._name = None, f"memsnap-attach-{secrets.token_hex(8)}"
        self.inside = f"{place}/{self._name}"
        try:
            os.mkdir(self._name, 0o700, dir_fd=self._place)
            self._folder = os.open(self._name, _FOLDER, dir_fd=self._place)
            facts = os.fstat(self._folder)
            if facts.st_uid != os.geteuid() or stat.S_IMODE(facts.st_mode) & 0o077 or os.listdir(self._folder):
                raise PermissionError("somebody put another folder in its place")
            for name, data in (content | {"begin.py": self.begin_text().encode()}).items():
                self._write(name, data)
            self._give_away(self._folder)
        except BaseException:
            self.remove()
            raise

    def _write(self, name: str, content: bytes) -> None:
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=self._folder)
        with open(file, "wb") as stream:
            stream.write(content)
            self._give_away(file)

    def _give_away(self, file: int) -> None:
        if os.geteuid() != self._owner:
            os.fchown(file, self._owner, -1)

    def begin_text(self) -> str:
        """One line of Python that lets the work begin, for the main thread of the job."""
        work = _WORK.format(payload=f"{self.inside}/payload.py", folder=self.inside)
        return f"exec({_BEGIN.format(pid=self._pid, work=work)!r}, {{}})"

    def script(self) -> str:
        """The same as a file, as the job sees it."""
        return f"{self.inside}/begin.py"

    def begun(self) -> bool:
        try:
            os.stat("waiting", dir_fd=self._folder, follow_symlinks=False)
        except OSError:
            return True
        return False

    def take_back(self) -> bool:
        """False: too late, it has begun."""
        try:
            os.unlink("waiting", dir_fd=self._folder)
        except OSError:
            return False
        return True

    def report(self) -> dict | None:
        """What the job reported, as texts by name; None: nothing yet. The job is not trusted: words of one line each, in a file of its own, are
        all it can say."""
        try:
            file = os.open("report", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=self._folder)
        except OSError:
            return None
        try:
            facts = os.fstat(file)
            theirs = stat.S_ISREG(facts.st_mode) and facts.st_uid == self._owner  # no name of somebody else's file
            text = os.pread(file, _MOST_REPORT_BYTES, 0).decode("utf-8", "replace") if theirs else ""
        finally:
            os.close(file)
        said = {}
        for line in text.splitlines():
            name, _, value = line.partition(" ")
            try:
                said[name] = str(ast.literal_eval(value))[:_MOST_TEXT]
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                continue
        return said

    def remove(self) -> None:
        """What the job put beside our files is left to it."""
        if self._folder is not None:
            for name in _FILES:
                with contextlib.suppress(OSError):
                    os.unlink(name, dir_fd=self._folder)
            os.close(self._folder)
        with contextlib.suppress(OSError):
            os.rmdir(self._name, dir_fd=self._place)
        os.close(self._place)
