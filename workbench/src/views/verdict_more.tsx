// SPDX-License-Identifier: Apache-2.0
//
// Beside the verdict: what to try and how to prove it, what is not known, and what else failed in the recording.
import { diffCommand, isChosen } from "../checks/commands";
import type { Incident } from "../data/incident";
import type { Count, HypothesisName, Rows } from "../data/receipt";
import { counted } from "../parts/units";
import { kHypotheses, kMembers, kUncertain } from "../parts/words";
import { Bytes, Command, Head, Scroll } from "./common";
import { TicketButton } from "./instant_buttons";
import { Qualifiers } from "./verdict_cards";

interface Remedy {
  of: string;
  fix: string | null;
  proof: string | null;
}

// Of the answer, then of what contributed and may be removed by itself.
function remedies(incident: Incident): Remedy[] {
  const { verdict } = incident.receipt;
  const list: Remedy[] = [
    { of: verdict.primary === null ? "the answer" : kHypotheses[verdict.primary].title, fix: verdict.fix, proof: verdict.proof },
  ];
  for (const name of ["retention", "external"] as HypothesisName[]) {
    const one = verdict.hypotheses?.[name];
    if (one?.status === "contributing") list.push({ of: kHypotheses[name].title, fix: one.fix, proof: one.proof });
  }
  return list.filter((one) => one.fix !== null || one.proof !== null);
}

export function Remedies({ incident }: { incident: Incident }) {
  const list = remedies(incident);
  if (list.length === 0) return null;
  return (
    <section class="card stack" aria-labelledby="remedies">
      <h2 id="remedies">The smallest fix, and its proof</h2>
      {list.map((one, at) => (
        <dl class="pairs">
          {list.length > 1 && (
            <div>
              <dt class="quiet">against</dt>
              <dd class="quiet">
                {one.of}
                {at > 0 && " (contributing)"}
              </dd>
            </div>
          )}
          {one.fix !== null && (
            <div>
              <dt>try</dt>
              <dd>
                <strong>{one.fix}</strong>
              </dd>
            </div>
          )}
          {one.proof !== null && (
            <div>
              <dt>prove</dt>
              <dd>{one.proof}</dd>
            </div>
          )}
        </dl>
      ))}
      <p class="small quiet">
        Record the job again with the fix alone, as AFTER.bin; this compares the two
        {isChosen(incident) && ", from the receipt that this page exports"}. What else is changed on purpose is declared with{" "}
        <code>--changed FIELD</code>.
      </p>
      <Command text={diffCommand(incident, null)} label="comparison" />
    </section>
  );
}

export function VerdictQualifiers({ names }: { names: string[] }) {
  if (names.length === 0) return null;
  return (
    <section class="card stack" aria-labelledby="qualifiers">
      <h2 id="qualifiers">Qualifiers</h2>
      <Qualifiers names={names} />
    </section>
  );
}

interface Unknown {
  what: string;
  detail: string;
}

// What the page shows all the same, and as what.
const kShownInPart: Record<string, string> = {
  active_bytes: "active (shown without what was freed and is still waited for)",
  margin_bytes: "margin (shown as the least that it can be)",
};

function unknowns(incident: Incident): Unknown[] {
  const { capture, evidence, verdict } = incident.receipt;
  const list: Unknown[] = [];
  const probes = new Map<string, string[]>();
  for (const [name, one] of Object.entries(verdict.hypotheses ?? {})) {
    if (one.probe !== null) probes.set(one.probe, [...(probes.get(one.probe) ?? []), kHypotheses[name as HypothesisName].title]);
  }
  for (const [probe, of] of probes) list.push({ what: of.join(", "), detail: probe });
  // A failed call that is not the allocator's has a size of its own, and no request of PyTorch's.
  const absent = evidence.failure?.allocator === "foreign" ? "failure.request_bytes" : null;
  const fields = Object.entries(evidence.provenance)
    .filter(([name, known]) => known === "unknown" && name !== absent)
    .map(([name]) => name.replace(/^.*\./, ""));
  if (fields.length !== 0)
    list.push({
      what: "numbers not known at the failure",
      detail: fields.map((name) => kShownInPart[name] ?? kMembers[name] ?? name.replace(/_bytes$/, "").replaceAll("_", " ")).join("; "),
    });
  for (const word of (capture.uncertain as string[] | undefined) ?? []) list.push({ what: "the recording", detail: kUncertain[word] ?? word });
  const blind = Number(capture.blind_count ?? 0);
  if (blind !== 0) list.push({ what: "the recording", detail: `${counted(blind, "call")} could not be seen` });
  const stackless = Number(capture.no_stack_count ?? 0);
  if (stackless !== 0) list.push({ what: "sites", detail: `${counted(stackless, "birth")} without a stack, although stacks were wanted` });
  return list;
}

