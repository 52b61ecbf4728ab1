// SPDX-License-Identifier: Apache-2.0
//
// What a receipt alone tells beside the verdict: the splits of the card and the map at the failure. The rule: shown as far as it goes, and what
// needs events is said to need them.
import { useMemo } from "preact/hooks";
import { exactText, grouped, knownText, sizeText } from "../parts/units";
import { opened } from "../session";
import { Command, Head, Legend } from "./common";
import { DrawnCanvas, type Draw } from "./drawn_canvas";
import { colour, fillRect, patternOf, type Paint } from "./palette";
import { requestOf, segmentsOf, type MapSegment } from "./receipt_map";
import { SplitBar, SplitTable } from "./split_table";

const kRow_px = 16;
const kGap_px = 4;
const kSegmentsDrawn = 400;
const kLeast_px = 1;

const kLegend: [Paint, string][] = [
  ["active", "live"],
  ["deferred", "freed, waited for"],
  ["reusable", "free, may fit"],
  ["fragmented", "free, too small"],
  ["incompatible", "free, of another kind"],
  ["request", "the refused request"],
];

function drawnBy(segments: MapSegment[], request: number): Draw {
  return (context, width_px) => {
    const most = segments.reduce((size, one) => Math.max(size, one.size), request);
    const unit = width_px / most;
    fillRect(context, colour("request"), patternOf("request"), 0, 0, Math.max(2, request * unit), kRow_px);
    segments.forEach((segment, row) => {
      const y = (row + 1) * (kRow_px + kGap_px);
      for (const extent of segment.extents)
        fillRect(
          context,
          colour(extent.paint),
          patternOf(extent.paint),
          extent.offset * unit,
          y,
          Math.max(kLeast_px, extent.size * unit - 0.5),
          kRow_px,
        );
    });
  };
}

function ExtentMap({ segments, request, shown }: { segments: MapSegment[]; request: number; shown: number }) {
  const draw = useMemo(() => drawnBy(segments, request), [segments, request]);
  const height_px = (segments.length + 1) * (kRow_px + kGap_px);
  const text =
    `${segments.length} segments with their blocks and holes, under the refused request of ${sizeText(request)}; the table ` +
    "below has the numbers";
  return (
    <div class="stack">
      <Legend items={kLegend.map(([paint, label]) => ({ name: paint, pattern: patternOf(paint), text: label }))} />
      <DrawnCanvas class="drawn" role="img" aria-label={text} draw={draw} height_px={height_px} onWidth={() => undefined} />
      {shown > segments.length && (
        <p class="quiet small">
          The {grouped(segments.length)} largest of {grouped(shown)} segments are drawn.
        </p>
      )}
    </div>
  );
}

function SegmentTable({ segments }: { segments: MapSegment[] }) {
  return (
    <details>
      <summary>The segments as a table</summary>
      <div class="scroll">
        <table>
          <Head columns={["segment", "kind", "class", "#size", "#free", "#largest hole"]} />
          <tbody>
            {segments.map((one) => (
              <tr>
                <th scope="row">{one.segment}</th>
                <td>{one.kind}</td>
                <td>{one.sizeClass}</td>
                <td class="number" title={exactText(one.size)}>
                  {knownText(one.size)}
                </td>
                <td class="number" title={exactText(one.freeBytes)}>
                  {knownText(one.freeBytes)}
                </td>
                <td class="number" title={exactText(one.largestHole)}>
                  {knownText(one.largestHole)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

export function ReceiptView() {
  const incident = opened.value;
  const receipt = incident?.receipt ?? null;
  const segments = useMemo(() => (receipt === null ? [] : segmentsOf(receipt)), [receipt]);
  if (incident === null || receipt === null) return null;
  const largest = [...segments]
    .sort((a, b) => b.size - a.size)
    .slice(0, kSegmentsDrawn)
    .sort((a, b) => a.segment - b.segment);
  const devices = [...new Set(receipt.evidence.holders.map((one) => one.device))];
  return (
    <div class="stack">
      <p class="notice">
        This is a receipt alone: the verdict and the evidence that it was decided from, without events. Lanes, the memory map at any instant, flame
        graphs and checks from events are in the page of its ring.
      </p>
      <Command text="memsnap-replay RING --html incident.html" />
      {devices.map((device) => {
        const balances = receipt.evidence.holders.filter((one) => one.device === device);
        const last = balances[balances.length - 1];
        return (
          <section class="card stack">
            <h2>Who holds cuda:{device}</h2>
            <SplitBar incident={incident} split={last} label={`cuda:${device}, ${last.instant}`} />
            <div class="scroll">
              <SplitTable
                incident={incident}
                caption="as the receipt states it"
                columns={balances.map((split) => ({ title: split.instant, split }))}
              />
            </div>
          </section>
        );
      })}
      {segments.length > 0 && (
        <section class="card stack">
          <h2>The map at the failure</h2>
          <ExtentMap segments={largest} request={requestOf(receipt)} shown={segments.length} />
          <SegmentTable segments={largest} />
        </section>
      )}
    </div>
  );
}
