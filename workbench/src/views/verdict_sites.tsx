// SPDX-License-Identifier: Apache-2.0
//
// Who was live at the failure, or at the peak, by birth site: the first few, with the way to all of them.
import type { Incident } from "../data/incident";
import type { Count } from "../data/receipt";
import { big, counted, drawn, grouped, shareText } from "../parts/units";
import { kUses } from "../parts/words";
import { site, view } from "../session";
import { Bytes, Scroll, SiteButton, Swatch } from "./common";
import { book } from "./names";
import { ordinalName, ordinalPattern } from "./palette";

const kShown_count = 7;

interface Row {
  site: number;
  bytes: Count;
  block_count: Count;
  category: string;
  phase: number;
}

// `bytes`: of all sites, listed or not.
function rowsOf(incident: Incident, device: number): { title: string; rows: Row[]; all: number; bytes: number } | null {
  const { evidence } = incident.receipt;
  if (evidence.sites !== null) {
    const rows = evidence.sites as unknown as Row[];
    const bytes = rows.reduce((sum, row) => sum + Number(row.bytes), 0);
    return { title: "Live at the failure, by birth site", rows, all: rows.length, bytes };
  }
  const told = evidence.peak_sites as { device: number; site_count: Count; bytes: Count; rows: Row[] }[] | undefined;
  const peak = told?.find((one) => one.device === device);
  if (peak === undefined) return null;
  return { title: "Live at the peak, by birth site", rows: peak.rows, all: Number(peak.site_count), bytes: Number(peak.bytes) };
}

export function TopSites({ incident, device }: { incident: Incident; device: number }) {
  const list = rowsOf(incident, device);
  if (list === null || list.rows.length === 0) return null;
  const names = book(incident);
  const most = Number(list.rows[0].bytes);
  const before = big(incident.receipt.evidence.growth?.unknown_birth_bytes ?? 0);
  const told = list.rows.some((row) => row.category !== "unknown");
  return (
    <section class="card stack" aria-labelledby="top-sites">
      <h2 id="top-sites">{list.title}</h2>
      <Scroll label="sites">
        <table class="top-sites">
          <thead>
            <tr>
              <th scope="col">allocated at</th>
              <th scope="col" class="number">
                bytes
              </th>
              <th scope="col" class="number">
                share
              </th>
              <th scope="col" class="number">
                blocks
              </th>
              {told && <th scope="col">what</th>}
            </tr>
          </thead>
          <tbody>
            {list.rows.slice(0, kShown_count).map((row) => (
              <tr class={site.value === row.site ? "chosen" : ""}>
                <td class="wrap">
                  <SiteButton ordinal={row.site} text={names.site(row.site)} then={() => (view.value = "flame")} />
                  <span
                    aria-hidden="true"
                    class={`site-bar drawn pattern-${ordinalPattern(row.site)}`}
                    style={{ width: `${((drawn(row.bytes) ?? 0) / most) * 100}%`, backgroundColor: `var(--${ordinalName(row.site)})` }}
                  />
                </td>
                <td class="number">
                  <Bytes bytes={row.bytes} />
                </td>
                <td class="number">{shareText(Number(row.bytes), list.bytes)}</td>
                <td class="number">{grouped(row.block_count)}</td>
                {told && (
                  <td class="nowrap">
                    {row.category === "unknown" ? (
                      ""
                    ) : (
                      <>
                        <Swatch name={`category-${row.category.replace("_", "-")}`} /> {kUses[row.category]}
                      </>
                    )}
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {list.all > kShown_count && (
        <p class="small">
          <button
            type="button"
            class="plain screen-only"
            onClick={() => {
              view.value = "flame";
            }}
          >
            and {counted(list.all - kShown_count, "other site")}
          </button>
        </p>
      )}
      {before > 0n && (
        <p class="small">
          <strong>before recording</strong> <Bytes bytes={before.toString()} />, from sites and at times that nobody knows
        </p>
      )}
      <p class="tiny quiet">A site is where a block was allocated, never a claim about who holds it now.</p>
    </section>
  );
}
