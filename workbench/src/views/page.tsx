// SPDX-License-Identifier: Apache-2.0
//
// The frame around the views: what is open, the views by name, and the instant that they share. The rule: a view is a line of `kViews` and takes no
// props; all it needs are the signals of session.ts.
import type { ComponentType } from "preact";
import type { ComponentChildren } from "preact";
import { useEffect, useErrorBoundary, useRef } from "preact/hooks";
import { begun, opened, printing, problem, receiptOnly, session, view, type ViewName } from "../session";
import { Header } from "./page_header";
import { InstantBar } from "./page_instant";
import { HoldersView } from "./holders";
import { KeyList, useKeys } from "./keys";
import { ChecksView } from "./checks";
import { CompareView } from "./compare";
import { EventsView } from "./events";
import { FlameView } from "./flame";
import { LanesView } from "./lanes";
import { LessonStrip, LessonView } from "./lesson";
import { MapView } from "./map";
import { DropTarget } from "./open";
import { problemText } from "./opening";
import { ReceiptView } from "./receipt";
import { RetentionView } from "./retention";
import { VerdictView } from "./verdict";
import "./page.css";

export interface ViewEntry {
  id: ViewName;
  title: string;
  key: string; // pressed anywhere
  component: ComponentType;
  instant: boolean; // it shows an instant, so the bar belongs under it
  paper: boolean; // it is printed
  receipt: boolean; // it needs no events
}

export const kViews: ViewEntry[] = [
  { id: "verdict", title: "Verdict", key: "1", component: VerdictView, instant: false, paper: true, receipt: true },
  { id: "lanes", title: "Lanes", key: "2", component: LanesView, instant: true, paper: true, receipt: false },
  { id: "map", title: "Memory map", key: "3", component: MapView, instant: true, paper: false, receipt: false },
  { id: "flame", title: "Flame graph", key: "4", component: FlameView, instant: true, paper: false, receipt: false },
  { id: "retention", title: "Retention", key: "5", component: RetentionView, instant: true, paper: false, receipt: false },
  { id: "holders", title: "Who holds the card", key: "6", component: HoldersView, instant: true, paper: true, receipt: false },
  { id: "events", title: "Events", key: "7", component: EventsView, instant: true, paper: false, receipt: false },
  { id: "checks", title: "Checks", key: "8", component: ChecksView, instant: false, paper: false, receipt: false },
  { id: "receipt", title: "Evidence", key: "2", component: ReceiptView, instant: false, paper: true, receipt: true },
  { id: "compare", title: "Compare", key: "9", component: CompareView, instant: false, paper: false, receipt: true },
  { id: "lesson", title: "Lesson", key: "0", component: LessonView, instant: false, paper: false, receipt: true },
];

// Without events there is nothing to look at but what the receipt says.
function shownViews(): ViewEntry[] {
  // Nor where nothing is open at all.
  const start: ViewName[] = ["compare", "lesson"];
  if (opened.value === null && start.includes(view.value)) return kViews.filter((entry) => start.includes(entry.id));
  return kViews.filter((entry) => (receiptOnly.value ? entry.receipt : entry.id !== "receipt"));
}

function Tabs({ views }: { views: ViewEntry[] }) {
  const list = useRef<HTMLDivElement>(null);
  const at = views.findIndex((entry) => entry.id === view.value);
  const walk = (event: KeyboardEvent) => {
    const last = views.length - 1;
    const to = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at <= 0 ? last : at - 1, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    view.value = views[to].id;
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[to].focus();
  };
  useEffect(() => list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [at]);
  return (
    <div class="tabs" role="tablist" aria-label="views" ref={list} onKeyDown={walk}>
      {views.map((entry) => (
        <button
          type="button"
          role="tab"
          id={`tab-${entry.id}`}
          aria-selected={entry.id === view.value}
          aria-controls="view"
          tabIndex={entry.id === view.value ? 0 : -1}
          onClick={() => {
            view.value = entry.id;
          }}
        >
          {entry.title}
        </button>
      ))}
    </div>
  );
}

function Problem({ text }: { text: string }) {
  return (
    <section class="card stack" role="alert">
      <h2>{opened.value === null ? "This page could not be read" : "The events could not be read"}</h2>
      <p class="wrap">{text}</p>
      <p>
        Make the page again from the recording: <code>memsnap-replay RING --html FILE</code>
      </p>
    </section>
  );
}

// What cannot be drawn says so in its own place: nothing of another view or incident stays in it.
function Guarded({ children }: { children: ComponentChildren }) {
  const [fault] = useErrorBoundary();
  if (fault === undefined || fault === null) return <>{children}</>;
  return (
    <p class="card notice notice-strong" role="alert">
      {problemText(fault)}
    </p>
  );
}

function Paper() {
  return (
    <div class="stack">
      {shownViews()
        .filter((entry) => entry.paper)
        .map((entry) => (
          <section class="stack">
            <h2>{entry.title}</h2>
            <Guarded>
              <entry.component />
            </Guarded>
          </section>
        ))}
    </div>
  );
}

export function Page() {
  const views = shownViews();
  useKeys(shownViews);
  const entry = views.find((one) => one.id === view.value) ?? views[0];
  const of = opened.value?.receipt.digest.receipt ?? "";
  const reading = !begun.value || (opened.value !== null && session.value === null && problem.value === null && !receiptOnly.value);
  if (printing.value && opened.value !== null) {
    return (
      <div class="page paper">
        <Header />
        <main>
          <Paper />
        </main>
      </div>
    );
  }
  return (
    <div class="page">
      <a class="skip" href="#view">
        to the view
      </a>
      <Guarded key={of}>
        <Header />
      </Guarded>
      <nav class="views screen-only" aria-label="views">
        <Tabs views={views} />
      </nav>
      <main aria-busy={reading}>
        {problem.value !== null && <Problem text={problem.value} />}
        <LessonStrip />
        <div id="view" role="tabpanel" aria-labelledby={`tab-${entry.id}`} tabIndex={-1}>
          {(opened.value !== null || entry.id === "lesson" || entry.id === "compare") && (
            <Guarded key={entry.id === "lesson" ? entry.id : `${entry.id} ${of}`}>
              <entry.component />
            </Guarded>
          )}
        </div>
      </main>
      {entry.instant && session.value !== null && <InstantBar />}
      <KeyList views={views} />
      <DropTarget />
    </div>
  );
}
