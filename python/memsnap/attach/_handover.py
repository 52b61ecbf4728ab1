# SPDX-License-Identifier: Apache-2.0
"""What is handed to the job, and its report: a folder of the job's user alone, in a place that the job sees under the same name. Removing it
takes the request back: what begins later finds nothing and does nothing."""

from __future__ import annotations

import ast
import os
import pathlib
import shutil
import tempfile

_PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/run")
_MOST_REPORT_BYTES = 65536
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


class Handover:
    """`pid`: the process's number in its own pid namespace; `root`: its file system as seen from here ("" where it is ours)."""

    def __init__(self, root: str, pid: int, owner: int, library: str, settings: bytes):
        """Raises NoPlace."""
        self._pid, self._owner = pid, owner
        self.outside, self.inside = self._make(root, owner)
        try:
            for name, content in (("payload.py", _PAYLOAD.read_bytes()), ("library", os.fsencode(library)), ("settings", settings), ("waiting", b"")):
                self._write(name, content)
        except BaseException:
            self.remove()
            raise

    @staticmethod
    def _make(root: str, owner: int) -> tuple:
        for place in _PLACES:
            try:
                outside = tempfile.mkdtemp(prefix="memsnap-attach-", dir=root + place)
            except OSError:
                continue
            if os.geteuid() != owner:
                os.chown(outside, owner, -1)
            return outside, outside[len(root) :]
        raise NoPlace

    def _write(self, name: str, content: bytes) -> None:
        file = os.open(f"{self.outside}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(file, "wb") as stream:
            stream.write(content)
        if os.geteuid() != self._owner:
            os.chown(f"{self.outside}/{name}", self._owner, -1, follow_symlinks=False)

    def begin_text(self) -> str:
        """One line of Python that lets the work begin, for the main thread of the job."""
        work = _WORK.format(payload=f"{self.inside}/payload.py", folder=self.inside)
        return f"exec({_BEGIN.format(pid=self._pid, work=work)!r}, {{}})"

    def script(self) -> str:
        """The same as a file, as the job sees it."""
        self._write("begin.py", self.begin_text().encode())
        return f"{self.inside}/begin.py"

    def begun(self) -> bool:
        return not os.path.lexists(f"{self.outside}/waiting")

    def take_back(self) -> bool:
        """False: too late, it has begun."""
        try:
            os.unlink(f"{self.outside}/waiting")
        except OSError:
            return False
        return True

    def report(self) -> dict | None:
        """What the job reported, as texts by name; None: nothing yet. The job is not trusted: words of one line each are all it can say."""
        try:
            file = os.open(f"{self.outside}/report", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return None
        with open(file, "rb") as stream:
            text = stream.read(_MOST_REPORT_BYTES).decode("utf-8", "replace")
        said = {}
        for line in text.splitlines():
            name, _, value = line.partition(" ")
            try:
                said[name] = str(ast.literal_eval(value))
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                continue
        return said

    def remove(self) -> None:
        shutil.rmtree(self.outside, ignore_errors=True)
