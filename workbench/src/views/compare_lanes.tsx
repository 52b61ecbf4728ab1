// SPDX-License-Identifier: Apache-2.0
//
// The lanes of two recordings, one under the other. The rule: one scale for both, of bytes and of events or time; drawn from the levels, whose
// greatest values lose no peak.
import type { Incident } from "../data/incident";
import { beganLate } from "../history/before";
import { durationText, exactText, grouped, knownText } from "../parts/units";
import { axis } from "../session";

const kWidth = 1000;
const kHeight = 120;

interface Run {
  from: number; // events or ns since the first of the window
  to: number;
  active: number; // bytes, NaN where not known
  reserved: number;
  used: number;
}

type LaneName = "active" | "reserved" | "used";

interface Scale {
  x: (at: number) => number;
  y: (bytes: number) => number;
  wide: number; // of an event
}

export interface Side {
  title: string;
  incident: Incident;
}

interface Lanes {
  runs: Run[];
  length: number;
  greatest: number;
  failure: number | null; // where on the axis
}

function lanesOf(incident: Incident, device: number, byTime: boolean): Lanes | null {
  const { levels } = incident;
  if (levels.rows === 0) return null;
  const column = (name: string) => levels.column(name);
  const [from, to] = byTime ? [column("first_ns"), column("last_ns")] : [column("first_ticket"), column("last_ticket")];
  const [active, reserved, used] = ["active_greatest", "reserved_greatest", "used_greatest"].map(column);
  const [devices, firstTicket, lastTicket] = ["device", "first_ticket", "last_ticket"].map(column);
  const failing = incident.receipt.evidence.failure;
  const runs: Run[] = [];
  let failure: number | null = null;
  for (let row = 0; row < levels.rows; ++row) {
    if (devices.number(row) !== device) continue;
    runs.push({ from: from.number(row), to: to.number(row), active: active.number(row), reserved: reserved.number(row), used: used.number(row) });
    if (failing !== null && firstTicket.number(row) <= Number(failing.ticket) && Number(failing.ticket) <= lastTicket.number(row))
      failure = to.number(row);
  }
  if (runs.length === 0 || Number.isNaN(runs[0].from)) return null;
  const origin = runs[0].from;
  for (const run of runs) {
    run.from -= origin;
    run.to -= origin;
  }
  const values = runs.flatMap((run) => [run.active, run.reserved, run.used]).filter((value) => !Number.isNaN(value));
  return {
    runs,
    length: Math.max(1, ...runs.map((run) => run.to + (byTime ? 0 : 1))),
    greatest: Math.max(1, ...values),
    failure: failure === null ? null : failure - origin,
  };
}

// Runs in a row whose value is known: a lane that knows nothing has a gap.
function stretches(runs: Run[], lane: LaneName): Run[][] {
  const found: Run[][] = [];
  let open: Run[] | null = null;
  for (const run of runs) {
    if (Number.isNaN(run[lane])) open = null;
    else if (open === null) found.push((open = [run]));
    else open.push(run);
  }
  return found;
}

// Steps: a value holds until the next run begins. With a floor the path is an area.
function pathOf(runs: Run[], lane: LaneName, { x, y, wide }: Scale, floor: number | null): string {
  return stretches(runs, lane)
    .map((stretch) => {
      const steps = stretch
        .map((run, at) => `H${x(run.from).toFixed(1)}V${y(run[lane]).toFixed(1)}H${x(stretch[at + 1]?.from ?? run.to + wide).toFixed(1)}`)
        .join("");
      const begin = x(stretch[0].from).toFixed(1);
      return floor === null ? `M${begin} ${y(stretch[0][lane]).toFixed(1)}${steps}` : `M${begin} ${floor}${steps}V${floor}Z`;
    })
    .join("");
}

function Drawing({ side, lanes, length, greatest, device }: { side: Side; lanes: Lanes; length: number; greatest: number; device: number }) {
  const x = (at: number) => (at / length) * kWidth;
  const y = (bytes: number) => kHeight - (bytes / greatest) * (kHeight - 8);
  const wide = axis.value === "time" ? 0 : 1;
  const scale: Scale = { x, y, wide };
  const most = (lane: LaneName) =>
    lanes.runs
      .map((run) => run[lane])
      .filter((value) => !Number.isNaN(value))
      .reduce((a, b) => Math.max(a, b), 0);
  const active = `active at most ${knownText(most("active"))}${beganLate(side.incident) ? " without what was there before the recording" : ""}`;
  const text =
    `${side.title}, cuda:${device}: ${active}, reserved at most ${knownText(most("reserved"))}` +
    `${lanes.failure === null ? "" : "; the failure is marked"}`;
  return (
    <figure class="stack compare-lane">
      <figcaption class="small">
        <strong>{side.title}</strong>{" "}
        <span class="quiet">
          {axis.value === "time" ? durationText(lanes.length) : `${grouped(lanes.length)} events`}, {active}
        </span>
      </figcaption>
      <svg viewBox={`0 0 ${kWidth} ${kHeight}`} preserveAspectRatio="none" role="img" aria-label={text}>
        <path class="compare-active" d={pathOf(lanes.runs, "active", scale, kHeight)} />
        <path class="compare-reserved" d={pathOf(lanes.runs, "reserved", scale, null)} />
        <path class="compare-used" d={pathOf(lanes.runs, "used", scale, null)} />
        {lanes.failure !== null && <path class="compare-failure" d={`M${x(lanes.failure + wide).toFixed(1)} 0V${kHeight}`} />}
      </svg>
    </figure>
  );
}

export function CompareLanes({ sides, device }: { sides: Side[]; device: number }) {
  const byTime = axis.value === "time";
  const all = sides.map((side) => lanesOf(side.incident, device, byTime));
  if (all.every((lanes) => lanes === null))
    return (
      <p class="quiet">{byTime ? "No side has a clock: look at the order of events." : "Neither side has events: a receipt alone has no lanes."}</p>
    );
  const length = Math.max(...all.map((lanes) => lanes?.length ?? 0));
  const greatest = Math.max(...all.map((lanes) => lanes?.greatest ?? 0));
  return (
    <div class="stack">
      <div class="row between">
        <ul class="row small">
          <li>
            <span class="compare-key compare-key-active" aria-hidden="true" /> active (filled)
          </li>
          <li>
            <span class="compare-key compare-key-reserved" aria-hidden="true" /> reserved (line)
          </li>
          <li>
            <span class="compare-key compare-key-used" aria-hidden="true" /> device used (dashes)
          </li>
          <li>
            <span class="compare-key compare-key-failure" aria-hidden="true" /> the failure
          </li>
        </ul>
        <button
          type="button"
          class="small"
          onClick={() => {
            axis.value = byTime ? "events" : "time";
          }}
        >
          {byTime ? "in the order of events" : "in real time"}
        </button>
      </div>
      {all.map((lanes, at) =>
        lanes === null ? (
          <p class="quiet">
            {sides[at].title}: {byTime && sides[at].incident.levels.rows > 0 ? "no clock" : "a receipt alone has no lanes"}.
          </p>
        ) : (
          <Drawing side={sides[at]} lanes={lanes} length={length} greatest={greatest} device={device} />
        ),
      )}
      <p class="quiet small">
        One scale for both: the height is <span title={exactText(greatest)}>{knownText(greatest)}</span>, the width{" "}
        {byTime ? durationText(length) : `${grouped(length)} events`}.
      </p>
    </div>
  );
}
