// SPDX-License-Identifier: Apache-2.0
//
// What the user noted of a step (batch, sequence length) beside the peaks of the steps, as the terminal's report has it. The rule: what did not
// change, and is at the failure as it was before, is no news.
import type { Incident } from "../data/incident";
import type { Count } from "../data/receipt";
import { grouped } from "../parts/units";
import { Bytes } from "./common";
import { book } from "./names";

interface Effect {
  dimension: number;
  changed_count: number;
  together_count: number;
  least_value: Count;
  greatest_value: Count;
  peak_bytes: Count;
  value_at_peak: Count;
}

export interface Noted extends Effect {
  value: Count | null; // noted last before the failure
}

export function notedOf({ receipt }: Incident): Noted[] {
  const effects = (receipt.evidence.dimension_effects ?? []) as Effect[];
  const last = (receipt.environment.dimensions ?? []) as { dimension: number; value: Count }[];
  return effects.flatMap((effect) => {
    const value = last.find((one) => one.dimension === effect.dimension)?.value ?? null;
    const beyond = value !== null && (BigInt(value) < BigInt(effect.least_value) || BigInt(value) > BigInt(effect.greatest_value));
    return Number(effect.changed_count) === 0 && !beyond ? [] : [{ ...effect, value }];
  });
}

export function Dimensions({ incident }: { incident: Incident }) {
  const list = notedOf(incident);
  if (list.length === 0) return null;
  const names = book(incident);
  return (
    <section class="card stack" aria-labelledby="dimensions">
      <h2 id="dimensions">What the job noted of its steps</h2>
      {list.map((one) => (
        <p class="small">
          <strong>{names.dimension(one.dimension)}</strong>:{" "}
          {one.value !== null && (
            <>
              {grouped(one.value)} at the failure, {grouped(one.least_value)}
              {one.least_value !== one.greatest_value && ` to ${grouped(one.greatest_value)}`} before.{" "}
            </>
          )}
          {Number(one.changed_count) > 0 && (
            <>
              The peak moved with it in {grouped(one.together_count)} of {grouped(one.changed_count)} changes; the highest,{" "}
              <Bytes bytes={one.peak_bytes} />, was at {grouped(one.value_at_peak)}.
            </>
          )}
        </p>
      ))}
    </section>
  );
}
