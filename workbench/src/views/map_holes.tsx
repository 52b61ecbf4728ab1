// SPDX-License-Identifier: Apache-2.0
//
// The request beside the largest hole, to one scale, and what the free bytes of the segments come to. The rule: a hole that the request could not
// use is not the largest one, however large it is.
import { counted, shareText, sizeText } from "../parts/units";
import { Bytes, PaintSwatch } from "./common";
import type { Paint } from "./palette";
import { asked, freeSums, scene } from "./map_scene";

function Bar({ text, bytes, whole_bytes, paint }: { text: string; bytes: number; whole_bytes: number; paint: Paint }) {
  const width = whole_bytes <= 0 ? 0 : Math.max(0.2, (bytes / whole_bytes) * 100);
  return (
    <div class="hole-bar">
      <span class="hole-name">
        <PaintSwatch paint={paint} /> {text}
      </span>
      <span class="hole-track" aria-hidden="true">
        <span class={`drawn hole-fill paint-${paint}`} style={{ width: `${width}%` }} />
      </span>
      <span class="number">
        <Bytes bytes={bytes} />
      </span>
    </div>
  );
}

function Free({ paint, text, bytes, count }: { paint: Paint; text: string; bytes: number; count: number }) {
  return (
    <li>
      <PaintSwatch paint={paint} /> {text} <strong>{sizeText(bytes)}</strong> <span class="quiet">in {counted(count, "hole")}</span>
    </li>
  );
}

export function Holes() {
  const now = scene.value;
  const free = freeSums.value;
  if (now === null || free === null) return null;
  const wanted = asked.value;
  const counts = [0, 0, 0];
  free.classes.forEach((of) => {
    counts[of] += 1;
  });
  const largest = free.largest === null ? 0 : now.free[free.largest].size;
  const fits = wanted !== null && largest >= wanted.size_bytes;
  const whole = Math.max(wanted?.size_bytes ?? 0, largest);
  return (
    <section class="holes" aria-label="the request and the largest hole">
      {wanted !== null && <Bar text="the request" bytes={wanted.size_bytes} whole_bytes={whole} paint="request" />}
      <Bar
        text={wanted === null ? "largest hole" : "largest hole it may use"}
        bytes={largest}
        whole_bytes={whole}
        paint={fits || wanted === null ? "reusable" : "fragmented"}
      />
      <ul class="row small free-sums">
        {wanted !== null && (
          <li>
            {largest === 0
              ? "No free extent may serve it."
              : fits
                ? "At this instant it fits."
                : `The largest hole is ${shareText(largest, wanted.size_bytes)} of it.`}
          </li>
        )}
        {wanted === null ? (
          <Free paint="reusable" text="free in segments" bytes={free.reusable} count={counts[0]} />
        ) : (
          <>
            <Free paint="reusable" text="fits" bytes={free.reusable} count={counts[0]} />
            <Free paint="fragmented" text="too small" bytes={free.fragmented} count={counts[1]} />
            <Free paint="incompatible" text="another pool, stream or size class" bytes={free.incompatible} count={counts[2]} />
          </>
        )}
        {now.deferred.size > 0 && (
          <li>
            <PaintSwatch paint="deferred" /> freed, still waited for <span class="quiet">{counted(now.deferred.size, "block")}</span>
          </li>
        )}
        {now.regions.length > 0 && (
          <li>
            <PaintSwatch paint="segment" /> held, no segment <strong>{sizeText(now.candidateBytes + now.directBytes)}</strong>
          </li>
        )}
      </ul>
    </section>
  );
}
