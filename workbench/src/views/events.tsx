// SPDX-License-Identifier: Apache-2.0
//
// The ledger: every event that the page holds one by one, with search. The rule: the query is the one place that says what is looked for; the
// fields beside it only write into it.
import { computed, effect, signal } from "@preact/signals";
import type { Table } from "../data/table";
import { counted, grouped } from "../parts/units";
import { instant, life, ofIncident, opened, session, view } from "../session";
import { columnDocs, kFirstShown, rowText, shownColumn, type ShownColumn } from "./events_columns";
import { EventFilters } from "./events_filters";
import { EventRows } from "./events_rows";
import { compileQuery, lastNotAbove, matchingRows, type Query } from "./events_query";
import { query } from "./events_state";
import { goTo, instantText } from "./instant";
import { names } from "./map_scene";
import { problemText } from "./opening";
import "./events.css";

const onlyHits = signal(true);
const shownNames = signal<string[]>(kFirstShown);
const derived = ofIncident<Table | null>(null);
const refused = ofIncident(""); // why there are no derived columns
const hits = signal<Int32Array | null>(null); // null: no query, or not searched yet
const searching = signal(false);
const copied = ofIncident("");
const docs = columnDocs();

const compiled = computed((): Query | null => {
  const open = session.value;
  return open === null ? null : compileQuery(query.value, open.incident.events, names.value);
});

let search_count = 0;

// Only the newest search may tell what it found.
effect(() => {
  const wanted = compiled.value;
  const events = session.value?.incident.events;
  const mine = (search_count += 1);
  if (wanted === null || !wanted.ok || wanted.empty || events === undefined) {
    hits.value = null;
    searching.value = false;
    return;
  }
  searching.value = true;
  const pause = () => new Promise<void>((done) => setTimeout(done));
  void matchingRows(events.rows, wanted.matches, () => mine === search_count, pause).then((found) => {
    if (found === null || mine !== search_count) return;
    hits.value = found;
    searching.value = false;
  });
});

const columns = computed((): ShownColumn[] => {
  const open = session.value;
  if (open === null) return [];
  return shownNames.value.flatMap((name) => {
    if (open.incident.events.has(name)) return [shownColumn(open.incident.events, name, docs, names.value, false)];
    return derived.value?.has(name) === true ? [shownColumn(derived.value, name, docs, names.value, true)] : [];
  });
});

function ColumnChoice() {
  const events = session.value!.incident.events;
  const toggle = (name: string) => {
    const all = [...events.names, ...(derived.value?.names ?? [])];
    const on = new Set(shownNames.value);
    if (!on.delete(name)) on.add(name);
    shownNames.value = all.filter((one) => on.has(one));
  };
  const box = (name: string, mark: string) => (
    <label class="small nowrap" title={docs.get(name)?.meaning}>
      <input type="checkbox" checked={shownNames.value.includes(name)} onChange={() => toggle(name)} /> {name} <span class="tiny quiet">{mark}</span>
    </label>
  );
  // What comes late of another incident is dropped.
  const load = async () => {
    const of = session.value!;
    try {
      const table = await of.incident.derived();
      if (session.value === of) derived.value = table;
    } catch (error) {
      if (session.value === of) refused.value = problemText(error);
    }
  };
  return (
    <details class="small">
      <summary>columns</summary>
      <div class="events-columns">
        {events.names.map((name) => box(name, docs.get(name)?.mark ?? ""))}
        {derived.value === null ? (
          <button type="button" class="small" onClick={() => void load()}>
            the replay's derived columns
          </button>
        ) : (
          derived.value.names.map((name) => box(name, "the replay's"))
        )}
      </div>
      {refused.value !== "" && (
        <p class="notice notice-strong" role="alert">
          {refused.value}
        </p>
      )}
    </details>
  );
}

