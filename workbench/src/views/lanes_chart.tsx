// SPDX-License-Identifier: Apache-2.0
//
// One chart of lanes over the shared axis. The rule: it only draws; pointer and keys belong to the stack of all charts, so that they stay aligned.
import { useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { byteSteps, sample } from "../parts/lane_points";
import { grouped, stepText, timeStepText } from "../parts/units";
import { drawnIn } from "../session";
import { font } from "./canvas";
import type { DrawnLane, LaneSource } from "./lanes_source";
import { kLeft_px, kRight_px, shown } from "./lanes_state";
import { colour, overlay, type Paint, type Pattern } from "./palette";

export interface Line {
  lane: DrawnLane;
  paint: Paint;
  filled: boolean;
  dash?: number[];
  width?: number;
}

// Drawn over the lanes at a place of the axis.
export interface Mark {
  at: number;
  paint: Paint;
  text: string;
  dash?: number[];
  box?: { from_bytes: number; to_bytes: number; text: string; pattern: Pattern };
}

interface ChartProps {
  source: LaneSource;
  lines: Line[];
  levels: { bytes: number; text: string }[]; // lines across, such as the card's size
  marks: Mark[];
  top_bytes: number; // of the axis at least
  height_px: number;
  width_px: number;
  label: string;
  ticks: boolean; // whether the axis below has numbers
}

function drawMarks(chart: uPlot, marks: Mark[], levels: ChartProps["levels"]): void {
  const { ctx } = chart;
  const { left, top, width, height } = chart.bbox;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  ctx.font = font(11 * ratio);
  ctx.textBaseline = "top";
  const written = (text: string, x: number, y: number, align: CanvasTextAlign) => {
    ctx.textAlign = align;
    ctx.strokeStyle = colour("card");
    ctx.lineWidth = 3 * ratio;
    ctx.strokeText(text, x, y);
    ctx.fillStyle = colour("text");
    ctx.fillText(text, x, y);
  };
  for (const level of levels) {
    const y = chart.valToPos(level.bytes, "y", true);
    ctx.strokeStyle = colour("text");
    ctx.lineWidth = ratio;
    ctx.setLineDash([5 * ratio, 4 * ratio]);
    ctx.beginPath();
    ctx.moveTo(left, y);
    ctx.lineTo(left + width, y);
    ctx.stroke();
    written(level.text, left + 4 * ratio, y + 2 * ratio, "left");
  }
  marks.forEach((mark, at) => {
    const x = chart.valToPos(mark.at, "x", true);
    if (x < left - 1 || x > left + width + 1) return;
    const before = x > left + width / 2;
    ctx.strokeStyle = colour(mark.paint);
    ctx.lineWidth = 1.5 * ratio;
    ctx.setLineDash((mark.dash ?? []).map((length) => length * ratio));
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x, top + height);
    ctx.stroke();
    ctx.setLineDash([]);
    if (mark.box !== undefined) {
      const high = chart.valToPos(mark.box.to_bytes, "y", true);
      const low = chart.valToPos(mark.box.from_bytes, "y", true);
      const wide = 22 * ratio;
      const start = before ? x - wide : x;
      ctx.fillStyle = colour("request");
      ctx.fillRect(start, high, wide, Math.max(ratio, low - high));
      const over = overlay(ctx, mark.box.pattern);
      if (over !== null) {
        ctx.fillStyle = over;
        ctx.fillRect(start, high, wide, Math.max(ratio, low - high));
      }
      written(mark.box.text, before ? start - 4 * ratio : start + wide + 4 * ratio, Math.max(top, high) + 1, before ? "right" : "left");
    }
    written(mark.text, before ? x - 5 * ratio : x + 5 * ratio, top + height - 15 * ratio * (at + 1), before ? "right" : "left");
  });
  ctx.restore();
}

