// SPDX-License-Identifier: Apache-2.0
//
// Active and reserved at the points that growth is judged by.
import { useRef } from "preact/hooks";
import { byteSteps } from "../parts/lane_points";
import { amountText, changeText, counted, grouped, stepText } from "../parts/units";
import { Head, Scroll } from "./common";
import { useWidth } from "./canvas";
import { TicketButton } from "./instant_buttons";
import type { Point, Spacing } from "./retention_evidence";

const kHeight_px = 190;
const kLeft_px = 62;
const kRight_px = 12;
const kBottom_px = 20;

export function GrowthLine({ points, spacing }: { points: Point[]; spacing: Spacing | null }) {
  const box = useRef<HTMLDivElement>(null);
  const width_px = Math.max(200, useWidth(box));
  const top = Math.max(1, ...points.map((point) => Math.max(point.active_bytes, point.reserved_bytes || 0))) * 1.05;
  const x = (at: number) => kLeft_px + (at / (points.length - 1)) * (width_px - kLeft_px - kRight_px);
  const y = (bytes: number) => 8 + (1 - bytes / top) * (kHeight_px - 8 - kBottom_px);
  const line = (of: (point: Point) => number) =>
    points.map((point, at) => `${at === 0 ? "M" : "L"}${x(at).toFixed(1)} ${y(of(point)).toFixed(1)}`).join(" ");
  const [first, last] = [points[0], points[points.length - 1]];
  const grown = last.active_bytes - first.active_bytes;
  return (
    <figure class="stack" ref={box}>
      <svg
        class="growth drawn"
        width={width_px}
        height={kHeight_px}
        role="img"
        aria-label={`active at ${points.length} points, from ${amountText(first.active_bytes)} to ${amountText(last.active_bytes)}`}
      >
        {byteSteps(top, 5).map((step) => (
          <g>
            <line class="growth-grid" x1={kLeft_px} x2={width_px - kRight_px} y1={y(step)} y2={y(step)} />
            <text class="growth-text" x={kLeft_px - 6} y={y(step) + 4} text-anchor="end">
              {stepText(step)}
            </text>
          </g>
        ))}
        <path class="growth-reserved" d={line((point) => point.reserved_bytes)} />
        <path class="growth-active" d={line((point) => point.active_bytes)} />
        {points.length <= 200 &&
          points.map((point, at) => {
            const rose = at > 0 && point.active_bytes > points[at - 1].active_bytes;
            return (
              <circle class={rose ? "growth-rose" : "growth-kept"} cx={x(at)} cy={y(point.active_bytes)} r={rose ? 4 : 3}>
                <title>{`point ${at + 1}, ticket ${grouped(point.ticket)}: ${amountText(point.active_bytes)}`}</title>
              </circle>
            );
          })}
        <text class="growth-text" x={kLeft_px} y={kHeight_px - 4}>
          point 1
        </text>
        <text class="growth-text" x={width_px - kRight_px} y={kHeight_px - 4} text-anchor="end">
          {grouped(points.length)}
        </text>
      </svg>
      <figcaption class="small quiet">
        Line with dots: active (filled: it rose since the point before); dashed line: reserved. {changeText(grown)} from the first point to the last
        {spacing !== null && `, over ${counted(spacing.steps, "step")}`}.
      </figcaption>
      <details class="small screen-only">
        <summary>The points as a table</summary>
        <Scroll label="the points as a table" extra="births-table">
          <table>
            <Head columns={["#point", "#ticket", "#active", "#change", "#reserved"]} />
            <tbody>
              {points.map((point, at) => (
                <tr>
                  <th scope="row" class="number">
                    {at + 1}
                  </th>
                  <td class="number">
                    <TicketButton ticket={point.ticket} to="retention" />
                  </td>
                  <td class="number">{amountText(point.active_bytes)}</td>
                  <td class="number">{at === 0 ? "" : changeText(point.active_bytes - points[at - 1].active_bytes)}</td>
                  <td class="number">{amountText(point.reserved_bytes)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      </details>
    </figure>
  );
}
