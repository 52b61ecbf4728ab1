// SPDX-License-Identifier: Apache-2.0
//
// The four hypotheses, each with its status, the inequality that decided it, and what it was decided from. The rule: statuses, qualifiers and advice
// are the receipt's words; the page explains and never rephrases them.
import type { HypothesisName, HypothesisVerdict, Input, Verdict } from "../data/receipt";
import { clauses, relationText, sumText, termText, type Side } from "../parts/inequality";
import { amountText, big, changeText, exactText, grouped, minus } from "../parts/units";
import { kHypotheses, kMembers, kQualifiers } from "../parts/words";
import { StatusMark } from "./common";

// What available, active and request come to has one name, and its arithmetic stands above the cards; rounded as it is there.
function isMargin(side: Side): boolean {
  return side.terms[0].name === "available" && side.terms.length > 1;
}

function Term({ value, name, exact }: { value: string; name: string; exact: bigint }) {
  return (
    <span class="ineq-term" title={exactText(exact)}>
      <span class="ineq-value">{value}</span>
      <span class="ineq-name">{name}</span>
    </span>
  );
}

function Terms({ side }: { side: Side }) {
  if (isMargin(side)) return <Term value={sumText(side).sum} name="margin" exact={side.sum} />;
  if (side.terms.length === 1)
    return <Term value={amountText(side.terms[0].bytes)} name={termText(side.terms[0].name)} exact={side.terms[0].bytes} />;
  const shown = sumText(side);
  return (
    <span class="ineq-side">
      {side.terms.map((term, at) => (
        <>
          {at > 0 && <span class="ineq-operator">{term.subtracted ? minus : "+"}</span>}
          <Term value={shown.terms[at]} name={termText(term.name)} exact={term.bytes} />
        </>
      ))}
      <span class="ineq-operator">=</span>
      <Term value={shown.sum} name="together" exact={side.sum} />
    </span>
  );
}

export function Inequality({ text }: { text: string }) {
  const parsed = clauses(text);
  if (parsed === null) return <p class="inequality">{text}</p>;
  return (
    <div class="inequality">
      {parsed.map((clause, at) => (
        <p class="ineq-clause">
          {at > 0 && <span class="ineq-joint">and</span>}
          <Terms side={clause.left} />
          <span class="ineq-relation">{relationText(clause.relation)}</span>
          <Terms side={clause.right} />
        </p>
      ))}
    </div>
  );
}

export function Qualifiers({ names }: { names: string[] }) {
  if (names.length === 0) return null;
  return (
    <dl class="qualifiers small">
      {names.map((name) => (
        <div>
          <dt>
            <code>{name}</code>
          </dt>
          <dd>{kQualifiers[name] ?? "not known to this page"}</dd>
        </div>
      ))}
    </dl>
  );
}

function inputText(name: string, input: Input): string {
  if (input.value === null && input.low === undefined) return "not known";
  const text = (value: string | number) => (name.endsWith("_bytes") ? exactText(value) : grouped(value));
  if (input.low !== undefined && input.high !== undefined) return `${text(input.low)} to ${text(input.high)}`;
  return input.value === null ? "not known" : text(input.value);
}

function Exact({ hypothesis }: { hypothesis: HypothesisVerdict }) {
  return (
    <details class="small screen-only">
      <summary>exact bytes and inputs</summary>
      <p class="mono wrap exact">{hypothesis.inequality}</p>
      <table>
        <caption>decided from</caption>
        <tbody>
          {Object.entries(hypothesis.inputs).map(([name, input]) => (
            <tr>
              <th scope="row">{kMembers[name] ?? name}</th>
              <td class="number">{inputText(name, input)}</td>
              <td class="quiet">{input.provenance}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

// Above 0 it speaks for the hypothesis.
function marginText(hypothesis: HypothesisVerdict): string | null {
  if (hypothesis.margin_bytes === null) return null;
  const low = changeText(big(hypothesis.margin_bytes));
  const high = hypothesis.margin_high_bytes;
  return high === undefined || changeText(big(high)) === low ? low : `${low} to ${changeText(big(high))}`;
}

// What leaves an undecidable one open: the relation above is of one end alone and may look like an answer.
export function openText(name: HypothesisName, { numbers, hypotheses }: Verdict, totalKnown: boolean): string | null {
  if (numbers === null || hypotheses === null || hypotheses[name].status !== "undecidable") return null;
  const n = (member: string) => big(numbers[`${member}_bytes`] ?? 0);
  if (!totalKnown) {
    if (name === "external") return `how much is outside PyTorch is not known; at least ${amountText(n("deficit"))} were lacking`;
    return `the card's size is not known, so τ is at least ${amountText(n("threshold"))} and the deficit at least ${amountText(n("deficit"))}`;
  }
  const [low, high, word] =
    name === "retention"
      ? [n("retained"), n("retained_upper"), "retained"]
      : name === "external"
        ? [n("removable_outside"), n("removable_outside_upper"), "removable"]
        : [0n, 0n, ""];
  if (low === high) return null;
  const [reach, reached] = n("margin") >= n("threshold") ? ["floor", n("contribution_floor")] : ["deficit", n("deficit")];
  return `${word} between ${amountText(low)} and ${amountText(high)}, ${reach} ${amountText(reached)}`;
}

function Card({ name, hypothesis, open }: { name: HypothesisName; hypothesis: HypothesisVerdict; open: string | null }) {
  const margin = marginText(hypothesis);
  return (
    <article class={`card stack hypothesis hypothesis-${hypothesis.status}`} aria-labelledby={`hypothesis-${name}`}>
      <div class="row between">
        <h3 id={`hypothesis-${name}`}>{kHypotheses[name].title}</h3>
        <StatusMark status={hypothesis.status} />
      </div>
      <p class="small quiet">{kHypotheses[name].question}</p>
      <Inequality text={hypothesis.inequality} />
      {open !== null && (
        <p class="small">
          <strong>open</strong> {open}
        </p>
      )}
      {margin !== null && open === null && (
        <p class="small quiet">
          its own margin <span class="nowrap">{margin}</span>
        </p>
      )}
      <Qualifiers names={hypothesis.qualifiers} />
      {hypothesis.fix !== null && (
        <p class="small">
          <strong>try</strong> {hypothesis.fix}
        </p>
      )}
      {hypothesis.proof !== null && (
        <p class="small">
          <strong>prove</strong> {hypothesis.proof}
        </p>
      )}
      {hypothesis.probe !== null && (
        <p class="small">
          <strong>probe</strong> {hypothesis.probe}
        </p>
      )}
      <Exact hypothesis={hypothesis} />
    </article>
  );
}

const kOrder = ["primary", "contributing", "undecidable", "rejected"];

export function Hypotheses({ verdict, totalKnown }: { verdict: Verdict; totalKnown: boolean }) {
  const { hypotheses } = verdict;
  if (hypotheses === null) return null;
  const names = (Object.keys(kHypotheses) as HypothesisName[]).sort(
    (a, b) => kOrder.indexOf(hypotheses[a].status) - kOrder.indexOf(hypotheses[b].status),
  );
  return (
    <section class="stack" aria-labelledby="hypotheses">
      <h2 id="hypotheses">Four hypotheses, always judged</h2>
      <div class="hypotheses">
        {names.map((name) => (
          <Card name={name} hypothesis={hypotheses[name]} open={openText(name, verdict, totalKnown)} />
        ))}
      </div>
    </section>
  );
}
