// SPDX-License-Identifier: Apache-2.0
//
// Sites with live bytes at the instant. The rule: the sums are the page's own; `retained` is the receipt's, and known at the failure only.
import { computed, signal } from "@preact/signals";
import { foundAt } from "../history/before";
import type { SiteSum } from "../history/site_sums";
import { changeText, counted, grouped, shareText, sizeText } from "../parts/units";
import { device, instant, ofIncident, reference, session, site } from "../session";
import { Unseen } from "./before";
import { Bytes, Swatch } from "./common";
import { failureRow, instantText } from "./instant";
import { Stack } from "./map_details";
import { names, referenceSums, scene, siteSums } from "./map_scene";
import { ordinalName, ordinalPattern } from "./palette";
import "./map.css";

type Key = "site" | "bytes" | "blocks" | "retained" | "steps" | "phase" | "category" | "growth";

interface SiteRow extends SiteSum {
  label: string;
  retained_bytes: number | null; // null: not known at this instant
  growth_bytes: number | null; // null: no reference
}

const order = signal<{ key: Key; down: boolean }>({ key: "bytes", down: true });
const all = ofIncident(false);
const kShown_count = 50;

// Blocks by site of which nobody knows when they were born.
const found = computed(() => {
  const bySite = new Map<number, number>();
  if (session.value === null || scene.value === null) return bySite;
  const { incident, history } = session.value;
  for (const life of foundAt(incident, history, scene.value)) bySite.set(history.lives.site[life], (bySite.get(history.lives.site[life]) ?? 0) + 1);
  return bySite;
});

// Of the device that failed: the receipt judges no other.
export function retainedAtFailure(): Map<number, number> | null {
  const open = session.value;
  if (open === null || instant.value !== failureRow()) return null;
  const { sites, failure } = open.incident.receipt.evidence;
  if (sites === null || failure?.device !== device.value) return null;
  return new Map(sites.map((entry) => [Number(entry.site), Number(entry.retained_bytes)]));
}

// Sites that were there at the reference and are gone have a row too.
export function siteRows(
  now: Map<number, SiteSum>,
  before: Map<number, SiteSum> | null,
  retained: Map<number, number> | null,
  label: (site: number) => string,
): SiteRow[] {
  const gone = before === null ? [] : [...before.values()].filter((sum) => !now.has(sum.site)).map((sum) => ({ ...sum, bytes: 0, blocks: 0 }));
  return [...now.values(), ...gone].map((sum) => ({
    ...sum,
    label: label(sum.site),
    retained_bytes: retained === null ? null : (retained.get(sum.site) ?? null),
    growth_bytes: before === null ? null : sum.bytes - (before.get(sum.site)?.bytes ?? 0),
  }));
}

function sorted(rows: SiteRow[]): SiteRow[] {
  const { key, down } = order.value;
  const value: Record<Key, (row: SiteRow) => number | string> = {
    site: (row) => row.label,
    bytes: (row) => row.bytes,
    blocks: (row) => row.blocks,
    retained: (row) => row.retained_bytes ?? -1,
    steps: (row) => row.firstStep,
    phase: (row) => names.value.phase(row.phase),
    category: (row) => row.category,
    growth: (row) => Math.abs(row.growth_bytes ?? 0),
  };
  const of = value[key];
  return rows.sort((a, b) => {
    const [left, right] = [of(a), of(b)];
    return (left < right ? -1 : left > right ? 1 : 0) * (down ? -1 : 1) || b.bytes - a.bytes || a.site - b.site;
  });
}

function Head({ of, text, number = false, title }: { of: Key; text: string; number?: boolean; title?: string }) {
  const { key, down } = order.value;
  const press = () => {
    order.value = { key: of, down: key === of ? !down : of !== "site" && of !== "phase" && of !== "category" };
  };
  return (
    <th scope="col" class={number ? "number" : ""} aria-sort={key !== of ? "none" : down ? "descending" : "ascending"} title={title}>
      <button type="button" class="sort" onClick={press}>
        {text}
        {key === of && <span aria-hidden="true"> {down ? "▾" : "▴"}</span>}
      </button>
    </th>
  );
}

