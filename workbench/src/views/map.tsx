// SPDX-License-Identifier: Apache-2.0
//
// The memory map at an instant: every segment by address, what lies in it, what is free between, and the request that failed.
import { counted, sizeText } from "../parts/units";
import { instant, playing, reference, session, site } from "../session";
import { Unseen } from "./before";
import { Swatch } from "./common";
import { failureRow, goTo, instantText } from "./instant";
import { MapCanvas } from "./map_canvas";
import { Details } from "./map_details";
import { Holes } from "./map_holes";
import { colourBy, colourByNow, picture, staysInPlace, strays, withRequest } from "./map_state";
import { asked, names, scene, siteSums } from "./map_scene";
import { SegmentTable } from "./map_table";
import type { ColourBy } from "./map_paint";
import "./map.css";

const kBy: { by: ColourBy; text: string; more: string }[] = [
  { by: "category", text: "use", more: "use" },
  { by: "site", text: "site", more: "site" },
  { by: "age", text: "age in steps", more: "age" },
  { by: "phase", text: "phase", more: "phase" },
];
const kLeadIn_count = 60; // events before the failure

function playAroundFailure(): void {
  const failure = failureRow();
  if (failure === null) return;
  goTo(failure - kLeadIn_count);
  playing.value = true;
}

function Controls() {
  const sums = siteSums.value;
  const sites = sums === null ? [] : [...sums.values()].sort((a, b) => b.bytes - a.bytes || a.site - b.site);
  return (
    <div class="row map-controls">
      <div class="row" role="group" aria-label="colours of the blocks">
        <span class="small quiet">colour by</span>
        {kBy.map(({ by, text }) => (
          <button
            type="button"
            class="small"
            aria-pressed={colourBy.value === by}
            onClick={() => {
              colourByNow(by);
            }}
          >
            {text}
          </button>
        ))}
      </div>
      <label class="row small">
        <span class="quiet">site</span>
        <select
          class="map-site"
          value={site.value === null ? "" : String(site.value)}
          onChange={(event) => {
            site.value = event.currentTarget.value === "" ? null : Number(event.currentTarget.value);
          }}
        >
          <option value="">all</option>
          {site.value !== null && sums?.has(site.value) !== true && (
            <option value={String(site.value)}>{names.value.site(site.value)} (nothing live)</option>
          )}
          {sites.map((sum) => (
            <option value={String(sum.site)}>
              {sizeText(sum.bytes)} · {names.value.site(sum.site)}
            </option>
          ))}
        </select>
      </label>
      {asked.value !== null && (
        <label class="row small">
          <input
            type="checkbox"
            checked={withRequest.value}
            onChange={(event) => {
              withRequest.value = event.currentTarget.checked;
            }}
          />{" "}
          the request at the largest hole
        </label>
      )}
      {failureRow() !== null && (
        <button type="button" class="small" onClick={playAroundFailure}>
          play around the failure
        </button>
      )}
    </div>
  );
}

const kLegend_count = 12;

// Classes with the most bytes first.
function BlockLegend() {
  const now = picture.value;
  if (now === null) return null;
  const bytes = new Map<number, number>();
  for (const life of now.scene.blocks) {
    if (now.scene.deferred.has(life)) continue;
    const of = now.painter.of(life);
    bytes.set(of, (bytes.get(of) ?? 0) + now.lives.size[life]);
  }
  const all = [...bytes].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  const shown = all.slice(0, kLegend_count);
  const rest = all.length - shown.length;
  return (
    <section class="small" aria-label="colours of the map">
      <ul class="map-legend">
        {shown.map(([of, sum]) => {
          const { name, pattern, text } = now.painter.classes[of];
          return (
            <li>
              <Swatch name={name} pattern={pattern} />{" "}
              <span class="legend-text" title={text}>
                {text}
              </span>{" "}
              <span class="number">{sizeText(sum)}</span>
            </li>
          );
        })}
      </ul>
      {rest > 0 && <p class="quiet">and {counted(rest, kBy.find(({ by }) => by === colourBy.value)!.more)} more</p>}
    </section>
  );
}

export function MapView() {
  const now = scene.value;
  if (session.value === null || now === null) return <p class="quiet">The events are being read.</p>;
  return (
    <div class="stack">
      <section class="card stack" aria-label="memory map">
        <div class="row between">
          <h2>
            Memory map{" "}
            <span class="quiet small">
              {instantText(instant.value)}: {counted(now.blocks.length, "block")}, {sizeText(now.activeBytes)} in{" "}
              {counted(now.segments.length, "segment")} of {sizeText(now.segmentBytes)}
            </span>
          </h2>
        </div>
        <Controls />
        <Unseen where="this map" />
        <Holes />
        <div class="map-beside">
          <MapCanvas />
          <div class="map-aside stack">
            <Details />
            <BlockLegend />
          </div>
        </div>
        <p class="small quiet">
          One scale for all; rows by address, not the driver's addresses. Full bars are blocks, low ones are free.{" "}
          {staysInPlace.value
            ? "An address keeps its place while the instant moves; thin lines are room that no segment holds now."
            : "Only what is held at the instant is drawn."}
          {strays.value.length > 0 && ` ${counted(strays.value.length, "block")} in no segment that the page knows.`}
          {asked.value !== null &&
            withRequest.value &&
            " The orange line below the blocks is the request, as long as it is, from where the largest hole begins that it may use."}
          {reference.value !== null &&
            (reference.value <= instant.value
              ? ` Outlined: born since ${instantText(reference.value)}; dashed: freed since then.`
              : ` Outlined: freed by ${instantText(reference.value)}; dashed: not born yet at this instant.`)}
        </p>
      </section>
      <SegmentTable />
    </div>
  );
}
