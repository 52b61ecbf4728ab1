// SPDX-License-Identifier: Apache-2.0
//
// What memsnap-replay diff said: is the fix proven? The rule: shown as it was told; the page judges no contract.
import type { ComparedValue, Comparison, Condition } from "../data/comparison";
import { counted, grouped, sizeText, type Count } from "../parts/units";
import { kHypotheses } from "../parts/words";
import { Head } from "./common";

const kResults: Record<string, [string, string]> = {
  proven: ["PROVEN", "AFTER shows what the cause of BEFORE asks for"],
  refuted: ["REFUTED", "AFTER shows the contrary of what the cause asks for"],
  not_proven: ["NOT PROVEN", "what would prove it is unknown"],
  not_comparable: ["NOT COMPARABLE", "a difference was not declared: declare with --changed what was meant"],
  incident_persists: ["INCIDENT PERSISTS", "AFTER ran out of memory for the same cause"],
  another_incident: ["ANOTHER INCIDENT", "AFTER ends in an incident, and not in that of BEFORE"],
  no_incident: ["NO INCIDENT", "on either side"],
  other_diagnosis: ["OTHER DIAGNOSIS", "the evidence is the same, the verdict is not"],
};

const kRows: Record<string, string> = {
  peak_active_bytes: "peak active",
  peak_reserved_bytes: "peak reserved",
  largest_free_extent_bytes: "largest hole at the failure",
  outside_bytes: "outside PyTorch",
  headroom_bytes: "headroom at the peak",
  retained_bytes: "retained by earlier steps",
  active_rise_bytes: "active over the last steps",
  request_granted_count: "the request, granted",
  boundaries_per_kilosecond: "steps a second",
};

function spelt(name: string, value: Count | null, signed = false): string {
  if (value === null) return "not known";
  const sign = signed && BigInt(value) > 0n ? "+" : "";
  if (name === "boundaries_per_kilosecond") return `${sign}${(Number(value) / 1000).toFixed(3)}`;
  return sign + (name.endsWith("_count") ? grouped(value) : sizeText(value));
}

function provenance(before: ComparedValue, after: ComparedValue): string {
  const of = (value: ComparedValue) => (value.value === null ? "not known" : value.provenance);
  return of(before) === of(after) ? of(before) : `${of(before)}, ${of(after)}`;
}

function Compared({ told }: { told: Comparison }) {
  return (
    <div class="scroll">
      <table>
        <caption>What was compared. Losses and outputs are never measured: a run that computes something else is proven all the same.</caption>
        <Head columns={["number", "#before", "#after", "#difference", "known as"]} />
        <tbody>
          {Object.keys(kRows).map((name) => {
            const row = told.compared[name];
            if (row === undefined || row === "not_measured") return null;
            return (
              <tr>
                <th scope="row">{kRows[name]}</th>
                <td class="number">{spelt(name, row.before.value)}</td>
                <td class="number">{spelt(name, row.after.value)}</td>
                <td class="number">{spelt(name, row.difference, true)}</td>
                <td class="quiet">{provenance(row.before, row.after)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

const kSigns: Record<string, string> = { holds: "✓", fails: "✕", unknown: "?" };

function Clause({ one }: { one: Condition }) {
  return (
    <li class={`clause clause-${one.status}`}>
      <strong>
        <span aria-hidden="true">{kSigns[one.status]} </span>
        {one.status}
      </strong>{" "}
      <code>{one.condition}</code>
      {one.inequality === null ? <span class="quiet"> a number is missing</span> : <code class="wrap"> {one.inequality}</code>}
    </li>
  );
}

function Contract({ told }: { told: Comparison }) {
  const { contract } = told;
  if (contract === null) return <p class="quiet">BEFORE has no cause that a fix could be proven for.</p>;
  const { margin_bytes, threshold_bytes, deficit_bytes } = contract.model;
  const cause = kHypotheses[contract.cause as keyof typeof kHypotheses]?.title ?? contract.cause;
  return (
    <div class="stack">
      <p>
        The cause of BEFORE is <strong>{cause}</strong>. What proves a fix: {contract.proof}.
      </p>
      {contract.observed.map((line, index) => (
        <div>
          {index > 0 && <p class="quiet small">or</p>}
          <ul>
            {line.map((one) => (
              <Clause one={one} />
            ))}
          </ul>
        </div>
      ))}
      {margin_bytes !== null && threshold_bytes !== null && (
        <p class="quiet small">
          Derived from BEFORE by ideal packing, a model and no proof: margin {sizeText(margin_bytes)}{" "}
          {BigInt(margin_bytes) >= BigInt(threshold_bytes)
            ? `≥ τ ${sizeText(threshold_bytes)}: in one piece the free bytes would have sufficed.`
            : `< τ ${sizeText(threshold_bytes)}: ${spelt("deficit_bytes", deficit_bytes)} were missing.`}
        </p>
      )}
    </div>
  );
}

const shown = (value: unknown) => (value === null ? "not known" : typeof value === "object" ? JSON.stringify(value) : String(value));

function Cohort({ told }: { told: Comparison }) {
  const { cohort } = told;
  return (
    <div class="stack">
      <p>
        {cohort.comparable ? "Comparable" : "Not comparable"}: {counted(cohort.equal_count, "fact")} equal, {grouped(cohort.differences.length)}{" "}
        different.
      </p>
      {cohort.differences.length > 0 && (
        <div class="scroll">
          <table>
            <Head columns={["fact", "before", "after", "declared"]} />
            <tbody>
              {cohort.differences.map((one) => (
                <tr>
                  <th scope="row">
                    <code>{one.field}</code>
                  </th>
                  <td>{shown(one.before)}</td>
                  <td>{shown(one.after)}</td>
                  <td>{one.declared ? "yes, with --changed" : <strong>no</strong>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {cohort.declared_unchanged.length > 0 && <p class="small">Declared, but unchanged: {cohort.declared_unchanged.join(", ")}.</p>}
      {cohort.unknown.length > 0 && <p class="quiet small">Not known on a side: {cohort.unknown.join(", ")}.</p>}
    </div>
  );
}

export function ContractView({ told }: { told: Comparison }) {
  const [head, tail] = kResults[told.result] ?? [told.result, ""];
  const good = told.result === "proven" || told.result === "no_incident";
  return (
    <section class="card stack" aria-labelledby="contract-title">
      <h2 id="contract-title" class={good ? "contract-good" : "contract-bad"}>
        {head} <span class="contract-tail">{tail}</span>
      </h2>
      <div class="columns">
        <div class="stack">
          <h3>The contract</h3>
          <Contract told={told} />
        </div>
        <div class="stack">
          <h3>The same job?</h3>
          <Cohort told={told} />
        </div>
      </div>
      <Compared told={told} />
      <p class="quiet small">Judged by memsnap-replay diff, exit status {told.exit_status}. The page shows it and judges no contract by itself.</p>
    </section>
  );
}
