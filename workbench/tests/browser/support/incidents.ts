// SPDX-License-Identifier: Apache-2.0
//
// Incidents that the fixtures do not have: with names, with hostile names, and as large as a ring gets. The rule: the same every time.
import { spawnSync } from "node:child_process";
import { inject } from "vitest";
import { join } from "node:path";

const GiB = 2 ** 30;
const kBase = 0x7f0000000000;

export interface StackFrame {
  name: string;
  filename: string;
  line: number;
}

// Four blocks of half a GiB from `frames`, the second freed, and a request that no hole holds: as PyTorch's own memory snapshot tells it.
export function snapshotOf(frames: StackFrame[]): object {
  const trace: object[] = [];
  const note = (action: string, address: number, size: number) => {
    const place = action === "oom" ? { device_free: address } : { addr: address };
    trace.push({ action, ...place, size, stream: 0, time_us: 1_700_000_000_000_000 + trace.length * 7, user_metadata: "", pool_id: [0, 0], frames });
  };
  const half = GiB / 2;
  note("segment_alloc", kBase, 2 * GiB);
  for (let i = 0; i < 4; ++i) note("alloc", kBase + i * half, half);
  note("free_requested", kBase + half, half);
  note("free_completed", kBase + half, half);
  note("oom", GiB, GiB);
  const blocks = [0, 1, 2, 3].map((i) => {
    const free = i === 1;
    const state = free ? "inactive" : "active_allocated";
    return { address: kBase + i * half, size: half, requested_size: half, state, frames: free ? [] : frames };
  });
  const segment = {
    device: 0, address: kBase, total_size: 2 * GiB, allocated_size: 3 * half, active_size: 3 * half, requested_size: 3 * half, stream: 0,
    segment_type: "large", segment_pool_id: [0, 0], is_expandable: false, frames, blocks,
  };
  const settings = { PYTORCH_CUDA_ALLOC_CONF: "", max_split_size: -1, expandable_segments: false, garbage_collection_threshold: 0 };
  return { segments: [segment], device_traces: [trace], allocator_settings: settings };
}

// Python alone knows how to pickle.
export function writePickle(value: object, name: string): string {
  const path = join(inject("folder"), name);
  const program = "import json, pickle, sys; pickle.dump(json.load(sys.stdin), open(sys.argv[1], 'wb'))";
  const done = spawnSync("python3", ["-c", program, path], { input: JSON.stringify(value), encoding: "utf8" });
  if (done.status !== 0) throw new Error(done.stderr);
  return path;
}

// `event_count` blocks allocated and freed in slots of 2 MiB, forty sites, ten steps, then a request that nothing could hold.
export function longJob(event_count: number): string {
  const kSlots = 2048;
  const lines = ["memsnap-events 1", `header ring_records=${1 << 21} table_entries=8192 torch_version=21401`];
  lines.push("anchor counter=1000 monotonic_ns=1000", "segment s 4GiB");
  const live = new Array<boolean>(kSlots).fill(false);
  let state = 1;
  for (let event = 0; event < event_count; ++event) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    const slot = (state >>> 8) % kSlots;
    const size = (((state >>> 4) % 4000) + 1) * 512;
    lines.push(live[slot] ? `free b${slot}` : `alloc b${slot} s+${slot * 2}MiB ${size} site=${1 + (slot % 40)}`);
    live[slot] = !live[slot];
    if (event % Math.ceil(event_count / 10) === 0) lines.push("step");
  }
  lines.push("failing 5GiB total=8GiB free=3GiB");
  return lines.join("\n") + "\n";
}

// `block_count` blocks of half a MiB that all stay, then a request that nothing could hold.
export function manyBlocks(block_count: number): string {
  const lines = ["memsnap-events 1", `header ring_records=${1 << 16} table_entries=${1 << 16} torch_version=21401`];
  lines.push("anchor counter=1000 monotonic_ns=1000", "segment s 16GiB");
  for (let block = 0; block < block_count; ++block) lines.push(`alloc b${block} s+${block}MiB 512KiB site=${1 + (block % 300)}`);
  lines.push("failing 5GiB total=20GiB free=3GiB");
  return lines.join("\n") + "\n";
}
