// SPDX-License-Identifier: Apache-2.0
//
// Two incidents side by side: what is open is BEFORE, what was opened beside it is AFTER. The rule: numbers stand in pairs with differences that
// add up; only memsnap-replay judges whether a fix is proven.
import { diffCommand } from "../checks/commands";
import type { Incident } from "../data/incident";
import type { HypothesisVerdict } from "../data/receipt";
import { amountText, changeBetween, exactText, hundredthsText, knownText, minus } from "../parts/units";
import { kHypotheses, kSources } from "../parts/words";
import { comparison, opened, other } from "../session";
import { Command, Head, StatusMark, Swatch } from "./common";
import { ContractView } from "./compare_contract";
import { CompareLanes } from "./compare_lanes";
import {
  balanceOf,
  cardHundredths,
  failingDevice,
  hypothesisPairs,
  ledgerPairs,
  siteComparison,
  splitPairs,
  sumOf,
  sumOfDifferences,
  type Matched,
  type NumberRow,
  type SplitPair,
} from "./compare_model";
import { OpenButton } from "./open";
import "./compare.css";

const kSitesShown = 40;

const signed = (value: bigint | null, text: (size: bigint) => string) =>
  value === null ? "not known" : `${value > 0n ? "+" : value < 0n ? minus : ""}${text(value < 0n ? -value : value)}`;

function nameOf(incident: Incident): string {
  return incident.outline.file ?? `receipt ${incident.receipt.digest.receipt.slice(0, 12)}`;
}

function Told({ title, incident }: { title: string; incident: Incident }) {
  const { headline } = incident.outline;
  const { verdict, digest } = incident.receipt;
  const cause = headline.cause ?? (verdict.primary === null ? null : kHypotheses[verdict.primary].title);
  return (
    <section class="card stack">
      <p class="small quiet">
        {title}: <strong class="wrap">{nameOf(incident)}</strong>
      </p>
      <h2>
        {headline.title}
        {headline.event !== null && <span class="compare-event"> {headline.event}</span>}
      </h2>
      {cause !== null && <p class="wrap">{cause}</p>}
      {headline.at !== null && <p class="quiet small wrap">at {headline.at}</p>}
      <p class="quiet small">
        digest <code title={digest.receipt}>{digest.receipt.slice(0, 12)}</code>
      </p>
    </section>
  );
}

function Opinion({ told }: { told: HypothesisVerdict | null }) {
  if (told === null) return <span class="quiet">not judged</span>;
  return (
    <span class="row">
      <StatusMark status={told.status} />
      <span class="nowrap">
        {told.margin_bytes === null ? "margin not known" : <span title={exactText(told.margin_bytes)}>{amountText(told.margin_bytes)}</span>}
      </span>
    </span>
  );
}

