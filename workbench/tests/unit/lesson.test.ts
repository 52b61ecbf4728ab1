// SPDX-License-Identifier: Apache-2.0
//
// The lesson: its bounds, that it is fresh, that its texts are true, and that what it says of hidden evidence is what memsnap-replay says.
import { readFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inflateSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import { eventsText, kIncident, lessonParts, replay, ringOf, type Parts } from "../../lesson/make";
import { kHypotheses } from "../../src/checks/decide";
import { runChecks } from "../../src/checks/run";
import type { Incident } from "../../src/data/incident";
import type { Receipt } from "../../src/data/receipt";
import { askedAt, sumFree } from "../../src/history/compatibility";
import { buildHistory } from "../../src/history/build";
import { LifeKind, type History } from "../../src/history/history";
import { believed } from "../../src/lesson/believed";
import { kChapters, last, nth } from "../../src/lesson/chapters";
import { lessonIncident } from "../../src/lesson/lesson";
import { sizeText } from "../../src/parts/units";

const kEventsAtMost = 96;
const kSegmentsAtMost = 16;
const kBlocksAtMost = 32;

let incident: Incident;
let history: History;

beforeAll(async () => {
  incident = await lessonIncident();
  history = await buildHistory(incident);
});

// The receipt of the lesson's events with lines left out or changed.
function receiptOf(text: string): Receipt {
  const folder = mkdtempSync(join(tmpdir(), "memsnap-lesson-"));
  try {
    return JSON.parse(replay(ringOf(text, folder), "--json", "-")) as Receipt;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const withoutLines = (text: string, ...verbs: string[]) =>
  text
    .split("\n")
    .filter((line) => !verbs.some((verb) => line.startsWith(`${verb} `)))
    .join("\n");

function statuses(receipt: Receipt): Record<string, string> {
  return Object.fromEntries(kHypotheses.map((name) => [name, receipt.verdict.hypotheses?.[name].status ?? ""]));
}

function statusesOf(mutation: string): Record<string, string> {
  const decision = believed(mutation, incident.receipt)!;
  return Object.fromEntries(kHypotheses.map((name) => [name, decision.opinions[name].status]));
}

describe("the lesson's incident", () => {
  it("is marked as made up", () => {
    expect(incident.outline.synthetic).toBe(true);
  });

  it("stays within its bounds of events, segments and blocks at every instant", () => {
    expect(incident.events.rows).toBeLessThanOrEqual(kEventsAtMost);
    for (let row = 0; row < history.rows; ++row) {
      const { segments, blocks } = history.scene(0, row);
      expect(segments.length).toBeLessThanOrEqual(kSegmentsAtMost);
      for (const { place, size } of segments) {
        const inside = [...blocks].filter((life) => history.lives.place[life] >= place && history.lives.place[life] < place + size);
        expect(inside.length).toBeLessThanOrEqual(kBlocksAtMost);
      }
    }
  });

  it("has a primary cause, contributing ones and a rejected one", () => {
    expect(statuses(incident.receipt)).toEqual({
      live_set: "rejected",
      retention: "contributing",
      fragmentation: "primary",
      external: "contributing",
    });
  });

  it("is what memsnap-replay makes of incident.events now", () => {
    const unpacked = (parts: Parts) =>
      Object.fromEntries(Object.entries(parts).map(([name, packed]) => [name, inflateSync(Buffer.from(packed, "base64")).toString("latin1")]));
    expect(unpacked(lessonParts()), "make it again: npm run lesson").toEqual(unpacked(JSON.parse(readFileSync(kIncident, "utf8")) as Parts));
  });

  it("lets every check of the page agree", async () => {
    const checks = await runChecks(incident, history);
    expect(checks.filter((check) => check.result.kind === "differs")).toEqual([]);
    expect(checks.filter((check) => check.result.kind === "agrees").length).toBeGreaterThan(60);
  });
});

describe("what is hidden from the lesson", () => {
  it("leaves external undecidable when nobody told of other processes, as memsnap-replay says", () => {
    const told = receiptOf(withoutLines(eventsText(), "process_sample"));
    expect(statuses(told)).toEqual({ live_set: "rejected", retention: "contributing", fragmentation: "primary", external: "undecidable" });
    expect(statusesOf("hide_processes")).toEqual(statuses(told));
  });

  it("leaves everything undecidable when nobody asked the device either, as memsnap-replay says", () => {
    const refused = "fail cudaMalloc 512MiB\noom 512MiB site=9";
    const text = withoutLines(eventsText(), "process_sample", "mem_info", "device_sample").replace(/^failing .*$/m, refused);
    const told = receiptOf(text);
    expect(Object.values(statuses(told))).toEqual(["undecidable", "undecidable", "undecidable", "undecidable"]);
    expect(statusesOf("hide_external_lane")).toEqual(statuses(told));
  });
});

// The sizes that a text may name: what the page shows at its instant and at the failure.
function sizesAt(row: number): Set<string> {
  const sizes = new Set<string>();
  const add = (bytes: number) => {
    if (!Number.isNaN(bytes)) sizes.add(sizeText(bytes));
  };
  const scene = history.scene(0, row);
  for (const life of scene.blocks) add(history.lives.size[life]);
  for (const segment of scene.segments) add(segment.size);
  for (const hole of scene.free) add(hole.size);
  for (const lane of ["active", "reserved", "own_outside", "other_processes", "expected_free", "total"] as const) add(history.laneAt(0, lane, row));
  add(sumFree(scene, askedAt(incident, history, 0, row)).fragmented);
  add(Number(incident.receipt.evidence.failure!.request_bytes));
  // Weights and optimizer state together.
  const categories = (word: string) =>
    [...scene.blocks].filter((life) => history.categoryOf(life, row) === word).reduce((sum, life) => sum + history.lives.size[life], 0);
  add(categories("parameter") + categories("optimizer_state"));
  return sizes;
}

describe("a part of the lesson", () => {
  it.each(kChapters.map((part, index) => [index + 1, part] as const))(
    "%i is at an instant that the events have, and names only sizes that " + "are there",
    (_number, part) => {
      const row = part.row(incident, history);
      expect(row).toBeGreaterThanOrEqual(0);
      if (part.reference !== undefined) expect(part.reference(incident, history)).toBeGreaterThanOrEqual(0);
      const known = sizesAt(row);
      // An activation is there before the step ends, and a segment as long as it is cached.
      for (let before = 0; before <= row; ++before) for (const size of sizesAt(before)) if (part === kChapters[0]) known.add(size);
      const named = part.text.join(" ").match(/\d+\.\d\d [GM]iB/g) ?? [];
      expect(named.filter((size) => !known.has(size))).toEqual([]);
    },
  );

  it("1 is at the end of a step that leaves nothing behind", () => {
    const [before, after] = [nth(incident, "step", 0), kChapters[0].row(incident, history)];
    expect(history.laneAt(0, "active", after)).toBe(history.laneAt(0, "active", before));
  });

  it("2 is at the peak, which is above what is live at the failure", () => {
    const row = kChapters[1].row(incident, history);
    expect(history.laneAt(0, "active", row)).toBe(Math.max(...history.lane(0, "active")));
    expect(history.laneAt(0, "active", row)).toBeGreaterThan(history.laneAt(0, "active", history.failureRow!));
  });

  it("3 has a block of 48 MiB of each of the last five steps, and none before", () => {
    const row = kChapters[2].row(incident, history);
    const { lives } = history;
    const kept = Array.from({ length: lives.count }, (_, life) => life).filter(
      (life) => lives.kind[life] === LifeKind.block && lives.size[life] === 48 * 2 ** 20 && lives.death[life] > row,
    );
    expect(kept.map((life) => lives.step[life])).toEqual([3, 4, 5, 6, 7]);
  });

  it("4 has four holes of one size between survivors", () => {
    const row = kChapters[3].row(incident, history);
    const holes = history.scene(0, row).free.filter((hole) => hole.size === 128 * 2 ** 20);
    expect(holes.length).toBe(4);
    expect(incident.events.column("kind").text(row + 1)).toBe("phase_end");
  });

  it("5 moves the lanes outside and not PyTorch's", () => {
    const [from, to] = [kChapters[4].reference!(incident, history), kChapters[4].row(incident, history)];
    expect(history.laneAt(0, "reserved", to)).toBe(history.laneAt(0, "reserved", from));
    expect(history.laneAt(0, "active", to)).toBe(history.laneAt(0, "active", from));
    expect(history.laneAt(0, "other_processes", to) - history.laneAt(0, "other_processes", from)).toBe(900 * 2 ** 20);
    expect(history.laneAt(0, "own_outside", to) - history.laneAt(0, "own_outside", from)).toBe(64 * 2 ** 20);
  });

  it("6 is the failure", () => {
    expect(incident.events.column("kind").text(kChapters[5].row(incident, history))).toBe("block_oom");
    expect(last(incident, "block_oom")).toBe(history.failureRow);
  });
});
