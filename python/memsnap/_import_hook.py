# SPDX-License-Identifier: Apache-2.0
"""Does something right after a module was imported for the first time. The module, its loader and its spec stay the ones they would be."""

import sys


class _After:
    """Stands first among the finders, finds nothing itself, and is gone once it has done its work."""

    def __init__(self, name, action):
        self._name = name
        self._action = action

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self._name:
            return None
        for finder in sys.meta_path:
            if finder is not self and hasattr(finder, "find_spec"):
                spec = finder.find_spec(fullname, path, target)
                if spec is not None:
                    self._watch(spec.loader)
                    return spec
        return None

    def _watch(self, loader):
        """The loader executes the module as ever; for this one time also what follows."""
        if not hasattr(loader, "exec_module"):
            return
        execute = loader.exec_module

        def exec_module(module):
            vars(loader).pop("exec_module", None)
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self._action()

        try:
            loader.exec_module = exec_module
        except AttributeError:
            pass


def after_import(name, action) -> None:
    """Calls action() when the module was imported, at once if it is there already."""
    if name in sys.modules:
        action()
    else:
        sys.meta_path.insert(0, _After(name, action))
