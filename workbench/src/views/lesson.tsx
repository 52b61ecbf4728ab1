// SPDX-License-Identifier: Apache-2.0
//
// The start of a page without data, and the lesson: six parts to look at, and changes to watch the checks with. The rule: what is made up says so.
import { batch } from "@preact/signals";
import type { Check, Difference, Group, Result } from "../checks/check";
import { kHypotheses as kInOrder } from "../checks/decide";
import { believed } from "../lesson/believed";
import { kChapters } from "../lesson/chapters";
import { kMutations, type Mutation } from "../lesson/mutations";
import { counted, exactText, grouped, sizeText } from "../parts/units";
import { kHypotheses } from "../parts/words";
import { opened, problem, session, view } from "../session";
import { Command, Head, StatusMark } from "./common";
import { goTo } from "./instant";
import { change, chapter, inLesson, mutation, showChapter, startLesson, told, type Told } from "./lesson_state";
import { OpenButton } from "./open";
import { problemText } from "./opening";
import "./lesson.css";

async function start(): Promise<void> {
  try {
    await startLesson();
  } catch (error) {
    problem.value = problemText(error);
  }
}

function Start() {
  return (
    <div class="columns">
      <section class="card stack" aria-labelledby="start-open">
        <h2 id="start-open">Open an incident</h2>
        <p>
          Drop a file anywhere on this page, or choose it. A page, a receipt or a comparison of memsnap's opens here. Of a ring, a memory snapshot, a
          profiler's trace or a log you are told the command line that reads it.
        </p>
        <div class="row">
          <OpenButton label="choose a file" />
        </div>
        <p class="quiet small">Nothing leaves this page: it has no network, and its policy allows none. A page of a recording is made with</p>
        <Command text="memsnap-replay RING --html incident.html" />
      </section>
      <section class="card stack" aria-labelledby="start-learn">
        <h2 id="start-learn">Learn with a made-up incident</h2>
        <p>
          A training job on a card of 8.00 GiB runs out of memory, in six parts and 90 events. Then break the evidence and watch which check objects.
        </p>
        <div class="row">
          <button type="button" class="strong" onClick={start}>
            start the lesson
          </button>
        </div>
        {opened.value !== null && <p class="quiet small">What is open now is closed; open its file again to come back.</p>}
      </section>
    </div>
  );
}

function Chapters() {
  return (
    <section class="card stack" aria-labelledby="lesson-parts">
      <h2 id="lesson-parts">Six parts</h2>
      <ol class="chapters">
        {kChapters.map((part, index) => (
          <li class="stack">
            <div class="row between">
              <h3>
                {index + 1}. {part.title}
              </h3>
              <button type="button" class="small" aria-label={`show part ${index + 1}: ${part.title}`} onClick={() => showChapter(index)}>
                show
              </button>
            </div>
            {part.text.map((text) => (
              <p>{text}</p>
            ))}
          </li>
        ))}
      </ol>
    </section>
  );
}

// What is between the tabs and the view while a part is shown.
export function LessonStrip() {
  const at = chapter.value;
  if (at === null || !inLesson() || session.value === null || view.value === "lesson") return null;
  const part = kChapters[at];
  return (
    <aside class="lesson-strip screen-only" aria-label="the lesson">
      <div class="row between">
        <h2>
          {at + 1} of {kChapters.length}: {part.title}
        </h2>
        <div class="row">
          <button type="button" class="small" disabled={at === 0} onClick={() => showChapter(at - 1)}>
            previous part
          </button>
          {at + 1 < kChapters.length ? (
            <button type="button" class="small strong" onClick={() => showChapter(at + 1)}>
              next part
            </button>
          ) : (
            <button type="button" class="small strong" onClick={() => leave("lesson")}>
              now break it
            </button>
          )}
          <button type="button" class="small" onClick={() => leave(null)}>
            close
          </button>
        </div>
      </div>
      {part.text.map((text) => (
        <p>{text}</p>
      ))}
      <p>
        <strong>Look:</strong> {part.look}
      </p>
    </aside>
  );
}

function leave(to: "lesson" | null): void {
  batch(() => {
    chapter.value = null;
    if (to !== null) view.value = to;
  });
}

// A value as the difference states it: of a digest the begin, digits grouped, bytes in the unit that suits them.
function Value({ member, text }: { member: string; text: string }) {
  if (/^[0-9a-f]{64}$/.test(text)) return <code title={text}>{text.slice(0, 16)}…</code>;
  if (!/^-?\d{1,39}$/.test(text)) return <>{text}</>;
  if (!/bytes/.test(member)) return <>{grouped(text)}</>;
  return <span title={exactText(text)}>{sizeText(text)}</span>;
}

