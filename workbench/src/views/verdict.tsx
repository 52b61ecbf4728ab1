// SPDX-License-Identifier: Apache-2.0
//
// What happened, in ten seconds: the sentence, the margin to scale, the split that adds up, and the four hypotheses.
import type { Incident } from "../data/incident";
import type { Balance } from "../data/receipt";
import { plainText } from "../data/names";
import { unbroken } from "../parts/units";
import { device, opened, receiptOnly, session, view } from "../session";
import { Scroll } from "./common";
import { goToFailure, goToPeak } from "./instant";
import { SplitBar, SplitTable, type SplitColumn } from "./split_table";
import { Hypotheses } from "./verdict_cards";
import { WayThere } from "./verdict_lanes";
import { MarginBar } from "./verdict_margin";
import { OtherFailures, Remedies, Unknowns, VerdictQualifiers } from "./verdict_more";
import { Shapes } from "./verdict_shapes";
import { TopSites } from "./verdict_sites";
import "./verdict.css";

function Sentence({ incident }: { incident: Incident }) {
  const { headline } = incident.outline;
  const { failure } = incident.receipt.evidence;
  const show = (go: () => void) => () => {
    go();
    view.value = "map";
  };
  return (
    <section class="card stack sentence" aria-label="what happened">
      {headline.cause !== null && <p class="cause">{unbroken(headline.cause)}</p>}
      {headline.at !== null && (
        <p class="wrap">
          <span class="quiet">at</span> <span class="mono">{plainText(headline.at)}</span>
        </p>
      )}
      {failure === null && headline.cause === null && <p class="cause">{headline.event ?? "Nothing ran out of memory in this recording."}</p>}
      <Try incident={incident} />
      {session.value !== null && (
        <div class="row screen-only">
          {failure !== null && (
            <button type="button" class="small" onClick={show(goToFailure)}>
              memory at the failure
            </button>
          )}
          <button type="button" class="small" onClick={show(goToPeak)}>
            memory at the peak
          </button>
        </div>
      )}
    </section>
  );
}

function Try({ incident }: { incident: Incident }) {
  const { fix } = incident.receipt.verdict;
  return fix === null ? null : (
    <p>
      <strong>try</strong> {fix}
    </p>
  );
}

function columnsOf(holders: Balance[]): SplitColumn[] {
  return [...holders]
    .sort((a, b) => (a.instant === "peak" ? 1 : 0) - (b.instant === "peak" ? 1 : 0))
    .map((split) => ({ title: split.instant, split }));
}

function Split({ incident }: { incident: Incident }) {
  const { failure, holders } = incident.receipt.evidence;
  const wanted = failure?.device ?? device.value;
  const columns = columnsOf(holders.filter((one) => one.device === wanted));
  if (columns.length === 0) return null;
  return (
    <section class="card stack" aria-labelledby="split">
      <h2 id="split">Who held the card at the {columns[0].title}</h2>
      <SplitBar incident={incident} split={columns[0].split} label={`the card at the ${columns[0].title}`} />
      <Scroll label="split of the card">
        <SplitTable incident={incident} columns={columns} caption="" />
      </Scroll>
    </section>
  );
}

export function VerdictView() {
  const incident = opened.value;
  if (incident === null) return null;
  const { verdict, evidence } = incident.receipt;
  const judged = verdict.hypotheses !== null;
  const one = evidence.failure?.device ?? device.value;
  return (
    <div class="stack verdict">
      <div class="verdict-top">
        <Sentence incident={incident} />
        {judged && (
          <section class="card stack" aria-labelledby="margin-title">
            <h2 id="margin-title">The margin</h2>
            <MarginBar
              verdict={verdict}
              totalKnown={(evidence.ledgers?.total_bytes ?? null) !== null}
              foreign={evidence.failure?.allocator === "foreign"}
            />
          </section>
        )}
        {!receiptOnly.value && <WayThere incident={incident} />}
      </div>
      <Hypotheses verdict={verdict} />
      <div class="columns">
        <div class="stack">
          {evidence.failure === null && <Shapes incident={incident} />}
          <Split incident={incident} />
          <Remedies incident={incident} />
        </div>
        <div class="stack">
          <TopSites incident={incident} device={one} />
          <VerdictQualifiers names={verdict.qualifiers} />
          <Unknowns incident={incident} />
          <OtherFailures incident={incident} />
        </div>
      </div>
    </div>
  );
}