function stepsText(row: SiteRow, found_count: number): string {
  if (found_count > 0) return found_count === row.blocks ? "before recording" : "in part before recording";
  return row.firstStep === row.lastStep ? `${grouped(row.firstStep + 1)}` : `${grouped(row.firstStep + 1)} to ${grouped(row.lastStep + 1)}`;
}

function Row({ row, whole_bytes, withRetained, withGrowth }: { row: SiteRow; whole_bytes: number; withRetained: boolean; withGrowth: boolean }) {
  const isChosen = site.value === row.site;
  return (
    <tr class={isChosen ? "chosen" : ""}>
      <th scope="row" class="site-name">
        <Swatch name={ordinalName(row.site)} pattern={ordinalPattern(row.site)} />{" "}
        <button
          type="button"
          class="plain"
          title={row.label}
          aria-pressed={isChosen}
          onClick={() => {
            site.value = isChosen ? null : row.site;
          }}
        >
          {row.label}
        </button>
        {isChosen && <Stack of={row.site} />}
      </th>
      <td class="number">
        <Bytes bytes={row.bytes} />
      </td>
      <td class="number nowrap">
        <span class="share-bar" aria-hidden="true">
          <span class="drawn" style={{ width: `${whole_bytes === 0 ? 0 : (row.bytes / whole_bytes) * 100}%` }} />
        </span>
        {shareText(row.bytes, whole_bytes)}
      </td>
      <td class="number">{grouped(row.blocks)}</td>
      {withGrowth && <td class="number">{row.growth_bytes === null ? "" : row.growth_bytes === 0 ? "0" : changeText(row.growth_bytes)}</td>}
      {withRetained && (
        <td class="number">{row.retained_bytes === null ? "" : row.retained_bytes === 0 ? "0" : <Bytes bytes={row.retained_bytes} />}</td>
      )}
      <td class="number">{stepsText(row, found.value.get(row.site) ?? 0)}</td>
      <td>{row.phase === 0 ? <span class="quiet">none</span> : names.value.phase(row.phase)}</td>
      <td>{row.category === "unknown" ? <span class="quiet">not told</span> : row.category.replace("_", " ")}</td>
    </tr>
  );
}

export function SitesTable() {
  const now = siteSums.value;
  if (now === null) return null;
  const retained = retainedAtFailure();
  const rows = sorted(siteRows(now, referenceSums.value, retained, (of) => names.value.site(of)));
  const whole_bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
  const shown = all.value ? rows : rows.slice(0, kShown_count);
  const withGrowth = referenceSums.value !== null;
  return (
    <section class="card stack" aria-label="sites">
      <div class="row between">
        <h2>
          Sites{" "}
          <span class="quiet small">
            {counted(now.size, "site")}, {sizeText(whole_bytes)} live at {instantText(instant.value)}
          </span>
        </h2>
        {site.value !== null && (
          <button
            type="button"
            class="small"
            onClick={() => {
              site.value = null;
            }}
          >
            highlight none
          </button>
        )}
      </div>
      <div class="table-scroll" tabIndex={0} role="region" aria-label="table of sites">
        <table>
          <thead>
            <tr>
              <Head of="site" text="site" />
              <Head of="bytes" text="bytes" number />
              <th scope="col" class="number">
                share
              </th>
              <Head of="blocks" text="blocks" number />
              {withGrowth && <Head of="growth" text={`since ${instantText(reference.value ?? -1)}`} number />}
              {retained !== null && <Head of="retained" text="retained" number title="from the receipt: bytes of survivors, at the failure" />}
              <Head of="steps" text="born in steps" number />
              <Head of="phase" text="phase" title="of the largest block" />
              <Head of="category" text="use" title="that most bytes have" />
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <Row key={row.site} row={row} whole_bytes={whole_bytes} withRetained={retained !== null} withGrowth={withGrowth} />
            ))}
          </tbody>
        </table>
      </div>
      <Unseen where="this table" />
      {rows.length > shown.length && (
        <p class="small">
          {counted(rows.length - shown.length, "more site")}{" "}
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
      {retained === null && failureRow() !== null && (
        <p class="small quiet">What a site retains is known at the failure only, on the device that failed.</p>
      )}
    </section>
  );
}
