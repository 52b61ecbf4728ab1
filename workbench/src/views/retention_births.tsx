// SPDX-License-Identifier: Apache-2.0
//
// What is live at the instant, by the step it was born in, stacked by site: what steps leave behind stands out as a comb. The rule: what was there
// before the recording was born in no step that anybody knows, and stands by itself.
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { foundAt, isBirthKnown, unseenAt } from "../history/before";
import { LifeKind } from "../history/history";
import { binBirths, type Binned, type Born } from "../parts/birth_bins";
import { amountText, counted, grouped, sizeText } from "../parts/units";
import { device, instant, printing, session, site, type Session } from "../session";
import { Scroll, Swatch } from "./common";
import { instantText } from "./instant";
import { book } from "./names";
import { ordinalName, ordinalPattern, patternOf } from "./palette";

const kBars_most = 72;
const kSites_most = 9;
const kHeight_px = 190;

function births(now: Session, one: number, row: number, byStep: boolean): Born[] {
  const { incident, history } = now;
  const { lives } = history;
  const found: Born[] = [];
  const { blocks, deferred } = history.scene(one, row);
  for (const life of blocks) {
    if (lives.kind[life] !== LifeKind.block || deferred.has(life) || !isBirthKnown(incident, history, life)) continue;
    found.push({ at: byStep ? lives.step[life] : lives.ticket[life], site: lives.site[life], size_bytes: lives.size[life] });
  }
  return found;
}

interface Before {
  found_bytes: number;
  found_count: number;
  unseen_bytes: number | null; // in no block; null: not known
  bytes: number; // as far as it is known
}

function beforeOf({ incident, history }: Session, one: number, row: number): Before {
  const found = foundAt(incident, history, history.scene(one, row));
  const found_bytes = found.reduce((sum, life) => sum + history.lives.size[life], 0);
  const unseen_bytes = unseenAt(incident, history, one, row);
  return { found_bytes, found_count: found.length, unseen_bytes, bytes: found_bytes + (unseen_bytes ?? 0) };
}

function hasSteps({ incident, history }: Session): boolean {
  const { lives } = history;
  const { events } = incident;
  const ended = events.column("step");
  if (events.rows > 0 && ended.number(events.rows - 1) > ended.number(0)) return true;
  for (let life = 1; life < lives.count; ++life) if (lives.step[life] !== lives.step[0]) return true;
  return false;
}

function binName(binned: Binned, at: number, byStep: boolean): string {
  const { from, to } = binned.bins[at];
  // A block born after n steps had ended is of step n + 1.
  const shift = byStep ? 1 : 0;
  return from === to ? grouped(from + shift) : `${grouped(from + shift)} to ${grouped(to + shift)}`;
}

function sumOf(binned: Binned, at: number): number {
  return binned.bins[at].bytes.reduce((total, bytes) => total + bytes, 0);
}

const kBefore = -1; // among the bars: what was there before the recording
const kCutFrom = 4; // times the greatest bar between the first and the last

// The first bar has what start-up needs and the last one what the running step needs: they are cut where they would make all others too small to see.
function scaleOf(binned: Binned, before_bytes: number): { most: number; cut: number[] } {
  const sums = binned.bins.map((_, at) => sumOf(binned, at));
  const most = Math.max(1, before_bytes, ...sums);
  const between = Math.max(0, ...sums.slice(1, -1));
  if (between === 0 || most < kCutFrom * between) return { most, cut: [] };
  const limit = between * 2;
  return { most: limit, cut: [...(before_bytes > limit ? [kBefore] : []), ...sums.flatMap((sum, at) => (sum > limit ? [at] : []))] };
}

interface BarsProps {
  binned: Binned;
  before_bytes: number;
  byStep: boolean;
  most: number;
  cut: number[];
}

function Bars({ binned, before_bytes, byStep, most, cut }: BarsProps) {
  const nothing = binned.bins.length === 0 && before_bytes === 0;
  const label = nothing ? "nothing is live" : `bytes live by ${byStep ? "step of" : "ticket at"} birth; the table below has them`;
  return (
    <div class="births drawn" role="img" aria-label={label} style={{ height: `${kHeight_px}px` }}>
      {before_bytes > 0 && (
        <span class={`birth-bar birth-before ${cut.includes(kBefore) ? "cut" : ""}`} title={`before recording: ${amountText(before_bytes)}`}>
          <span
            class={`birth-part pattern-${patternOf("before")}`}
            style={{ height: `${cut.includes(kBefore) ? 100 : (before_bytes / most) * 100}%`, backgroundColor: "var(--before)" }}
          />
        </span>
      )}
      {binned.bins.map((bin, at) => {
        const sum = sumOf(binned, at);
        const height = cut.includes(at) ? sum : most;
        return (
          <span
            class={`birth-bar ${cut.includes(at) ? "cut" : ""}`}
            title={`${byStep ? "step" : "tickets"} ${binName(binned, at, byStep)}: ${amountText(sum)} in ${counted(bin.blocks, "block")}`}
          >
            {bin.bytes.map((bytes, index) => {
              if (bytes === 0) return null;
              const of = binned.sites[index] ?? 0;
              const chosen = site.value !== null && site.value === of;
              return (
                <span
                  class={`birth-part pattern-${index < binned.sites.length ? ordinalPattern(of) : "level"} ${chosen ? "chosen" : ""}`}
                  style={{
                    height: `${(bytes / height) * 100}%`,
                    backgroundColor: `var(--${index < binned.sites.length ? ordinalName(of) : "ordinal-none"})`,
                  }}
                />
              );
            })}
          </span>
        );
      })}
    </div>
  );
}

