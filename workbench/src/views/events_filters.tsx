// SPDX-License-Identifier: Apache-2.0
//
// The query of the events table as a text, with fields for what is asked for most, and its grammar.
import { session, site } from "../session";
import type { ColumnDoc } from "./events_columns";
import { kAliases, termValue, withTerm } from "./events_query";
import { query } from "./events_state";
import { names } from "./map_scene";

const kSites_count = 500; // listed for choice; the text finds the others

function Choice({ name, field, values, text }: { name: string; field: string; values: string[]; text: (value: string) => string }) {
  const now = termValue(query.value, field, [":", "="]);
  return (
    <label class="row small">
      {name}
      <select
        value={values.includes(now) ? now : ""}
        onChange={(event) => {
          query.value = withTerm(query.value, field, event.currentTarget.value === "" ? "" : `${field}:${event.currentTarget.value}`);
        }}
      >
        <option value="">any</option>
        {values.map((value) => (
          <option value={value}>{text(value)}</option>
        ))}
      </select>
    </label>
  );
}

function Sizes() {
  const [least, most] = [termValue(query.value, "size", [">="]), termValue(query.value, "size", ["<="])];
  const set = (low: string, high: string) => {
    const clean = (text: string) => text.replace(/\s/g, "");
    query.value = withTerm(
      query.value,
      "size",
      [clean(low) && `size>=${clean(low)}`, clean(high) && `size<=${clean(high)}`].filter((part) => part !== "").join(" "),
    );
  };
  return (
    <span class="row small" role="group" aria-label="size">
      <label class="row">
        size from <input type="text" size={8} placeholder="1MiB" value={least} onChange={(event) => set(event.currentTarget.value, most)} />
      </label>
      <label class="row">
        to <input type="text" size={8} placeholder="2GiB" value={most} onChange={(event) => set(least, event.currentTarget.value)} />
      </label>
    </span>
  );
}

function Grammar({ docs }: { docs: Map<string, ColumnDoc> }) {
  const short = [...kAliases].map(([alias, name]) => `${alias} for ${name}`).join(", ");
  return (
    <details class="small">
      <summary>how to ask</summary>
      <div class="stack events-grammar">
        <p>
          Terms with blanks between; an event must match all of them, and none with <code>-</code> before it.
        </p>
        <table>
          <tbody>
            <tr>
              <th scope="row">
                <code>kind:block_free,block_alloc</code>
              </th>
              <td>a word of the column, or one of several</td>
            </tr>
            <tr>
              <th scope="row">
                <code>size&gt;1MiB size&lt;=2GiB</code>
              </th>
              <td>
                a number: <code>: = &gt; &gt;= &lt; &lt;=</code>, with KiB MiB GiB where you like
              </td>
            </tr>
            <tr>
              <th scope="row">
                <code>step:3..5 site:12,14</code>
              </th>
              <td>a range, and one of several; steps from 1, and steps_ended as the ledger counts them</td>
            </tr>
            <tr>
              <th scope="row">
                <code>phase:optimizer site:train.py</code>
              </th>
              <td>part of the name of a phase, site, library or dimension</td>
            </tr>
            <tr>
              <th scope="row">
                <code>site:none</code>
              </th>
              <td>without a value</td>
            </tr>
            <tr>
              <th scope="row">
                <code>-nested:1</code>
              </th>
              <td>not; nested, capturing and from_torch are 0 or 1</td>
            </tr>
            <tr>
              <th scope="row">
                <code>loss "train.py"</code>
              </th>
              <td>text in the kind, call, object, or in the name of the site or phase</td>
            </tr>
          </tbody>
        </table>
        <p>
          Columns: {[...docs.keys()].filter((name) => session.value?.incident.events.has(name)).join(", ")}. Short: {short}.
        </p>
      </div>
    </details>
  );
}

export function EventFilters({ docs }: { docs: Map<string, ColumnDoc> }) {
  const { events } = session.value!.incident;
  const { names: texts, outline } = session.value!.incident;
  const devices = outline.devices.map(String);
  return (
    <div class="stack">
      <label class="events-query">
        <span class="small">find</span>
        <input
          type="search"
          class="mono"
          spellcheck={false}
          autocomplete="off"
          placeholder="kind:block_free size>1MiB site:3"
          value={query.value}
          onInput={(event) => {
            query.value = event.currentTarget.value;
          }}
        />
      </label>
      <div class="row events-fields">
        <Choice name="kind" field="kind" values={[...events.words.kind].sort()} text={(value) => value} />
        {devices.length > 1 && <Choice name="device" field="device" values={devices} text={(value) => `cuda:${value}`} />}
        <Choice
          name="site"
          field="site"
          values={texts.sites.slice(0, kSites_count).map((entry) => String(entry.site))}
          text={(value) => names.value.site(Number(value))}
        />
        {texts.phases.length > 0 && (
          <Choice
            name="phase"
            field="phase"
            values={texts.phases.map((entry) => String(entry.phase))}
            text={(value) => names.value.phase(Number(value))}
          />
        )}
        <Sizes />
        {site.value !== null && (
          <button
            type="button"
            class="small"
            onClick={() => {
              query.value = withTerm(query.value, "site", `site:${site.value}`);
            }}
          >
            of the highlighted site
          </button>
        )}
        {query.value !== "" && (
          <button
            type="button"
            class="small"
            onClick={() => {
              query.value = "";
            }}
          >
            all events
          </button>
        )}
      </div>
      <Grammar docs={docs} />
    </div>
  );
}
