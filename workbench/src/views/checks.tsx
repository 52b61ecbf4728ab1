// SPDX-License-Identifier: Apache-2.0
//
// What the page computed again, and what came of it. The rule: a difference is shown with both values and the way to its event; what was not
// recomputed stands in the same table, with its reason; the page never says that it is right.
import { useSignal } from "@preact/signals";
import type { Check, Group } from "../checks/check";
import { oracleCommand } from "../checks/commands";
import type { Incident } from "../data/incident";
import { amountText, counted, grouped } from "../parts/units";
import { session, view } from "../session";
import { checksRun } from "./checks_state";
import { Command } from "./common";
import { Exports } from "./export";
import { goTo } from "./instant";
import "./checks.css";

const kGroups: Record<Group, string> = {
  outline: "What the page says of itself, from the receipt and the names",
  verdict: "The verdict, from the evidence beside it",
  numbers: "The numbers it was decided from, from the events",
  failure: "The state at the failure",
  growth: "Growth from step to step",
  balance: "Who holds the card",
  sites: "Sites, categories, peaks",
  ledger: "The ledger, event by event",
  rules: "Rules that no recording breaks",
  digests: "The receipt as a text",
};
const kSigns = { agrees: "✓", differs: "✕", not_recomputed: "○" } as const;
const kWords = { agrees: "agrees", differs: "differs", not_recomputed: "not recomputed" } as const;
const kPlurals = { agrees: "agree", differs: "differ", not_recomputed: "not recomputed" } as const;
type Kind = keyof typeof kSigns;

const valueText = (value: string) => (/^-?[0-9]+$/.test(value) ? grouped(value) : value);

function Mark({ kind }: { kind: Kind }) {
  return (
    <span class={`checks-mark checks-mark-${kind}`}>
      <span aria-hidden="true">{kSigns[kind]}</span>
      {kWords[kind]}
    </span>
  );
}

function Jump({ row, ticket }: { row: number | null; ticket: string | null }) {
  if (row === null || row < 0) return null;
  const go = () => {
    goTo(row);
    view.value = "events";
  };
  return (
    <button type="button" class="small" onClick={go}>
      go to ticket {grouped(ticket ?? "0")}
    </button>
  );
}

function FirstDifference({ check }: { check: Check }) {
  if (check.result.kind !== "differs") return null;
  const { difference } = check.result;
  return (
    <section class="card stack checks-difference" aria-labelledby="difference-title">
      <h2 id="difference-title">The first difference: {check.title}</h2>
      <dl class="small">
        <dt>where</dt>
        <dd class="mono wrap">
          {difference.member}
          {difference.ticket === null ? "" : `, ticket ${grouped(difference.ticket)}`}
        </dd>
        <dt>the page computed</dt>
        <dd class="mono wrap">{valueText(difference.page)}</dd>
        <dt>the file says</dt>
        <dd class="mono wrap">{valueText(difference.told)}</dd>
      </dl>
      <div class="row">
        <Jump row={difference.row} ticket={difference.ticket} />
      </div>
    </section>
  );
}

function Outcome({ check }: { check: Check }) {
  const { result } = check;
  if (result.kind === "agrees") {
    if (result.value === null) return <span class="quiet">{counted(result.count, "value")} compared</span>;
    const isSize = /^-?[0-9]+$/.test(result.value) && check.id.endsWith("_bytes");
    return (
      <span class="nowrap">
        <span class="mono wrap">{valueText(result.value)}</span> {isSize && <span class="quiet">({amountText(result.value)})</span>}
      </span>
    );
  }
  if (result.kind === "not_recomputed") return <span class="quiet">{result.why}</span>;
  const { difference } = result;
  return (
    <span class="wrap">
      <span class="mono">{difference.member}</span>: the page computed <b class="mono">{valueText(difference.page)}</b>, the file says{" "}
      <b class="mono">{valueText(difference.told)}</b> <Jump row={difference.row} ticket={difference.ticket} />
    </span>
  );
}

function sumText(checks: readonly Check[]): string {
  const count = (kind: Kind) => checks.filter((check) => check.result.kind === kind).length;
  const said = (Object.keys(kWords) as Kind[]).filter((kind) => count(kind) > 0);
  return said.map((kind) => `${count(kind)} ${count(kind) === 1 ? kWords[kind] : kPlurals[kind]}`).join(", ");
}