function Hypotheses({ before, after }: { before: Incident; after: Incident }) {
  return (
    <section class="card stack">
      <h2>The four hypotheses</h2>
      <div class="scroll">
        <table>
          <caption>status and margin</caption>
          <Head columns={["hypothesis", "before", "after"]} />
          <tbody>
            {hypothesisPairs(before, after).map(({ name, pair }) => (
              <tr>
                <th scope="row">{kHypotheses[name].title}</th>
                <td>
                  <Opinion told={pair.before} />
                </td>
                <td>
                  <Opinion told={pair.after} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Numbers({ before, after }: { before: Incident; after: Incident }) {
  const rows: NumberRow[] = ledgerPairs(before, after);
  if (rows.length === 0) return null;
  const failed = (incident: Incident) => incident.receipt.evidence.failure !== null;
  const cell = (incident: Incident, value: NumberRow["before"]) => (failed(incident) ? knownText(value) : <span class="quiet">no failure</span>);
  const both = failed(before) && failed(after);
  return (
    <section class="card stack">
      <h2>At the failure</h2>
      <div class="scroll">
        <table>
          <caption>{both ? "each side at its own failure" : "a side that did not fail has no such numbers"}</caption>
          <Head columns={["number", "#before", "#after", "#difference"]} />
          <tbody>
            {rows.map((row) => (
              <tr>
                <th scope="row">{row.label}</th>
                <td class="number" title={exactText(row.before)}>
                  {cell(before, row.before)}
                </td>
                <td class="number" title={exactText(row.after)}>
                  {cell(after, row.after)}
                </td>
                <td class="number" title={exactText(row.difference)}>
                  {row.difference === null ? (both ? "not known" : "") : changeBetween(row.before!, row.after!)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function SplitRows({ pairs }: { pairs: SplitPair[] }) {
  const cell = (value: bigint | null) => (value === null ? "not known" : hundredthsText(value));
  return (
    <tbody>
      {pairs.map((pair) => (
        <tr>
          <th scope="row" class={pair.isWithin ? "wrap within" : "wrap"}>
            <Swatch name={pair.paint} pattern={pair.pattern} /> {pair.label}
          </th>
          <td class="number">{cell(pair.before)}</td>
          <td class="number">{cell(pair.after)}</td>
          <td class="number">{pair.isWithin ? "" : signed(pair.difference, hundredthsText)}</td>
        </tr>
      ))}
    </tbody>
  );
}

function Split({ before, after, device, instant }: { before: Incident; after: Incident; device: number; instant: "last" | "peak" }) {
  const [a, b] = [balanceOf(before, device, instant), balanceOf(after, device, instant)];
  const title = instant === "peak" ? "The card at the peak" : "The card at the failure, or at the end";
  if (a === null || b === null) {
    return (
      <section class="card stack">
        <h2>{title}</h2>
        <p class="quiet">
          {a === null ? "BEFORE" : "AFTER"} has no split of cuda:{device} there.
        </p>
      </section>
    );
  }
  const pairs = splitPairs(before, a, after, b);
  const whole = (value: bigint | null, side: "before" | "after") => hundredthsText(value ?? sumOf(pairs, side));
  return (
    <section class="card stack">
      <h2>{title}</h2>
      <div class="scroll">
        <table>
          <caption>
            cuda:{device}. Before: {a.instant}, {kSources[a.source]}. After: {b.instant}, {kSources[b.source]}.
          </caption>
          <Head columns={["GiB", "#before", "#after", "#difference"]} />
          <SplitRows pairs={pairs} />
          <tfoot>
            <tr>
              <th scope="row">the card, or what is known of it</th>
              <td class="number">{whole(cardHundredths(a), "before")}</td>
              <td class="number">{whole(cardHundredths(b), "after")}</td>
              <td class="number">{signed(sumOfDifferences(pairs), hundredthsText)}</td>
            </tr>
          </tfoot>
        </table>
      </div>
    </section>
  );
}

const kMatched: Record<Matched, string> = {
  names: "Sites are matched by their frames: function, file and line.",
  key: "Sites are matched by tokens that were made with one key.",
  same_ring: "Sites are matched by their tokens: both sides are of one ring.",
  nothing:
    "Tokens of two rings that were made without a key have nothing in common, so no site is matched: what stands on one " +
    "side only may be the same place. Make both pages with names, or both with --token-key FILE.",
};

function Sites({ before, after, device }: { before: Incident; after: Incident; device: number }) {
  const { matched, rows } = siteComparison(before, after, device);
  if (rows.length === 0) return null;
  const where = (incident: Incident) => (incident.receipt.evidence.sites === null ? "at the peak (no failure)" : "at the failure");
  const cell = (value: Parameters<typeof knownText>[0]) => (value === null ? <span class="quiet">none</span> : knownText(value));
  return (
    <section class="card stack">
      <h2>Live bytes by birth site</h2>
      <p class={matched === "nothing" ? "notice" : "quiet small"}>{kMatched[matched]} Blocks without a stack go by their size.</p>
      <div class="scroll">
        <table>
          <caption>
            Before: {where(before)}. After: {where(after)}. The greatest difference first.
            {rows.length > kSitesShown && ` ${kSitesShown} of ${rows.length} sites are shown.`}
          </caption>
          <Head columns={["site", "#before", "#after", "#growth"]} />
          <tbody>
            {rows.slice(0, kSitesShown).map((row) => (
              <tr>
                <th scope="row" class="wrap">
                  {row.label}
                </th>
                <td class="number">{cell(row.before)}</td>
                <td class="number">{cell(row.after)}</td>
                <td class="number" title={exactText(row.difference)}>
                  {row.difference === null ? <span class="quiet">not known</span> : changeBetween(row.before ?? 0, row.after ?? 0)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Judge({ before, after }: { before: Incident; after: Incident }) {
  return (
    <section class="card stack">
      <h2>Is the fix proven?</h2>
      <p>Only memsnap-replay judges that, with both recordings at hand:</p>
      <Command text={diffCommand(before, after, ["--html", "compare.html"])} />
      <p class="quiet small">
        What else was changed on purpose is declared with <code>--changed FIELD</code>, such as <code>--changed dimensions.1</code>.
      </p>
    </section>
  );
}

function Offer() {
  return (
    <section class="card stack">
      <h2>Compare with another run</h2>
      <p>
        Drop the page or the receipt of the run with the fix, or what <code>memsnap-replay diff --json</code> wrote. What is open is BEFORE, the other
        one AFTER.
      </p>
      <div class="row">
        <OpenButton label="choose a file" />
      </div>
      <Command text="memsnap-replay diff BEFORE AFTER --html compare.html" />
    </section>
  );
}

// A comparison that was opened by itself may be of other recordings than those beside it.
function Strangers({ before, after }: { before: Incident | null; after: Incident | null }) {
  const told = comparison.value;
  if (told === null) return null;
  const strange = (incident: Incident | null, digest: string) => incident !== null && incident.receipt.digest.evidence !== digest;
  const sides = [
    ...(strange(before, told.before.digest.evidence) ? ["BEFORE"] : []),
    ...(strange(after, told.after.digest.evidence) ? ["AFTER"] : []),
  ];
  if (sides.length === 0) return null;
  return (
    <p class="notice notice-strong">
      This comparison is of another recording than what is open as {sides.join(" and ")}: the digests of the evidence differ.
    </p>
  );
}

export function CompareView() {
  const [before, after] = [opened.value, other.value];
  const told = comparison.value;
  const both = before !== null && after !== null;
  const device = both ? failingDevice(before, after) : 0;
  return (
    <div class="stack">
      <Strangers before={before} after={after} />
      {told !== null && <ContractView told={told} />}
      {both && (
        <>
          <div class="columns">
            <Told title="BEFORE" incident={before} />
            <Told title="AFTER" incident={after} />
          </div>
          {told === null && <Judge before={before} after={after} />}
          <div class="columns">
            <Hypotheses before={before} after={after} />
            <Numbers before={before} after={after} />
          </div>
          <section class="card stack">
            <h2>Lanes</h2>
            <CompareLanes
              sides={[
                { title: "BEFORE", incident: before },
                { title: "AFTER", incident: after },
              ]}
              device={device}
            />
          </section>
          <div class="columns">
            <Split before={before} after={after} device={device} instant="last" />
            <Split before={before} after={after} device={device} instant="peak" />
          </div>
          <Sites before={before} after={after} device={device} />
        </>
      )}
      {!both && <Offer />}
    </div>
  );
}