// What the numbers below are.
function drawAxisName(chart: uPlot, name: string): void {
  const { ctx } = chart;
  const { left, top, height } = chart.bbox;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.font = font(11 * ratio);
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  ctx.fillStyle = colour("quiet");
  ctx.fillText(name, left - 8 * ratio, top + height + 19 * ratio);
  ctx.restore();
}

function optionsOf(props: ChartProps, now: { props: ChartProps; top: number; bottom: number }): uPlot.Options {
  const { source, lines, height_px, width_px } = props;
  const grid = { stroke: colour("line"), width: 1 };
  return {
    width: width_px,
    height: height_px,
    padding: [6, kRight_px, props.ticks ? 0 : 6, 0],
    legend: { show: false },
    cursor: { show: false },
    select: { show: false, left: 0, top: 0, width: 0, height: 0 },
    scales: {
      x: { time: false, range: () => shown(source) },
      y: { range: () => [now.bottom, now.top] },
    },
    axes: [
      {
        show: props.ticks,
        stroke: colour("quiet"),
        font: font(12),
        grid,
        ticks: grid,
        size: 26,
        space: 110,
        values: (_, splits, __, ___, step) =>
          splits.map((at) => (source.axis === "time" ? timeStepText(at, step) : Number.isInteger(at) ? grouped(at) : "")),
      },
      {
        stroke: colour("quiet"),
        font: font(12),
        grid,
        ticks: grid,
        size: kLeft_px,
        splits: (chart) => byteSteps(now.top, Math.max(2, Math.floor(chart.height / 42))).filter((at) => at <= now.top && at >= now.bottom),
        values: (_, splits) => splits.map(stepText),
      },
    ],
    series: [
      {},
      ...lines.map((line): uPlot.Series => ({
        stroke: colour(line.paint),
        fill: line.filled ? colour(line.paint) + "44" : undefined,
        width: line.width ?? 1.5,
        dash: line.dash,
        points: { show: false },
        spanGaps: false,
      })),
    ],
    hooks: {
      draw: [
        (chart) => {
          drawMarks(chart, now.props.marks, now.props.levels);
          if (props.ticks) drawAxisName(chart, source.axis === "events" ? "ticket" : "time");
        },
      ],
    },
  };
}

export function LaneChart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const now = useRef({ props, top: 1, bottom: 0 });
  now.current.props = props;
  const { source, lines, width_px, height_px, top_bytes } = props;
  const theme = drawnIn.value;
  const [from, to] = shown(source);

  useLayoutEffect(() => {
    if (box.current === null || width_px < 80) return;
    chart.current = new uPlot(optionsOf(props, now.current), [[], ...lines.map(() => [])] as uPlot.AlignedData, box.current);
    return () => {
      chart.current?.destroy();
      chart.current = null;
    };
  }, [source, width_px, height_px, theme, lines]);

  useLayoutEffect(() => {
    const drawn = chart.current;
    if (drawn === null) return;
    const cells = Math.max(20, Math.floor(width_px - kLeft_px - kRight_px));
    const points = sample(
      source.positions,
      lines.map((line) => source.lane(line.lane)),
      from,
      to,
      cells,
    );
    let [low, high] = [0, top_bytes];
    for (const series of points.y)
      for (const value of series) {
        if (value === null) continue;
        if (value > high) high = value;
        if (value < low) low = value;
      }
    now.current.top = Math.max(1, high * 1.04);
    now.current.bottom = low < 0 ? low * 1.04 : 0;
    const stepped = points.exact ? uPlot.paths.stepped!({ align: 1 }) : uPlot.paths.linear!();
    drawn.series.slice(1).forEach((series) => {
      series.paths = stepped;
    });
    drawn.setData([points.x, ...points.y] as uPlot.AlignedData);
  }, [source, width_px, height_px, theme, lines, from, to, top_bytes, props.marks]);

  return <div ref={box} class="lane-chart drawn" role="img" aria-label={props.label} />;
}
