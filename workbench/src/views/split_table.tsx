// SPDX-License-Identifier: Apache-2.0
//
// The split of the card, drawn to scale and as a table that adds up.
import type { Incident } from "../data/incident";
import { beganLate } from "../history/before";
import { kSources } from "../parts/words";
import { exactText, hundredths, hundredthsText } from "../parts/units";
import { Swatch } from "./common";
import { splitRows, wholeBytes, type Split } from "./split";
import "./split.css";

export interface SplitColumn {
  title: string;
  split: Split;
  note?: string;
}

// One bar: the last column's.
export function SplitBar({ incident, split, label }: { incident: Incident; split: Split; label: string }) {
  const rows = splitRows(incident, [split]);
  const whole = Math.max(1, wholeBytes(split, rows, 0));
  const text = rows.map((row) => `${row.label} ${row.columns[0].shown} GiB`).join(", ");
  return (
    <div class="split-bar drawn" role="img" aria-label={`${label}: ${text}`}>
      {rows.map((row) => {
        const share = (Math.max(0, Number(row.columns[0].bytes ?? 0n)) / whole) * 100;
        if (share < 0.05) return null;
        return (
          <span
            class={`split-part pattern-${row.pattern}`}
            title={`${row.label}: ${row.columns[0].shown} GiB`}
            style={{ width: `${share}%`, backgroundColor: `var(--${row.paint})` }}
          >
            {share > 9 && <span class="split-label">{row.label}</span>}
          </span>
        );
      })}
    </div>
  );
}

export function SplitTable({ incident, columns, caption }: { incident: Incident; columns: SplitColumn[]; caption: string }) {
  const rows = splitRows(
    incident,
    columns.map((column) => column.split),
  );
  const known = columns.some((column) => column.split.total_bytes !== null);
  const untold = beganLate(incident) && columns.some((column) => column.split.before_bytes === undefined);
  return (
    <table>
      <caption>{caption}</caption>
      <thead>
        <tr>
          <th scope="col">GiB</th>
          {columns.map((column) => (
            <th scope="col" class="number">
              {column.title}
            </th>
          ))}
          <th scope="col">what it is</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr>
            <th scope="row" class="split-name">
              <Swatch name={row.paint} pattern={row.pattern} /> {row.label}
            </th>
            {row.columns.map((column) => (
              <td class="number" title={column.bytes === null ? "" : exactText(column.bytes)}>
                {column.shown}
              </td>
            ))}
            <td class="quiet">{row.note}</td>
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">the card</th>
          {columns.map(({ split }) => (
            <td class="number" title={split.total_bytes === null ? "" : exactText(split.total_bytes)}>
              {split.total_bytes === null ? "not known" : hundredthsText(hundredths(BigInt(split.total_bytes)))}
            </td>
          ))}
          <td class="quiet">{known ? "adds up exactly" : "its size is not known"}</td>
        </tr>
        <tr class="split-source">
          <th scope="row">device asked</th>
          {columns.map((column) => (
            <td class="number">{column.split.source.replace("_", " ")}</td>
          ))}
          <td class="quiet">{[...new Set(columns.map((column) => kSources[column.split.source]))].join("; ")}</td>
        </tr>
        {untold && (
          <tr class="split-source">
            <td colSpan={columns.length + 2}>
              What was there before the recording and is in no block counts as active in a receipt.
            </td>
          </tr>
        )}
      </tfoot>
    </table>
  );
}
