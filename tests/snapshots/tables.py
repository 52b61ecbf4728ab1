# SPDX-License-Identifier: Apache-2.0
"""The lines of snapshot_tables, worked out from what Python's own pickle reads."""

KNOWN = {
    "segments[]": {"device", "address", "total_size", "allocated_size", "active_size", "requested_size", "stream", "segment_type", "segment_pool_id",
                   "is_expandable", "registration_counter", "frames", "blocks"},
    "segments[].blocks[]": {"address", "size", "requested_size", "state", "frames", "history", "user_metadata"},
    "device_traces[][]": {"action", "addr", "size", "stream", "time_us", "frames", "cpp_frames", "pool_id", "segment_pool_id", "user_metadata",
                          "compile_context", "device_free"},
}


def text(value: str | None) -> str:
    return "'" + (value or "").encode("utf-8", "surrogatepass").hex()


def stack(frames) -> str:
    if frames is None:
        return "-"
    return "[" + ",".join(f"{text(f.get('filename'))}:{max(f.get('line') or 0, 0)}:{text(f.get('name'))}" for f in frames) + "]"


def pool(pair) -> str:
    if pair is None:
        return "-"
    a, b = pair
    return str(a) if b == 0 and a < 32768 else str(32768 + b) if a == 0 and b < 32767 else "-"


def unsigned(number: int) -> int:
    return number % (1 << 64)


def block_lines(segment: dict):
    at = segment["address"]
    for block in segment["blocks"]:
        address = block.get("address", at)
        at = address + block["size"]
        use = (block.get("history") or [{}])[0]
        requested = block.get("requested_size")
        if requested is None and block["state"] != "inactive":
            requested = use.get("real_size")
        frames = block.get("frames", use.get("frames"))
        state = {"active_awaiting_free": "active_pending_free"}.get(block["state"], block["state"])
        yield address, f"block {address} {block['size']} {'-' if requested is None else requested} {state} {text(block.get('user_metadata'))} {stack(frames)}"


def segment_lines(kind: str, segments: list[dict]):
    for s in sorted(segments, key=lambda s: (s["device"], s["address"])):
        sums = [sum(b["size"] for b in s["blocks"] if b["state"] in states) for states in
                (("active_allocated",), ("active_allocated", "active_pending_free", "active_awaiting_free"))]
        requested = s.get("requested_size")
        yield (f"{kind} {s['device']} {s['address']} {s['total_size']} {s.get('allocated_size', sums[0])} {s.get('active_size', sums[1])} "
               f"{'-' if requested is None else requested} {unsigned(s.get('stream', 0))} {pool(s.get('segment_pool_id'))} {s.get('segment_type', 'large')} "
               f"{'expandable' if s.get('is_expandable') else 'fixed'} {stack(s.get('frames'))}")
        yield from (line for _, line in sorted(block_lines(s), key=lambda one: one[0]))


def entry_line(e: dict) -> str:
    action = {"free": "free_completed"}.get(e["action"], e["action"])
    address = e.get("addr", 0) if action != "oom" else e.get("device_free", -1)
    return (f"entry {action} {unsigned(address)} {e.get('size', 0)} {unsigned(e.get('stream', 0))} {e.get('time_us', '-')} {pool(e.get('pool_id'))} "
            f"{text(e.get('user_metadata'))} {stack(e.get('frames'))}")


def lines(whole) -> list[str]:
    whole = {"segments": whole} if isinstance(whole, list) else whole
    out = [*segment_lines("segment", whole.get("segments", [])), *segment_lines("host_segment", whole.get("host_segments", []))]
    for device, trace in enumerate(whole.get("device_traces", [])):
        out += [f"trace {device}", *map(entry_line, trace)]
    out += ["host_trace", *map(entry_line, whole.get("host_traces", []))]
    out += [f"annotation {text(a['name'])} {a['stage']} {a['device']} {a['time_us']}" for a in whole.get("external_annotations", [])]
    own = whole.get("memsnap", {})
    out += [f"observation {o['device']} {o['before_entry']} {o['total_bytes']} {o['free_bytes']}" for o in own.get("observations", [])]
    settings = whole.get("allocator_settings")
    if settings:
        split, threshold = settings["max_split_size"], settings["garbage_collection_threshold"]
        out.append(f"settings {'expandable' if settings['expandable_segments'] else 'fixed'} {'-' if split in (-1, (1 << 64) - 1) else split} "
                   f"{round(threshold * 1000) or '-'}")
        out += [f"roundup {bound} {divisions}" for bound, divisions in settings.get("roundup_power2_divisions", {}).items() if divisions > 1]
    out.append(f"tap {str(own.get('tap', True)).lower()}")
    return out + [f"ignored {name}" for name in sorted(unknown(whole))]


def unknown(whole: dict) -> set[str]:
    top = {"segments", "device_traces", "allocator_settings", "external_annotations", "host_segments", "host_traces", "memsnap"}
    names = set(whole) - top
    segments = [*whole.get("segments", []), *whole.get("host_segments", [])]
    rows = {"segments[]": segments, "segments[].blocks[]": [b for s in segments for b in s["blocks"]],
            "device_traces[][]": [e for t in whole.get("device_traces", []) for e in t]}
    for where, dicts in rows.items():
        names |= {f"{where}.{name}" for one in dicts for name in one.keys() - KNOWN[where]}
    return names