// One group: its sum in a line, and its checks below when it is open.
function GroupRows({ group, checks, only }: { group: Group; checks: readonly Check[]; only: Kind | null }) {
  const chosen = useSignal<boolean | null>(null);
  const differs = checks.some((check) => check.result.kind === "differs");
  const open = chosen.value ?? (differs || only !== null);
  const kind: Kind = differs ? "differs" : checks.some((check) => check.result.kind === "agrees") ? "agrees" : "not_recomputed";
  return (
    <tbody>
      <tr>
        <th scope="rowgroup" colSpan={4}>
          <button
            type="button"
            class="checks-group"
            aria-expanded={open}
            onClick={() => {
              chosen.value = !open;
            }}
          >
            <span aria-hidden="true" class="quiet">
              {open ? "▾" : "▸"}
            </span>
            <span class={`checks-mark-${kind}`} aria-hidden="true">
              {kSigns[kind]}
            </span>
            {kGroups[group]}
            <span class="quiet small">{sumText(checks)}</span>
          </button>
        </th>
      </tr>
      {open &&
        checks.map((check) => (
          <tr id={`check-${check.id}`}>
            <td>{check.title}</td>
            <td class="mark">
              <Mark kind={check.result.kind} />
            </td>
            <td class="checks-why">
              <Outcome check={check} />
            </td>
            <td class="from quiet">{check.result.kind === "not_recomputed" ? "" : check.from}</td>
          </tr>
        ))}
    </tbody>
  );
}

function CheckTable({ checks, only }: { checks: readonly Check[]; only: Kind | null }) {
  const shown = checks.filter((check) => only === null || check.result.kind === only);
  const groups = (Object.keys(kGroups) as Group[]).filter((group) => shown.some((check) => check.group === group));
  if (groups.length === 0) return <p class="quiet">None.</p>;
  return (
    <div class="scroll">
      <table class="checks-table">
        <caption class="visually-hidden">each check, its result, and what it was recomputed from</caption>
        <thead>
          <tr>
            <th scope="col">check</th>
            <th scope="col">result</th>
            <th scope="col">what was compared, or why not</th>
            <th scope="col" class="from">
              recomputed from
            </th>
          </tr>
        </thead>
        {groups.map((group) => (
          <GroupRows key={`${group} ${only}`} group={group} only={only} checks={shown.filter((check) => check.group === group)} />
        ))}
      </table>
    </div>
  );
}

function Sum({ checks, finished, done, groups }: { checks: readonly Check[]; finished: boolean; done: number; groups: number }) {
  const count = (kind: Kind) => checks.filter((check) => check.result.kind === kind).length;
  const figure = (kind: Kind, text: string) => (
    <span class={count(kind) === 0 ? "none" : kind}>
      <b>{count(kind)}</b>
      {text}
    </span>
  );
  return (
    <>
      <p class="checks-sum" role="status">
        {figure("agrees", count("agrees") === 1 ? "check agrees" : "checks agree")}
        {figure("differs", count("differs") === 1 ? "differs" : "differ")}
        {figure("not_recomputed", "not recomputed")}
        {!finished && <span class="quiet">so far</span>}
      </p>
      {!finished && <progress max={groups} value={done} aria-label="checks that are done" />}
    </>
  );
}

export function CannotVouch({ incident }: { incident: Incident }) {
  const { digest } = incident.receipt;
  return (
    <section class="card stack" aria-labelledby="vouch-title">
      <h2 id="vouch-title">This page cannot vouch for itself</h2>
      <p>
        It compares what its events say with what the same file says they came to. Whoever could change the one could change the other, or the page.
        The program that shares no code with memsnap-replay settles what the receipt says, from the recording itself; names of functions and files
        it does not look at:
      </p>
      <Command label="oracle's command line" text={oracleCommand(incident)} />
      <p class="small">
        on the receipt that this page exports, whose digest is <span class="mono wrap">{digest.receipt}</span>, and that of its evidence{" "}
        <span class="mono wrap">{digest.evidence}</span>.
      </p>
    </section>
  );
}

export function ChecksView() {
  const only = useSignal<Kind | null>(null);
  const now = session.value;
  const run = checksRun.value;
  if (now === null || run === null || !run.events) return <p class="quiet">The checks begin when the events are read.</p>;
  const first = run.checks.find((check) => check.result.kind === "differs");
  const choices: [Kind | null, string][] = [
    [null, "all"],
    ["differs", "differs"],
    ["not_recomputed", "not recomputed"],
    ["agrees", "agrees"],
  ];
  return (
    <div class="stack checks">
      <section class="card stack" aria-labelledby="checks-title">
        <h1 id="checks-title">Recomputed in this page</h1>
        <Sum checks={run.checks} finished={run.finished} done={run.done} groups={run.groups} />
        <p class="small quiet">
          From what was live before the first event and the {counted(now.incident.events.rows, "event")} that the page holds one by one; never from
          the results it is compared with.
        </p>
      </section>
      {first !== undefined && <FirstDifference check={first} />}
      <div class="columns">
        <CannotVouch incident={now.incident} />
        <Exports />
      </div>
      <section class="card stack" aria-labelledby="table-title">
        <div class="row between">
          <h2 id="table-title">Each check</h2>
          <div class="row screen-only" role="group" aria-label="which checks are shown">
            {choices.map(([kind, text]) => (
              <button
                type="button"
                class="small"
                aria-pressed={only.value === kind}
                onClick={() => {
                  only.value = kind;
                }}
              >
                {text}
              </button>
            ))}
          </div>
        </div>
        <CheckTable checks={run.checks} only={only.value} />
      </section>
    </div>
  );
}
