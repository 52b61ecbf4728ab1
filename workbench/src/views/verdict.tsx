// SPDX-License-Identifier: Apache-2.0
//
// What happened, in ten seconds: the sentence, the margin to scale, the split that adds up, and the four hypotheses.
import type { Incident } from "../data/incident";
import type { Balance, HypothesisName } from "../data/receipt";
import { plainText } from "../data/names";
import { amountText, big, unbroken } from "../parts/units";
import { kHypotheses } from "../parts/words";
import { device, opened, receiptOnly, session, view } from "../session";
import { Scroll } from "./common";
import { goToFailure } from "./instant";
import { PeakButton } from "./instant_buttons";
import { book } from "./names";
import { SplitBar, SplitTable, type SplitColumn } from "./split_table";
import { Hypotheses } from "./verdict_cards";
import { WayThere } from "./verdict_lanes";
import { MarginBar } from "./verdict_margin";
import { Dimensions } from "./verdict_dimensions";
import { OtherFailures, Remedies, Unknowns, VerdictQualifiers } from "./verdict_more";
import { Shapes } from "./verdict_shapes";
import { TopSites } from "./verdict_sites";
import "./verdict.css";

function Sentence({ incident }: { incident: Incident }) {
  const { headline } = incident.outline;
  const { failure } = incident.receipt.evidence;
  const toMap = () => {
    view.value = "map";
  };
  const show = (go: () => void) => () => {
    go();
    toMap();
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
      <Besides incident={incident} />
      {session.value !== null && (
        <div class="row screen-only">
          {failure !== null && (
            <button type="button" class="small" onClick={show(goToFailure)}>
              memory at the failure
            </button>
          )}
          <PeakButton text="memory at the peak" then={toMap} />
        </div>
      )}
    </section>
  );
}

const kShares: Partial<Record<HypothesisName, string>> = { retention: "retained_bytes", external: "removable_outside_bytes" };

function Try({ incident }: { incident: Incident }) {
  const { fix } = incident.receipt.verdict;
  return fix === null ? null : (
    <p>
      <strong>try</strong> {fix}
    </p>
  );
}

// What else had its share, and the site that keeps most: the fix of the cause alone may buy a few steps only.
function Besides({ incident }: { incident: Incident }) {
  const { verdict, evidence } = incident.receipt;
  const survivors = (evidence.growth?.survivors ?? []).map(({ site, bytes }) => ({ site: Number(site), bytes: big(bytes) }));
  const retained = verdict.primary === "retention" || verdict.contributing.includes("retention");
  const most = survivors.reduce<(typeof survivors)[0] | null>((one, other) => (one !== null && one.bytes >= other.bytes ? one : other), null);
  const largest = retained ? most : null;
  if (verdict.contributing.length === 0 && largest === null) return null;
  return (
    <>
      {verdict.contributing.map((name) => (
        <p>
          <strong>contributing</strong> {kHypotheses[name].title}
          {kShares[name] !== undefined && verdict.numbers !== null && `, ${amountText(verdict.numbers[kShares[name]])}`}
          {verdict.hypotheses?.[name].fix && `: ${verdict.hypotheses[name].fix}`}
        </p>
      ))}
      {largest !== null && (
        <p class="wrap">
          <strong>kept most</strong> <span class="mono">{book(incident).site(largest.site)}</span>, {unbroken(amountText(largest.bytes))}{" "}
          {session.value !== null && (
            <button
              type="button"
              class="small screen-only"
              onClick={() => {
                view.value = "retention";
              }}
            >
              what is kept
            </button>
          )}
        </p>
      )}
    </>
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
      <h2 id="split">
        Who held {incident.outline.devices.length > 1 ? `cuda:${wanted}` : "the card"} at the {columns[0].title}
      </h2>
      <SplitBar incident={incident} split={columns[0].split} label={`the card at the ${columns[0].title}`} />
      <Scroll label="split of the card">
        <SplitTable incident={incident} columns={columns} caption="" />
      </Scroll>
    </section>
  );
}

const kUndecided = 11; // exit status

export function VerdictView() {
  const incident = opened.value;
  if (incident === null) return null;
  const { verdict, evidence } = incident.receipt;
  const judged = verdict.hypotheses !== null;
  const one = evidence.failure?.device ?? device.value;
  return (
    <div class="stack verdict">
      {evidence.failure !== null && evidence.failure.device !== device.value && (
        <p class="notice" role="status">
          The verdict is of cuda:{evidence.failure.device}, where the failure was; cuda:{device.value}, which is chosen, had none. The way there shows
          the chosen card.
        </p>
      )}
      <div class="verdict-top">
        <Sentence incident={incident} />
        {judged && (
          <section class="card stack" aria-labelledby="margin-title">
            <h2 id="margin-title">The margin</h2>
            <MarginBar
              verdict={verdict}
              totalKnown={(evidence.ledgers?.total_bytes ?? null) !== null}
              marginKnown={(evidence.ledgers?.margin_bytes ?? null) !== null && !verdict.qualifiers.includes("cap_or_driver_refused")}
              foreign={evidence.failure?.allocator === "foreign"}
            />
          </section>
        )}
        {!receiptOnly.value && <WayThere incident={incident} />}
      </div>
      {!judged && verdict.exit_status === kUndecided && (
        <p class="notice">Nothing is decided: all four hypotheses are undecidable.</p>
      )}
      <Hypotheses verdict={verdict} totalKnown={(evidence.ledgers?.total_bytes ?? null) !== null} />
      <div class="columns">
        <div class="stack">
          {evidence.failure === null && <Shapes incident={incident} />}
          <Split incident={incident} />
          <Remedies incident={incident} />
        </div>
        <div class="stack">
          <TopSites incident={incident} device={one} />
          <Dimensions incident={incident} />
          <VerdictQualifiers names={verdict.qualifiers} />
          <Unknowns incident={incident} />
          <OtherFailures incident={incident} />
        </div>
      </div>
    </div>
  );
}