function Values({ difference }: { difference: Difference }) {
  const { member, page, told: said, row, ticket } = difference;
  return (
    <>
      <td class="lesson-value">
        <Value member={member} text={page} />
      </td>
      <td class="lesson-value">
        <Value member={member} text={said} />
      </td>
      <td>
        {row === null ? (
          <span class="quiet">the receipt</span>
        ) : (
          <button type="button" class="plain nowrap" aria-label={`to the event of ticket ${ticket}`} onClick={() => goToEvent(row)}>
            ticket {ticket}
          </button>
        )}
      </td>
    </>
  );
}

function goToEvent(row: number): void {
  goTo(row);
  view.value = "events";
}

// What says most stands first.
const kGroups: Group[] = ["rules", "digests", "failure", "verdict", "numbers", "growth", "balance", "sites", "ledger"];

function Objecting({ checks }: { checks: Check[] }) {
  const objecting = checks.filter((check) => check.result.kind === "differs").sort((a, b) => kGroups.indexOf(a.group) - kGroups.indexOf(b.group));
  if (objecting.length === 0) return <p class="notice">No check objects: nothing that is recorded contradicts the change.</p>;
  return (
    <div class="scroll">
      <table>
        <caption>the first difference of each check that objects</caption>
        <Head columns={["check", "the page computed", "the file says", "where"]} />
        <tbody>
          {objecting.map((check) => (
            <tr>
              <th scope="row" class="lesson-check">
                {check.title}
                {check.result.kind === "differs" && <code class="wrap tiny">{check.result.difference.member}</code>}
              </th>
              {check.result.kind === "differs" && <Values difference={check.result.difference} />}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

// What could be recomputed before the change and cannot be now.
function Silenced({ before, after }: Told) {
  const now = new Map(after.map((check) => [check.id, check]));
  const silent = before.filter((check) => check.result.kind !== "not_recomputed" && now.get(check.id)?.result.kind === "not_recomputed");
  if (silent.length === 0) return null;
  return (
    <details>
      <summary>{counted(silent.length, "check")} can no longer look</summary>
      <ul>
        {silent.map((check) => {
          const result = now.get(check.id)!.result;
          return (
            <li>
              {check.title}
              {result.kind === "not_recomputed" && `: ${result.why}`}
            </li>
          );
        })}
      </ul>
    </details>
  );
}

function Believed({ of }: { of: Mutation }) {
  const { receipt } = opened.value!;
  const decision = believed(of.id, receipt);
  const recorded = receipt.verdict.hypotheses;
  if (decision === null || recorded === null) return null;
  return (
    <table>
      <caption>Had it never been recorded, the rules would say</caption>
      <Head columns={["hypothesis", "as recorded", "without it"]} />
      <tbody>
        {kInOrder.map((name) => (
          <tr>
            <th scope="row">{kHypotheses[name].title}</th>
            <td>
              <StatusMark status={recorded[name].status} />
            </td>
            <td>
              <StatusMark status={decision.opinions[name].status} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Outcome({ of }: { of: Mutation }) {
  const found = told.value;
  const count = (kind: Result["kind"]) => found?.after.filter((check) => check.result.kind === kind).length ?? 0;
  const objecting = count("differs");
  const said = objecting === 1 ? "1 check objects" : `${counted(objecting, "check")} object`;
  return (
    <div class="stack">
      <p>
        <strong>{of.means}</strong>
      </p>
      <p aria-live="polite" aria-busy={found === null}>
        {found === null ? "the checks run …" : `${said}, ${grouped(count("agrees"))} of ${grouped(found.after.length)} still agree.`}
      </p>
      {found !== null && (
        <>
          <p>{of.watch}</p>
          <Objecting checks={found.after} />
          <Silenced {...found} />
        </>
      )}
      <Believed of={of} />
    </div>
  );
}

function Bench() {
  const made = mutation.value;
  return (
    <section class="card stack" aria-labelledby="lesson-break">
      <h2 id="lesson-break">Break it</h2>
      <p>
        The page recomputes what it can from the events and holds it against the receipt. Change one thing and see which check objects. A block that
        is chosen in the memory map is the one that is dropped or halved.
      </p>
      <div class="row" role="group" aria-label="changes">
        {kMutations.map((one) => (
          <button type="button" class="small" aria-pressed={made?.id === one.id} onClick={() => change(one)}>
            {one.title}
          </button>
        ))}
        <button type="button" class="small" disabled={made === null} onClick={() => change(null)}>
          undo
        </button>
      </div>
      {made !== null && <Outcome of={made} />}
    </section>
  );
}

export function LessonView() {
  if (!inLesson()) return <Start />;
  if (session.value === null) return <p class="quiet">reading the lesson …</p>;
  return (
    <div class="stack">
      <p class="notice">
        Synthetic: this incident was made up to learn with and recorded from no job. Every view shows it; the tabs above work as with any other.
      </p>
      <div class="lesson-halves">
        <Chapters />
        <Bench />
      </div>
    </div>
  );
}
