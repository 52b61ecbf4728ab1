// SPDX-License-Identifier: Apache-2.0
//
// The memory map as a table: each segment with what lies in it. The rule: it says what the drawing says, for whoever cannot see it or wants to
// compare numbers; where rows are left out it says how many.
import { useSignal } from "@preact/signals";
import type { FreeSums } from "../history/compatibility";
import type { Lives, Scene } from "../history/history";
import { counted, grouped, shareText, sizeText } from "../parts/units";
import { session } from "../session";
import { Bytes, Head } from "./common";
import { choose } from "./map_state";
import { asked, freeSums, scene } from "./map_scene";

export interface SegmentRow {
  segment: number; // index into scene.segments
  live_bytes: number;
  block_count: number;
  hole_count: number;
  largest: number | null; // index into scene.free
}

export function segmentRows(scene_: Scene, lives: Lives): SegmentRow[] {
  const rows = scene_.segments.map((_, segment): SegmentRow => ({ segment, live_bytes: 0, block_count: 0, hole_count: 0, largest: null }));
  let at = 0;
  for (const life of scene_.blocks) {
    while (at < rows.length && lives.place[life] >= scene_.segments[at].place + scene_.segments[at].size) at += 1;
    if (at === rows.length) break;
    if (lives.place[life] < scene_.segments[at].place) continue;
    rows[at].block_count += 1;
    if (!scene_.deferred.has(life)) rows[at].live_bytes += lives.size[life];
  }
  scene_.free.forEach((extent, index) => {
    const row = rows[extent.segment];
    row.hole_count += 1;
    if (row.largest === null || extent.size > scene_.free[row.largest].size) row.largest = index;
  });
  return rows;
}

type Order = "address" | "size" | "hole";

function sorted(rows: SegmentRow[], scene_: Scene, by: Order): SegmentRow[] {
  if (by === "address") return rows;
  const hole_bytes = (row: SegmentRow) => (row.largest === null ? 0 : scene_.free[row.largest].size);
  const key = by === "size" ? (row: SegmentRow) => scene_.segments[row.segment].size : hole_bytes;
  return rows.slice().sort((a, b) => key(b) - key(a) || a.segment - b.segment);
}

const kClassWords = ["fits", "too small", "may not be used"];
const kShown_count = 100;

function Row({ row, scene_, free }: { row: SegmentRow; scene_: Scene; free: FreeSums }) {
  const segment = scene_.segments[row.segment];
  const largest = row.largest === null ? null : scene_.free[row.largest];
  return (
    <tr>
      <th scope="row">{segment.ordinal}</th>
      <td>
        {segment.kind}, {segment.sizeClass === "unknown" ? "class not known" : segment.sizeClass}
      </td>
      <td class="number">
        <Bytes bytes={segment.size} />
      </td>
      <td class="number">
        <Bytes bytes={row.live_bytes} />
      </td>
      <td class="number">{shareText(row.live_bytes, segment.size)}</td>
      <td class="number">{grouped(row.block_count)}</td>
      <td class="number">{grouped(row.hole_count)}</td>
      <td class="number">
        {largest === null ? (
          <span class="quiet">none</span>
        ) : (
          <button type="button" class="plain" onClick={() => choose({ kind: "hole", extent: row.largest! })}>
            {sizeText(largest.size)}
          </button>
        )}
      </td>
      <td>{largest === null || asked.value === null ? "" : kClassWords[free.classes[row.largest!]]}</td>
    </tr>
  );
}

export function SegmentTable() {
  const open = useSignal(false);
  const order = useSignal<Order>("address");
  const all = useSignal(false);
  const now = scene.value;
  if (now === null || session.value === null || freeSums.value === null) return null;
  const rows = open.value ? sorted(segmentRows(now, session.value.history.lives), now, order.value) : [];
  const shown = all.value ? rows : rows.slice(0, kShown_count);
  return (
    <details
      class="card"
      open={open.value}
      onToggle={(event) => {
        open.value = (event.currentTarget as HTMLDetailsElement).open;
      }}
    >
      <summary>The same as a table: {counted(now.segments.length, "segment")} with their holes</summary>
      {open.value && (
        <div class="stack">
          <label class="row small">
            order{" "}
            <select
              value={order.value}
              onChange={(event) => {
                order.value = event.currentTarget.value as Order;
              }}
            >
              <option value="address">by address</option>
              <option value="size">largest first</option>
              <option value="hole">largest hole first</option>
            </select>
          </label>
          <div class="table-scroll" tabIndex={0} role="region" aria-label="segments">
            <table>
              <Head columns={["segment", "kind, class", "#size", "#live", "#share", "#blocks", "#holes", "#largest hole", "for the request"]} />
              <tbody>
                {shown.map((row) => (
                  <Row key={row.segment} row={row} scene_={now} free={freeSums.value!} />
                ))}
              </tbody>
            </table>
          </div>
          {rows.length > shown.length && (
            <p class="small">
              {counted(rows.length - shown.length, "more segment")}{" "}
              <button
                type="button"
                class="plain"
                onClick={() => {
                  all.value = true;
                }}
              >
                show them
              </button>
            </p>
          )}
        </div>
      )}
    </details>
  );
}
