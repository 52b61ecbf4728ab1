# SPDX-License-Identifier: Apache-2.0
"""`memsnap run` puts this file's folder first in PYTHONPATH, so that Python runs it at its start.

The program's own sitecustomize runs first, and the search path is what it would have been. Nothing is loaded until the program imports
torch, and nothing that goes wrong here reaches the program.
"""

import os
import sys


def _step_aside():
    """Leaves the search path and the name to the program's own sitecustomize, and runs that."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != here]
    ours = sys.modules.pop(__name__, None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        # The import system wants what it has just run under its name.
        sys.modules.setdefault(__name__, ours)


def _package():
    """This package, also for a Python that it was not installed for."""
    if "memsnap" not in sys.modules:
        from importlib import util

        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        spec = util.spec_from_file_location("memsnap", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])
        module = sys.modules["memsnap"] = util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules["memsnap"]
            raise
    return sys.modules["memsnap"]


def _say(problem):
    if not os.environ.get("MEMSNAP_QUIET") and sys.stderr is not None:
        sys.stderr.write("memsnap: torch is not hooked: %s\n" % (problem,))


def _hook_torch():
    try:
        _package()
        from memsnap import _native

        if _native.active:
            from memsnap import _torch_hooks

            for missing in _torch_hooks.install():
                _say(missing)
    except Exception as error:
        _say(error)


def _watch_torch():
    from importlib import util

    path = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "_import_hook.py")
    spec = util.spec_from_file_location("_memsnap_import_hook", path)
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.after_import("torch", _hook_torch)


try:
    _step_aside()
finally:
    if sys.version_info >= (3, 9) and os.environ.get("LD_PRELOAD"):
        try:
            _watch_torch()
        except Exception as error:
            _say(error)
