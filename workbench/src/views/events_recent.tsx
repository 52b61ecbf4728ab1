// SPDX-License-Identifier: Apache-2.0
//
// What was allocated last before the failure, or before the instant. The rule: newest first, and what was freed again before that point says so.
import { signal } from "@preact/signals";
import type { Table } from "../data/table";
import { counted, grouped, sizeText } from "../parts/units";
import { device, instant, life, ofIncident, session, site, view } from "../session";
import { Bytes, Head } from "./common";
import { failureRow, goTo, instantText, ticketOf } from "./instant";
import { names } from "./map_scene";

const kShown_count = 16;
const fromFailure = signal(true);
const shown_count = ofIncident(kShown_count);

// Rows of the last allocations of blocks of a device, newest first; the row itself counts.
export function lastAllocations(events: Table, of: number, row: number, count: number): number[] {
  const rows: number[] = [];
  const kind = events.column("kind");
  const where = events.column("device");
  const wanted = events.words.kind.indexOf("block_alloc");
  for (let at = Math.min(row, events.rows - 1); at >= 0 && rows.length < count; at -= 1) {
    if (kind.number(at) === wanted && where.number(at) === of) rows.push(at);
  }
  return rows;
}

function Row({ row, until }: { row: number; until: number }) {
  const { incident, history } = session.value!;
  const { events } = incident;
  const ticket = events.column("ticket").at(row)!;
  const of = history.lifeOf(ticket);
  const death = of < 0 ? history.rows : history.lives.death[of];
  const site_ = events.column("site").at(row) ?? 0;
  const thread = events.column("thread").at(row);
  const go = () => {
    goTo(row);
    if (of >= 0) life.value = of;
  };
  return (
    <tr class={row === instant.value ? "chosen" : ""}>
      <th scope="row" class="number">
        <button type="button" class="plain" onClick={go}>
          {grouped(ticket)}
        </button>
      </th>
      <td class="number">{grouped(until - row)}</td>
      <td class="number">
        <Bytes bytes={events.column("size_bytes").at(row)} />
      </td>
      <td class="site-name">
        <button
          type="button"
          class="plain"
          title={names.value.site(site_)}
          aria-pressed={site.value === site_}
          onClick={() => {
            site.value = site.value === site_ ? null : site_;
          }}
        >
          {names.value.site(site_)}
        </button>
      </td>
      <td class="number">{thread === null || thread === 0 ? <span class="quiet">not known</span> : grouped(thread)}</td>
      <td>{names.value.phase(events.column("phase").at(row) ?? 0)}</td>
      <td>
        {death <= until ? (
          <>
            freed again <span class="quiet">at {grouped(ticketOf(death) ?? 0)}</span>
          </>
        ) : (
          "live"
        )}
      </td>
    </tr>
  );
}

export function Recent() {
  const open = session.value;
  if (open === null) return null;
  const failure = failureRow();
  const until = failure !== null && fromFailure.value ? failure : instant.value;
  const rows = lastAllocations(open.incident.events, device.value, until, shown_count.value + 1);
  const shown = rows.slice(0, shown_count.value);
  const what = failure !== null && fromFailure.value ? "the failure" : instantText(until);
  const bytes = shown.reduce((sum, row) => sum + (open.incident.events.column("size_bytes").at(row) ?? 0), 0);
  return (
    <section class="card stack" aria-label="allocated last">
      <div class="row between">
        <h2>
          Allocated right before {what} <span class="quiet small">newest first</span>
        </h2>
        {failure !== null && (
          <div class="row" role="group" aria-label="before what">
            <button
              type="button"
              class="small"
              aria-pressed={fromFailure.value}
              onClick={() => {
                fromFailure.value = true;
              }}
            >
              before the failure
            </button>
            <button
              type="button"
              class="small"
              aria-pressed={!fromFailure.value}
              onClick={() => {
                fromFailure.value = false;
              }}
            >
              before the instant
            </button>
          </div>
        )}
      </div>
      {shown.length === 0 ? (
        <p class="small">No allocation of this device lies before it on this page.</p>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label="last allocations">
          <table>
            <Head columns={["#ticket", "#events before", "#size", "site", "#thread", "phase", "then"]} />
            <tbody>
              {shown.map((row) => (
                <Row key={row} row={row} until={until} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <p class="small quiet">
        {counted(shown.length, "allocation")}, {sizeText(bytes)}.{" "}
        {rows.length > shown.length && (
          <button
            type="button"
            class="plain"
            onClick={() => {
              shown_count.value *= 4;
            }}
          >
            show more
          </button>
        )}{" "}
        <button
          type="button"
          class="plain"
          onClick={() => {
            view.value = "events";
          }}
        >
          all events
        </button>
      </p>
    </section>
  );
}
