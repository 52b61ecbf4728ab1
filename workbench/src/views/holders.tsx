// SPDX-License-Identifier: Apache-2.0
//
// Who holds the card: over time, and at the chosen instant beside what the receipt tells of failure and peak.
import { useMemo } from "preact/hooks";
import type { Incident } from "../data/incident";
import type { Balance } from "../data/receipt";
import { changeText, counted } from "../parts/units";
import { device, instant, opened, printing, reference, session } from "../session";
import { Bytes, Legend, Scroll } from "./common";
import { HeldChart, heldParts } from "./holders_chart";
import { isObservation, isUntold, splitAt } from "./holders_split";
import { instantText } from "./instant";
import { LaneStack } from "./lanes_stack";
import { source as sourceNow } from "./lanes_state";
import { totalBytes } from "./lanes_marks";
import { LaneTools } from "./lanes_tools";
import { libraryName, patternOf } from "./palette";
import { splitRows } from "./split";
import { SplitBar, SplitTable, type SplitColumn } from "./split_table";
import "./lanes.css";

// Rows of its answers.
function observedRows(incident: Incident, one: number): number[] {
  const found: number[] = [];
  for (let row = 0; row < incident.events.rows; ++row) if (isObservation(incident, row, one)) found.push(row);
  return found;
}

function Beside({ balances }: { balances: Balance[] }) {
  const kinds: [string, string][] = [
    ["managed_bytes", "managed: the driver moves it between host and device"],
    ["pinned_bytes", "pinned, on the host"],
    ["imported_bytes", "imported from other processes, counted there"],
    ["graph_bytes", "graph nodes: memory only while a graph runs"],
  ];
  const beside = balances as unknown as Record<string, number | string | null>[];
  const rows = kinds.filter(([name]) => beside.some((balance) => Number(balance[name] ?? 0) !== 0));
  if (rows.length === 0) return null;
  return (
    <table>
      <caption>beside the card</caption>
      <thead>
        <tr>
          <th scope="col">what</th>
          {balances.map((balance) => (
            <th scope="col" class="number">
              {balance.instant}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, text]) => (
          <tr>
            <th scope="row">{text}</th>
            {beside.map((balance) => (
              <td class="number">
                <Bytes bytes={balance[name]} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Change({ incident, from, to }: { incident: Incident; from: SplitColumn; to: SplitColumn }) {
  const rows = splitRows(incident, [from.split, to.split]).filter((row) => row.columns[0].bytes !== row.columns[1].bytes);
  if (rows.length === 0) return <p class="small quiet">Nothing differs from {from.title}.</p>;
  return (
    <p class="small">
      <strong>since {from.title}</strong>{" "}
      {rows.map((row, at) => {
        const [before, after] = row.columns.map((column) => column.bytes);
        const text = before === null || after === null ? "not known at both" : changeText(after - before);
        return (
          <span>
            {at > 0 && ", "}
            {row.label} <span class="nowrap">{text}</span>
          </span>
        );
      })}
    </p>
  );
}

function AtInstant({ incident }: { incident: Incident }) {
  const now = session.value;
  const one = device.value;
  const row = instant.value;
  const told = incident.receipt.evidence.holders.filter((balance) => balance.device === one);
  const columns: SplitColumn[] = [...told].reverse().map((split) => ({ title: `receipt: ${split.instant}`, split }));
  const compared = reference.value;
  const here: SplitColumn | null = now === null ? null : { title: instantText(row), split: splitAt(now.incident, now.history, one, row) };
  const before: SplitColumn | null =
    now === null || compared === null ? null : { title: instantText(compared), split: splitAt(now.incident, now.history, one, compared) };
  const all = [...(here === null ? [] : [here]), ...(before === null ? [] : [before]), ...columns];
  if (all.length === 0) return <p class="card">Nothing tells who holds this card.</p>;
  return (
    <section class="card stack" aria-labelledby="holders-instant">
      <h2 id="holders-instant">At {all[0].title}</h2>
      <SplitBar incident={incident} split={all[0].split} label={`the card at ${all[0].title}`} />
      {here !== null && before !== null && <Change incident={incident} from={before} to={here} />}
      <Scroll label="split of the card">
        <SplitTable
          incident={incident}
          columns={all}
          caption="the first column is computed by this page from the events, the others are the receipt's"
        />
      </Scroll>
      <Beside balances={told} />
    </section>
  );
}

export function HoldersView() {
  const incident = opened.value;
  const source = sourceNow();
  const now = session.value;
  const one = device.value;
  const asked = useMemo(() => (now === null ? [] : observedRows(now.incident, one)), [now, one]);
  const observed = useMemo(() => Float64Array.from(source === null ? [] : asked, (row) => source!.positions.rows[row]), [asked, source]);
  if (incident === null || source === null) return null;
  const parts = heldParts(incident);
  const legend = parts.map((part) => ({
    name: part.paint === "library" ? libraryName(0) : part.paint,
    pattern: patternOf(part.paint),
    text: part.text,
  }));
  return (
    <div class="stack">
      <section class="card stack" aria-labelledby="holders-time">
        <h2 id="holders-time">Over time</h2>
        {!printing.value && <LaneTools incident={incident} source={source} />}
        <Legend items={[...legend, { name: "free", text: "free" }, { name: "card", text: "not known" }]} />
        <LaneStack source={source} label="who holds the card: the instant">
          {(width_px) => <HeldChart parts={parts} source={source} total_bytes={totalBytes(incident)} observed={observed} width_px={width_px} />}
        </LaneStack>
        <p class="tiny quiet">
          Ticks at the top: the device was asked ({observed.length === 0 ? "never in these events" : counted(observed.length, "time")}). Between them
          what lies outside PyTorch is carried from the last answer, and context and modules are what was left over then.
          {asked.length > 0 && isUntold(incident, asked[0]) && " An answer before the allocator's first report does not tell it."}
        </p>
      </section>
      <AtInstant incident={incident} />
    </div>
  );
}
