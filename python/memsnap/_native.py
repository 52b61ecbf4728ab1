# SPDX-License-Identifier: Apache-2.0
"""The recorder's C functions (interpose/api.h), or, in a process without the recorder, functions that do nothing.

Callers use them as attributes of this module. A text is UTF-8 bytes and its length; nothing here raises and nothing waits.
"""

import ctypes

# wire::Family
LABEL, OPTIMIZER, RANGE, COLLECTION = 0, 2, 3, 5
# wire::Category
PARAMETER, GRADIENT, OPTIMIZER_STATE, BUFFER, INPUT, ACTIVATION = 1, 2, 3, 4, 5, 6
# wire::StepFlag
STEP_COLLECTION_OFF = 1
# wire::CapSource
CAP_MEMORY_FRACTION = 1
# wire::TapState
TAP_ATTACHED, TAP_MISSING, TAP_REFUSED, TAP_OFF = 1, 2, 3, 4

_VERSION = 1
_u32, _u64, _i32, _i64 = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int32, ctypes.c_int64
_text = (ctypes.c_char_p, ctypes.c_size_t)
_SIGNATURES = {
    "recording": (ctypes.c_int,),
    "begin": (_u64, _u32, *_text, _u64),
    "end": (None, _u64),
    "step": (None, *_text, _u32),
    "mark": (None, *_text),
    "note": (None, *_text, _i64),
    "category": (None, _i32, _u64, _u64, _u32),
    "cap": (None, _i32, _u64, _u32),
    "tap_state": (None, _u32),
}


def _bound() -> dict:
    """The functions of the preloaded library. They are called with the GIL held: each is shorter than giving it up."""
    try:
        library = ctypes.PyDLL(None)
        if ctypes.PYFUNCTYPE(_u32)(("memsnap1_version", library))() < _VERSION:
            return {}
        return {name: ctypes.PYFUNCTYPE(*types)((f"memsnap1_{name}", library)) for name, types in _SIGNATURES.items()}
    except (AttributeError, OSError):
        return {}


def _nothing(*_arguments) -> int:
    return 0


_functions = _bound()
active = bool(_functions)
recording = _functions.get("recording", _nothing)
begin = _functions.get("begin", _nothing)
end = _functions.get("end", _nothing)
step = _functions.get("step", _nothing)
mark = _functions.get("mark", _nothing)
note = _functions.get("note", _nothing)
category = _functions.get("category", _nothing)
cap = _functions.get("cap", _nothing)
tap_state = _functions.get("tap_state", _nothing)


def text(name: str) -> bytes:
    """A name as the recorder takes it."""
    if not isinstance(name, str):
        raise TypeError(f"a name is a str, not {type(name).__name__}")
    return name.encode("utf-8", "replace")
