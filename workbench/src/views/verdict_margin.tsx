// SPDX-License-Identifier: Apache-2.0
//
// The margin as a drawn sum: what was available, what was in use, what was asked, and the threshold that decides which question is asked.
import type { Verdict } from "../data/receipt";
import { sumText, type Term } from "../parts/inequality";
import { amountText, big, exactText, minus } from "../parts/units";
import { Swatch } from "./common";

interface Shape {
  verdict: Verdict;
  totalKnown: boolean;
  marginKnown: boolean; // else the numbers are the least that may have been available
  foreign: boolean;
}

export function MarginBar({ verdict, totalKnown, marginKnown, foreign }: Shape) {
  const { numbers } = verdict;
  if (numbers === null) return <p>Margin and threshold are not known: the numbers settle nothing.</p>;
  const available = big(numbers.available_bytes);
  const need = big(numbers.need_bytes);
  const margin = big(numbers.margin_bytes);
  const threshold = big(numbers.threshold_bytes);
  // Of a foreign victim need is the request alone.
  const request = requestOf(verdict) ?? need;
  const active = need - request;
  const room = margin >= threshold;
  const sum = sumText({
    sum: margin,
    terms: [
      ["available", available],
      ["active", active],
      ["request", request],
    ].map(([name, bytes], at) => ({ name, bytes, subtracted: at > 0 }) as Term),
  });
  const scale = Number(need > available ? need : available) * 1.02;
  const share = (bytes: bigint) => `${(Math.max(0, Number(bytes)) / scale) * 100}%`;
  const marginShare = share(margin < 0n ? -margin : margin);
  const wide = Number(margin < 0n ? -margin : margin) / scale > 0.12;
  const isFact = totalKnown && marginKnown;
  const bound = !totalKnown ? "at least " : marginKnown ? "" : "up to ";
  const text = `margin ${sum.sum} = ${sum.terms[0]} available ${minus} ${sum.terms[1]} active ${minus} ${sum.terms[2]} asked`;
  return (
    <figure class="margin" aria-labelledby="margin-text">
      <div class="margin-bars drawn" aria-hidden="true">
        <span class="margin-name">available</span>
        <div class="margin-bar">
          <span class="margin-available" style={{ width: share(available) }}>
            {sum.terms[0]} {sum.unit}
          </span>
        </div>
        <span class="margin-name">needed</span>
        <div class="margin-bar">
          <span class="margin-active" title={exactText(active)} style={{ width: share(active) }}>
            <span class="split-label">active {sum.terms[1]}</span>
          </span>
          <span class="margin-request pattern-dense" title={exactText(request)} style={{ width: share(request) }} />
          {margin > 0n && (
            <span class={`margin-rest ${room ? "room" : "near"}`} style={{ width: marginShare }}>
              {wide && `margin ${sum.bare}`}
            </span>
          )}
          <span class="margin-edge" style={{ left: share(available) }} />
          {available > threshold && <span class="margin-threshold" style={{ left: share(available - threshold) }} />}
        </div>
      </div>
      <figcaption id="margin-text" class="stack">
        <span>
          <strong>{text}</strong>
        </span>
        <ul class="row small quiet legend">
          <li>
            <Swatch name="active" /> active {amountText(active)}
          </li>
          <li>
            <Swatch name="request" pattern="dense" /> asked {amountText(request)}
          </li>
          <li>
            <span class="margin-key edge" aria-hidden="true" /> available ends
          </li>
          <li>
            <span class="margin-key threshold" aria-hidden="true" /> τ {totalKnown ? "" : "at least "}
            {amountText(threshold)} before it
            {totalKnown ? " (1.5 % of the card)" : " (1.5 % of a card of unknown size)"}
          </li>
        </ul>
        <span class="small">
          {!totalKnown && "On the smallest card that it can be: "}
          {totalKnown && !marginKnown && "With the least that may have been available: "}
          {room
            ? foreign
              ? "Free memory and what PyTorch's cache could give back would have sufficed: margin ≥ τ."
              : "The request would have fit, had the free bytes been in one piece: margin ≥ τ."
            : `Margin < τ, so something else ${isFact ? "was" : "would have been"} lacking: ` +
              `deficit ${bound}${amountText(big(numbers.deficit_bytes))} = τ ${minus} margin is what a relief would have had to bring.`}
        </span>
      </figcaption>
    </figure>
  );
}

function requestOf(verdict: Verdict): bigint | null {
  const inputs = verdict.hypotheses?.live_set.inputs;
  const value = inputs?.request_bytes?.value ?? null;
  const need = verdict.numbers === null ? null : big(verdict.numbers.need_bytes);
  if (value === null || need === null || big(value) > need) return null;
  return big(value);
}
