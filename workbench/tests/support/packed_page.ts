// SPDX-License-Identifier: Apache-2.0
//
// A whole page of a few rows, packed as memsnap-replay packs it. The rule: small, valid, and each part can be exchanged for a damaged one.
import { deflateSync } from "node:zlib";
import { kLevelColumns } from "../../src/data/open";
import { encodeTable } from "./encode_table";
import { beginTable, block, eventsTable, freed, type MadeRow } from "./made_incident";

export const packed = (content: string | Uint8Array): string => deflateSync(content).toString("base64");

export const kOutline = {
  format: 1,
  memsnap: "1.0.0",
  file: "ring.bin",
  command: ["--device", "0"],
  with_names: true,
  synthetic: false,
  window: {
    first_ticket: 5, end_ticket: 8, event_count: 3, keyframe: false, exact_first_ticket: 5, exact_event_count: 3, births_known_from_ticket: 0,
  },
  clock: true,
  headline: { title: "OUT OF MEMORY", event: "e", cause: null, at: null },
  notes: [],
  devices: [0],
};
export const kReceipt = {
  schema: "memsnap.receipt.v1",
  capture: {},
  environment: {},
  dictionary: {},
  evidence: { failure: { device: 0, ticket: 7, segment_request_bytes: 1 }, holders: [], provenance: {} },
  verdict: {
    primary: null, contributing: [], rejected: [], undecidable: [], qualifiers: [], exit_status: 11, fix: null, proof: null, numbers: null,
    hypotheses: null,
  },
  times: {},
  digest: { algorithm: "sha256", evidence: "0", receipt: "0" },
};
export const kNames = {
  sites: [
    { site: 1, token: "site-1", frames: [1, 0], label: "f (a.py:3) \u202e" },
    { site: 2, size_bytes: 512 },
    { site: 3, token: "site-3" },
  ],
  frames: [{ function: "f", file: "/x/a.py", line: 3, native: false }, { token: "frame-2" }],
  phases: [
    { phase: 1, token: "phase-1", word: "forward" },
    { phase: 2, token: "phase-2", word: null, name: "mine" },
  ],
  libraries: [{ library: 1, token: "library-1", role: "torch" }],
  dimensions: [{ dimension: 1, token: "dimension-1", name: "batch" }],
};
const kBegin: MadeRow[] = [{ object: "block", state: "block", allocation: 1, place_bytes: 4096, size_bytes: 512 }];
export const kRows: MadeRow[] = [
  block(5, 0, 1024, 1536, 4096),
  freed(6, 1, 4096, 512, 1024, 4096),
  { kind: "block_oom", ticket: 7, size_bytes: 9999 },
];

export function packedParts(changes: Record<string, string | null> = {}): Map<string, string> {
  const begin = beginTable(kBegin);
  const events = eventsTable(kRows);
  const empty = (name: string, type: string) => ({ name, type, coding: "plain", cells: [] });
  const derived = [
    "active_bytes",
    "deferred_bytes",
    "segment_bytes",
    "free_bytes",
    "outside_bytes",
    "held_bytes",
    "own_outside_bytes",
    "other_processes_bytes",
    "unattributed_bytes",
    "expected_free_bytes",
    "parameter_bytes",
    "gradient_bytes",
    "optimizer_state_bytes",
    "buffer_bytes",
    "input_bytes",
    "activation_bytes",
  ];
  const parts: Record<string, string | null> = {
    outline: packed(JSON.stringify(kOutline)),
    receipt: packed(JSON.stringify(kReceipt)),
    names: packed(JSON.stringify(kNames)),
    levels: packed(encodeTable({ rows: 0, columns: Object.entries(kLevelColumns).map(([name, type]) => empty(name, type)) })),
    begin: packed(encodeTable(begin)),
    events: packed(encodeTable(events)),
    derived: packed(
      encodeTable(
        {
          rows: 3,
          columns: derived.map((name) => ({
            name,
            type: "number",
            coding: name === "active_bytes" ? "moved" : "sparse",
            cells: name === "active_bytes" ? [1536, 1024, 1024] : [null, null, null],
          })),
        },
        { events },
      ),
    ),
    ...changes,
  };
  return new Map(Object.entries(parts).filter((it): it is [string, string] => it[1] !== null));
}

export function pageText(parts: ReadonlyMap<string, string>, side?: string): string {
  return [...parts]
    .map(
      ([part, text]) =>
        `<script type="application/x-memsnap" data-part="${part}"${side === undefined ? "" : ` data-side="${side}"`}>${text}</script>`,
    )
    .join("\n");
}
