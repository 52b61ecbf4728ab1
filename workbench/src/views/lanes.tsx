// SPDX-License-Identifier: Apache-2.0
//
// The lanes: active, reserved, used of the device, what lies outside, steps and phases, on one axis.
import { useMemo, useRef } from "preact/hooks";
import type { Incident } from "../data/incident";
import { beganLate } from "../history/before";
import { sizeText } from "../parts/units";
import { opened, printing, session } from "../session";
import { useWidth } from "./canvas";
import { Legend } from "./common";
import { LaneBands, LaneKnown } from "./lanes_bands";
import { LaneChart, type Line } from "./lanes_chart";
import { LaneOverview } from "./lanes_overview";
import type { LaneSource } from "./lanes_source";
import { insideOf, marksOf, totalBytes } from "./lanes_marks";
import { LaneStack } from "./lanes_stack";
import { source as sourceNow } from "./lanes_state";
import { LaneTools } from "./lanes_tools";
import { kLaneWords, LaneValues, LaneWords } from "./lanes_values";
import { patternOf } from "./palette";
import "uplot/dist/uPlot.min.css";
import "./lanes.css";

const kOutside: Line[] = [
  { lane: "unattributed", paint: "residual", filled: false, dash: [3, 3], width: 2 },
  { lane: "own_outside", paint: "library", filled: true },
  { lane: "other_processes", paint: "others", filled: false, dash: [8, 3], width: 2 },
];

function legendOf(lines: Line[]) {
  return lines.map((line) => ({ name: line.paint, pattern: patternOf(line.paint), text: kLaneWords[line.lane].text }));
}

export function LanesView() {
  const incident = opened.value;
  const source = sourceNow();
  return incident === null || source === null ? null : <Lanes incident={incident} source={source} />;
}

function Lanes({ incident, source }: { incident: Incident; source: LaneSource }) {
  const marks = useMemo(() => marksOf(incident, source), [incident, source]);
  const inside = insideOf(incident);
  const total = totalBytes(incident);
  const levels = useMemo(() => (total === null ? [] : [{ bytes: total, text: `the card, ${sizeText(total)}` }]), [total]);
  const most = useMemo(() => Math.max(total ?? 0, ...marks.map((mark) => mark.box?.to_bytes ?? 0)), [marks, total]);
  const plain = useMemo(() => marks.map((mark) => ({ ...mark, box: undefined, text: "" })), [marks]);
  const overview = useRef<HTMLDivElement>(null);
  const overview_px = useWidth(overview);
  return (
    <div class="stack">
      <section class="card stack lanes" aria-label="lanes">
        <LaneTools incident={incident} source={source} />
        <Legend items={legendOf([...[...inside].reverse(), ...kOutside])} />
        <LaneStack source={source} label="lanes: the instant">
          {(width_px) => (
            <>
              <LaneChart
                source={source}
                lines={inside}
                levels={levels}
                marks={marks}
                top_bytes={most}
                height_px={printing.value ? 220 : 290}
                width_px={width_px}
                label="active, reserved and used bytes of the device"
                ticks={false}
              />
              <LaneChart
                source={source}
                lines={kOutside}
                levels={[]}
                marks={plain}
                top_bytes={0}
                height_px={140}
                width_px={width_px}
                label="bytes outside PyTorch's allocator"
                ticks
              />
              <LaneKnown incident={incident} source={source} />
              {session.value !== null && <LaneBands incident={session.value.incident} source={source} width_px={width_px} />}
            </>
          )}
        </LaneStack>
        <div ref={overview}>
          <LaneOverview incident={incident} source={source} width_px={overview_px} />
        </div>
        <p class="tiny quiet screen-only">
          Wheel or drag: zoom. Shift and drag: move. Click: set the instant. With the keyboard: arrows, + and −, Home and End, Page up and down.
          {incident.outline.window.exact_event_count < incident.outline.window.event_count &&
            " Where events are summarised, the least and the greatest value of each run are drawn."}
          {beganLate(incident) &&
            " What the allocator reports beyond the blocks that were seen was there before the recording; until its first report, and where " +
              "events are summarised, it is not known how much."}
        </p>
      </section>
      <section class="card stack screen-only" aria-label="values">
        <LaneValues incident={incident} source={source} />
        <LaneWords incident={incident} />
      </section>
    </div>
  );
}