function Table({ binned, before, byStep, name }: { binned: Binned; before: Before; byStep: boolean; name: (site: number) => string }) {
  return (
    <details class="small">
      <summary>The bars as a table</summary>
      <Scroll label="the bars as a table" extra="births-table">
        <table>
          <thead>
            <tr>
              <th scope="col">{byStep ? "born in step" : "born at ticket"}</th>
              <th scope="col" class="number">
                live
              </th>
              <th scope="col" class="number">
                blocks
              </th>
              <th scope="col">mostly of</th>
            </tr>
          </thead>
          <tbody>
            {before.bytes > 0 && (
              <tr>
                <th scope="row" class="nowrap">
                  before recording
                </th>
                <td class="number">{amountText(before.bytes)}</td>
                <td class="number">{before.unseen_bytes === 0 ? grouped(before.found_count) : "not known"}</td>
                <td>not known</td>
              </tr>
            )}
            {binned.bins.map((bin, at) => {
              if (bin.blocks === 0) return null;
              const sum = sumOf(binned, at);
              const greatest = bin.bytes.indexOf(Math.max(...bin.bytes));
              return (
                <tr>
                  <th scope="row" class="nowrap">
                    {binName(binned, at, byStep)}
                  </th>
                  <td class="number">{amountText(sum)}</td>
                  <td class="number">{grouped(bin.blocks)}</td>
                  <td class="wrap">{greatest < binned.sites.length ? name(binned.sites[greatest]) : "other sites"}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroll>
    </details>
  );
}

function BeforeText({ before }: { before: Before }) {
  const { bytes, found_bytes, found_count, unseen_bytes } = before;
  if (unseen_bytes === 0 && bytes === 0) return null;
  const found = found_count > 0 ? `${sizeText(found_bytes)} in ${counted(found_count, "block")} found there` : "";
  const unseen =
    unseen_bytes === null
      ? "how much is in no block is not known at this instant, the allocator has not reported yet"
      : unseen_bytes > 0
        ? `${sizeText(unseen_bytes)} in no block`
        : "";
  return (
    <p class="small">
      <Swatch name="before" pattern={patternOf("before")} /> <strong>before recording</strong>{" "}
      {bytes > 0 && `${sizeText(bytes)}, born at times that nobody knows: `}
      {[found, unseen].filter((text) => text !== "").join("; ")}.
    </p>
  );
}

export function Births() {
  const now = session.value;
  const one = device.value;
  const row = instant.value;
  const byStep = useMemo(() => now !== null && hasSteps(now), [now]);
  const binned = useMemo(() => (now === null ? null : binBirths(births(now, one, row, byStep), kBars_most, kSites_most)), [now, one, row, byStep]);
  const before = useMemo(() => (now === null ? null : beforeOf(now, one, row)), [now, one, row]);
  const whole = useSignal(false);
  if (now === null || binned === null || before === null) return null;
  const names = book(now.incident);
  const axis = byStep ? "step" : "ticket";
  const scale = scaleOf(binned, before.bytes);
  const shown = whole.value ? { most: Math.max(1, before.bytes, ...binned.bins.map((_, at) => sumOf(binned, at))), cut: [] } : scale;
  const barName = (at: number) => (at === kBefore ? "before recording" : `${axis} ${binName(binned, at, byStep)}`);
  const barSum = (at: number) => (at === kBefore ? before.bytes : sumOf(binned, at));
  return (
    <section class="card stack" aria-labelledby="births">
      <h2 id="births">
        Live at {instantText(row)}, by {byStep ? "the step it was born in" : "when it was born"}
      </h2>
      {!byStep && <p class="notice">No event in these tells the end of a step of the job, so the bars are stretches of tickets.</p>}
      <p class="small">
        {sizeText(binned.total_bytes)} in{" "}
        {counted(
          binned.bins.reduce((sum, bin) => sum + bin.blocks, 0),
          "block",
        )}
        . What every step leaves behind is a row of like bars; what only the last step needs stands at the right.
      </p>
      <BeforeText before={before} />
      <Bars binned={binned} before_bytes={before.bytes} byStep={byStep} {...shown} />
      {binned.bins.length > 0 && (
        <p class="births-axis tiny quiet">
          <span>
            {before.bytes > 0 && "before recording, then "}
            {axis} {binName(binned, 0, byStep)}
          </span>
          <span>{binName(binned, binned.bins.length - 1, byStep)}</span>
        </p>
      )}
      {scale.cut.length > 0 && (
        <p class="small">
          {!whole.value && (
            <>Cut off at the top: {scale.cut.map((at) => `${barName(at)} (${amountText(barSum(at))})`).join(", ")}. </>
          )}
          <label class="screen-only nowrap">
            <input
              type="checkbox"
              checked={whole.value}
              onChange={() => {
                whole.value = !whole.value;
              }}
            />{" "}
            whole bars
          </label>
        </p>
      )}
      <ul class="birth-legend small">
        {binned.sites.map((of) => (
          <li>
            <button
              type="button"
              class="plain site"
              aria-pressed={site.value === of}
              onClick={() => {
                site.value = site.value === of ? null : of;
              }}
            >
              <span aria-hidden="true" class={`swatch pattern-${ordinalPattern(of)}`} style={{ backgroundColor: `var(--${ordinalName(of)})` }} />{" "}
              {names.site(of)}
            </button>
          </li>
        ))}
      </ul>
      {!printing.value && <Table binned={binned} before={before} byStep={byStep} name={(of) => names.site(of)} />}
    </section>
  );
}
