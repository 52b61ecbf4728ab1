// SPDX-License-Identifier: Apache-2.0
//
// The way to the failure in little, beside the verdict.
import { useMemo, useRef } from "preact/hooks";
import type { Incident } from "../data/incident";
import { sizeText } from "../parts/units";
import { opened, span, view } from "../session";
import { useWidth } from "./canvas";
import { Legend } from "./common";
import { LaneChart, type Mark } from "./lanes_chart";
import { insideOf, marksOf, totalBytes } from "./lanes_marks";
import type { LaneSource } from "./lanes_source";
import { source as sourceNow } from "./lanes_state";
import { kLaneWords } from "./lanes_values";
import { patternOf } from "./palette";
import "uplot/dist/uPlot.min.css";
import "./lanes.css";

const kHeight_px = 140;

// There is room for no more than one word.
function littleMarks(incident: Incident, source: LaneSource): Mark[] {
  return marksOf(incident, source).map((mark) => ({
    ...mark,
    text: mark.box === undefined ? "" : mark.text,
    box: mark.box === undefined ? undefined : { ...mark.box, text: "" },
  }));
}

export function WayThere({ incident }: { incident: Incident }) {
  const box = useRef<HTMLDivElement>(null);
  const width_px = useWidth(box);
  const source = opened.value === null ? null : sourceNow();
  const inside = insideOf(incident);
  const total = totalBytes(incident);
  const marks = useMemo(() => (source === null ? [] : littleMarks(incident, source)), [incident, source]);
  const levels = useMemo(() => (total === null ? [] : [{ bytes: total, text: `the card, ${sizeText(total)}` }]), [total]);
  const most = useMemo(() => Math.max(total ?? 0, ...marks.map((mark) => mark.box?.to_bytes ?? 0)), [marks, total]);
  if (source === null || incident.levels.rows === 0) return null;
  const open = () => {
    view.value = "lanes";
  };
  return (
    <section class="card stack" aria-labelledby="way-there">
      <div class="row between">
        <h2 id="way-there">{incident.receipt.evidence.failure === null ? "Over time" : "The way there"}</h2>
        <button type="button" class="small screen-only" onClick={open}>
          {span.value === null ? "open lanes" : "open lanes: a part is shown"}
        </button>
      </div>
      <div ref={box}>
        <LaneChart
          source={source}
          lines={inside}
          levels={levels}
          marks={marks}
          top_bytes={most}
          height_px={kHeight_px}
          width_px={width_px}
          label="active, reserved and used bytes of the device over the whole recording"
          ticks
        />
      </div>
      <Legend
        items={[...inside].reverse().map(({ lane, paint }) => ({ name: paint, pattern: patternOf(paint), text: kLaneWords[lane].text }))}
      />
    </section>
  );
}
