# SPDX-License-Identifier: Apache-2.0
"""What runs inside the job, as text that is handed over: loads the recorder, lets it attach, tells it what torch's allocator holds, and
writes one report. It runs on a thread of its own, so the job's code runs on meanwhile and its signal handlers never run in here. The rules:
it prints nothing, raises nothing, keeps nothing, and imports nothing that torch has not imported. Given: `folder`, the handover."""

_NATIVE_SEGMENT, _BLOCK, _EXPANDABLE_SEGMENT = 0, 1, 2  # memsnap1_initial's


def _read(name):
    with open(folder + "/" + name, "rb") as file:  # noqa: F821
        return file.read()


def _text(error):
    return type(error).__name__ + ": " + str(error)


def _segments(torch):
    try:
        return torch.cuda.memory_snapshot(include_traces=False)
    except TypeError:  # releases before this argument
        return torch.cuda.memory_snapshot()


def _tell(torch, library, told):
    """The allocator's state, as its own snapshot has it, between begin and end: the number of blocks told and of those entered, and what kept
    from telling. The recorder records by now, so whatever happens here is no failure of the attach; what was begun is ended."""
    if not library.memsnap1_initial_begin():
        return {"initial_error": "the recorder takes no list"}
    count, said = 0, {}
    try:
        for segment in _segments(torch):
            device, address = segment["device"], segment["address"]
            told(_EXPANDABLE_SEGMENT if segment.get("is_expandable") else _NATIVE_SEGMENT, device, address, segment["total_size"])
            for block in segment["blocks"]:
                if block["state"] == "active_allocated":
                    told(_BLOCK, device, block.get("address", address), block["size"])
                    count += 1
                address += block["size"]
    except BaseException as error:
        said["initial_error"] = _text(error)
    finally:
        said["entered"] = library.memsnap1_initial_end()
    return {"told": count, **said}


def _attach():
    import ctypes
    import os
    import sys

    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return {"refused": "not_started"}
    library = ctypes.CDLL(os.fsdecode(_read("library")))  # alone: RTLD_LOCAL, no name of it reaches the job's own
    settings = _read("settings")
    library.memsnap1_attach.restype = ctypes.c_uint32
    library.memsnap1_attach.argtypes = ctypes.c_char_p, ctypes.c_size_t
    library.memsnap1_initial_end.restype = ctypes.c_uint32
    told = ctypes.PyDLL(None, handle=library._handle).memsnap1_initial
    told.restype, told.argtypes = None, (ctypes.c_uint32, ctypes.c_int32, ctypes.c_uint64, ctypes.c_uint64)
    backend = torch.cuda.get_allocator_backend()
    answer = library.memsnap1_attach(settings, len(settings))
    if answer:
        return {"answer": answer}
    return {"answer": 0, "backend": backend, **_tell(torch, library, told)}


def _main():
    import os

    try:
        os.rename(folder + "/waiting", folder + "/begun")  # noqa: F821
    except OSError:
        return  # begun already, or given up
    try:
        report = _attach()
    except BaseException as error:
        report = {"error": _text(error)}
    lines = "".join(f"{name} {str(value)!r}\n" for name, value in report.items())
    with open(folder + "/report.new", "wb") as file:  # noqa: F821  (as bytes: text could import a codec)
        file.write(lines.encode("utf-8", "replace"))
    os.rename(folder + "/report.new", folder + "/report")  # noqa: F821


try:
    _main()
except BaseException:
    pass