export function Unknowns({ incident }: { incident: Incident }) {
  const list = unknowns(incident);
  if (list.length === 0 && incident.receipt.verdict.hypotheses === null) return null;
  return (
    <section class="card stack" aria-labelledby="unknowns">
      <h2 id="unknowns">What is not known</h2>
      {list.length === 0 ? (
        <p class="small quiet">Nothing that the verdict would have needed.</p>
      ) : (
        <dl class="pairs small">
          {list.map((one) => (
            <div>
              <dt class="quiet">{one.what}</dt>
              <dd>{one.detail}</dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}

interface Listed {
  ticket: Count;
  device: number;
  allocator: string;
  request_bytes: Count | null;
  followed: boolean;
}

interface NearMiss {
  kind: string;
  ticket: Count;
  device: number;
  request_bytes: Count | null;
  failed_calls_count: Count;
  operation: string;
}

// The receipt lists some members as rows of columns and some as objects; both read as objects.
function objects<T>(member: unknown): T[] {
  if (Array.isArray(member)) return member as T[];
  const rows = member as Rows | null | undefined;
  return (rows?.rows ?? []).map((row) => Object.fromEntries(row.map((value, at) => [rows!.columns[at], value])) as T);
}

export function OtherFailures({ incident }: { incident: Incident }) {
  const { evidence } = incident.receipt;
  const failures = objects<Listed>(evidence.failures);
  const near = objects<NearMiss>(evidence.near_misses);
  const lost = Number(evidence.lost_failure_count ?? 0);
  if (failures.length < 2 && near.length === 0 && lost === 0) return null;
  return (
    <section class="card stack" aria-labelledby="failures">
      <h2 id="failures">Every failure of the recording</h2>
      {lost !== 0 && <p class="notice notice-strong">{counted(lost, "failure")} counted by the recorder, and none can be read any more.</p>}
      {failures.length > 0 && (
        <Scroll label="failures">
          <table>
            <caption>failures, by ticket</caption>
            <Head columns={["#ticket", "device", "#asked", "of", "then"]} />
            <tbody>
              {failures.map((one) => (
                <tr class={one.ticket === evidence.failure?.ticket ? "chosen" : ""}>
                  <td class="number">
                    <TicketButton ticket={one.ticket} to="lanes" />
                  </td>
                  <td>cuda:{one.device}</td>
                  <td class="number">
                    <Bytes bytes={one.request_bytes} />
                  </td>
                  <td>{one.allocator.replace("_", ", ")}</td>
                  <td>
                    {one.followed ? "the job went on" : "nothing shows that the job went on"}
                    {one.ticket === evidence.failure?.ticket && ": the incident"}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {near.length > 0 && (
        <Scroll label="near misses">
          <table>
            <caption>near misses: refused, and got over</caption>
            <Head columns={["#ticket", "device", "#asked", "refused", "kind"]} />
            <tbody>
              {near.map((one) => (
                <tr>
                  <td class="number">
                    <TicketButton ticket={one.ticket} to="lanes" />
                  </td>
                  <td>cuda:{one.device}</td>
                  <td class="number">
                    <Bytes bytes={one.request_bytes} />
                  </td>
                  <td>
                    {counted(Number(one.failed_calls_count), "call")} of {one.operation}
                  </td>
                  <td>{one.kind}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </section>
  );
}
