// SPDX-License-Identifier: Apache-2.0
//
// What the checks come to, in the head of every view. The rule: a difference is never quieter than the verdict, and what is said before the events
// are read is taken back by nothing but a check.
import type { Check } from "../checks/check";
import { counted, grouped } from "../parts/units";
import { opened, receiptOnly, session, view } from "../session";
import { checksOfOther, checksRun, objecting, type ChecksRun } from "./checks_state";
import "./page_checks.css";

function ToChecks({ text }: { text: string }) {
  if (session.value === null) return null;
  return (
    <button
      type="button"
      class="small screen-only"
      onClick={() => {
        view.value = "checks";
      }}
    >
      {text}
    </button>
  );
}

function Alarm({ subject, checks, link }: { subject: string; checks: readonly Check[]; link: boolean }) {
  return (
    <div class="notice notice-differs row" role="alert">
      <p>
        <strong>
          <span aria-hidden="true">✕ </span>
          {subject} contradicts itself: {counted(checks.length, "check")} {checks.length === 1 ? "differs" : "differ"}.
        </strong>{" "}
        Somebody or something changed it, or memsnap has a fault: believe neither verdict nor names before the recording is asked again. First:{" "}
        {checks[0].title}.
      </p>
      {link && <ToChecks text="what differs" />}
    </div>
  );
}

function agreeText(run: ChecksRun): string {
  const count = (kind: string) => run.checks.filter(({ result }) => result.kind === kind).length;
  const left = count("not_recomputed");
  const agree = count("agrees");
  return `${counted(agree, "check")} ${agree === 1 ? "agrees" : "agree"}${left === 0 ? "" : `, ${grouped(left)} not recomputed`}`;
}

export function ChecksLine() {
  const run = checksRun.value;
  if (run === null || opened.value === null) return null;
  const beside = checksOfOther.value;
  const differs = objecting(run);
  const differsBeside = beside === null ? [] : objecting(beside);
  const synthetic = run.of.outline.synthetic;
  const subject = receiptOnly.value ? "This receipt" : synthetic ? "The lesson" : "This page";
  return (
    <>
      {differs.length > 0 && <Alarm subject={subject} checks={differs} link />}
      {differsBeside.length > 0 && <Alarm subject="The run AFTER" checks={differsBeside} link={false} />}
      {differs.length === 0 && (run.events || receiptOnly.value) && (
        <p class="row small quiet checks-line">
          {run.finished ? (
            <span>
              <span class="checks-line-agree" aria-hidden="true">
                ✓
              </span>{" "}
              {agreeText(run)}
            </span>
          ) : (
            <span>checking …</span>
          )}
          {run.finished && <ToChecks text="which" />}
        </p>
      )}
    </>
  );
}