function hitFrom(direction: 1 | -1): void {
  const found = hits.value;
  if (found === null || found.length === 0) return;
  const at = lastNotAbove(found, instant.value);
  const isOn = at >= 0 && found[at] === instant.value;
  const to = direction === 1 ? at + 1 : isOn ? at - 1 : at;
  if (to >= 0 && to < found.length) goTo(found[to]);
}

async function copyRow(table: Table, row: number): Promise<void> {
  const text = rowText(table, row);
  try {
    await navigator.clipboard.writeText(text);
    copied.value = `row of ${instantText(row)} copied, without names`;
  } catch {
    copied.value = text; // to be copied by hand
  }
}

function openBlock(table: Table, row: number): void {
  const ticket = table.column("allocation").at(row);
  const found = ticket === null ? -1 : session.value!.history.lifeOf(ticket);
  if (found < 0) return;
  life.value = found;
  view.value = "map";
}

function Status({ rows }: { rows: number }) {
  const found = hits.value;
  const wanted = compiled.value;
  if (wanted !== null && !wanted.ok)
    return (
      <p class="small events-wrong" role="alert">
        {wanted.error.text}
      </p>
    );
  if (searching.value)
    return (
      <p class="small" role="status">
        searching {counted(rows, "event")}
      </p>
    );
  if (found === null)
    return (
      <p class="small" role="status">
        {counted(rows, "event")}
      </p>
    );
  const at = lastNotAbove(found, instant.value);
  const place = at >= 0 && found[at] === instant.value ? `, hit ${grouped(at + 1)}` : "";
  return (
    <p class="small" role="status">
      {counted(found.length, "hit")} of {counted(rows, "event")}
      {place}
    </p>
  );
}

export function EventsView() {
  const open = session.value;
  if (open === null) return <p class="quiet">The events are being read.</p>;
  const { events } = open.incident;
  const found = hits.value;
  const narrowed = found !== null && onlyHits.value;
  const window = opened.value?.outline.window;
  const missing = window === undefined ? 0 : window.event_count - window.exact_event_count;
  return (
    <section class="card stack" aria-label="events">
      <h2>
        Events <span class="quiet small">the ledger of the window</span>
      </h2>
      {missing > 0 && (
        <p class="notice">
          {counted(missing, "event")} of the window {missing === 1 ? "is" : "are"} not on this page one by one; the lanes show{" "}
          {missing === 1 ? "it" : "them"} in runs.
        </p>
      )}
      <EventFilters docs={docs} />
      <div class="row between">
        <Status rows={events.rows} />
        <div class="row">
          <label class="row small">
            <input
              type="checkbox"
              checked={onlyHits.value}
              disabled={found === null}
              onChange={(event) => {
                onlyHits.value = event.currentTarget.checked;
              }}
            />{" "}
            hits only
          </label>
          <button type="button" class="small" disabled={found === null} onClick={() => hitFrom(-1)}>
            previous hit
          </button>
          <button type="button" class="small" disabled={found === null} onClick={() => hitFrom(1)}>
            next hit
          </button>
          <button type="button" class="small" disabled={instant.value < 0} onClick={() => void copyRow(events, instant.value)}>
            copy the row
          </button>
        </div>
      </div>
      <EventRows
        count={narrowed ? found.length : events.rows}
        rowAt={narrowed ? (index) => found[index] : (index) => index}
        indexOf={narrowed ? (row) => lastNotAbove(found, row) : (row) => row}
        columns={columns.value}
        chosen={instant.value}
        isHit={(row) => found !== null && !narrowed && found[lastNotAbove(found, row)] === row}
        onChoose={goTo}
        onOpen={(row) => openBlock(events, row)}
        onCopy={(row) => void copyRow(events, row)}
        onHit={hitFrom}
      />
      <p class="small wrap" role="status">
        {copied.value}
      </p>
      <div class="row between">
        <ColumnChoice />
        <p class="small quiet">Arrow keys: the instant; n and N: next and previous hit; c: copy the row; Enter: its block on the map.</p>
      </div>
    </section>
  );
}
