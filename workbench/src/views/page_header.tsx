// SPDX-License-Identifier: Apache-2.0
//
// The head of the page: which recording, which card, what happened. It stays in sight in every view.
import { cardBytes } from "../data/card";
import type { Incident } from "../data/incident";
import { holdsNames } from "../data/names";
import type { Evidence } from "../data/receipt";
import { counted, grouped, sizeText } from "../parts/units";
import { device, drawnIn, helping, opened, problem, receiptOnly, session } from "../session";
import { ChecksLine } from "./page_checks";
import { OpenButton } from "./open";
import { nextTheme } from "./theme";

function allocatorText(environment: Record<string, unknown>): string {
  const allocator = environment.allocator as { known: boolean; backend: string; expandable_segments: boolean; caching_disabled: boolean } | undefined;
  if (allocator === undefined || !allocator.known) return "allocator not known";
  if (allocator.caching_disabled) return "no caching allocator";
  if (allocator.backend === "async") return "cudaMallocAsync";
  return allocator.expandable_segments ? "expandable segments" : "native allocator";
}

function cardText(evidence: Evidence, one: number): string {
  const total = cardBytes(evidence, one);
  return total === null ? "size not known" : sizeText(total);
}

function windowText(incident: Incident): string {
  const { window } = incident.outline;
  const capture = incident.receipt.capture;
  const lost = Number(capture.lost_count ?? 0) + Number(capture.missing_count ?? 0);
  const kept = `${counted(window.event_count, "event")}${window.keyframe ? " of a keyframe" : ""}`;
  return `${kept}, ${lost === 0 ? "none" : grouped(lost)} lost`;
}

function Banners({ incident }: { incident: Incident }) {
  const { outline } = incident;
  const { window } = outline;
  const told: string[] = [];
  if (outline.synthetic) told.push("Synthetic: made up to learn with, recorded from no job.");
  if (window.exact_event_count < window.event_count) {
    told.push(
      `Summarised: ${grouped(window.exact_event_count)} of ${grouped(window.event_count)} events are here one by one, ` +
        "the others as least, greatest and last values of runs.",
    );
  }
  const notes = [...told, ...outline.notes];
  if (notes.length === 0) return null;
  return (
    <details class="banner small" open={outline.synthetic || receiptOnly.value}>
      <summary>
        {notes[0]}
        {notes.length > 1 && <span class="quiet"> and {counted(notes.length - 1, "more note")}</span>}
      </summary>
      <ul>
        {notes.slice(1).map((note) => (
          <li>{note}</li>
        ))}
      </ul>
    </details>
  );
}

// Beside the notes, so that neither hides the other.
function NamesWarning({ incident }: { incident: Incident }) {
  if (incident.outline.synthetic || !holdsNames(incident.names)) return null;
  return (
    <p class="banner small">Names of functions, files and phases are in this page: keep it where the job ran. --no-names leaves them out.</p>
  );
}

function Devices({ incident }: { incident: Incident }) {
  const { devices } = incident.outline;
  const card = (one: number) => `cuda:${one}`;
  if (devices.length < 2) return <span>{card(device.value)}</span>;
  return (
    <select
      aria-label="device"
      value={device.value}
      onChange={(event) => {
        device.value = Number(event.currentTarget.value);
      }}
    >
      {devices.map((one) => (
        <option value={one}>{card(one)}</option>
      ))}
    </select>
  );
}

function Facts({ incident }: { incident: Incident }) {
  const { environment, digest, evidence } = incident.receipt;
  const torch = environment.torch_version as string | null;
  return (
    <ul class="facts small">
      <li class="wrap">
        <strong>{incident.outline.file ?? `receipt ${digest.receipt.slice(0, 12)}`}</strong>
      </li>
      <li>
        <Devices incident={incident} /> {cardText(evidence, device.value)}
      </li>
      <li>
        {torch === null ? "torch version not known" : `torch ${torch}`}, {allocatorText(environment)}
      </li>
      <li>{windowText(incident)}</li>
      <li title={digest.receipt}>
        digest <code>{digest.receipt.slice(0, 12)}</code>
      </li>
    </ul>
  );
}

export function Header() {
  const incident = opened.value;
  const headline = incident?.outline.headline;
  const failing = incident?.receipt.evidence.failure?.device;
  return (
    <header class="head">
      <div class="row between head-top">
        {incident === null ? <h1>memsnap</h1> : <Facts incident={incident} />}
        <div class="row screen-only">
          {incident !== null && session.value === null && problem.value === null && !receiptOnly.value && (
            <span role="status" class="small quiet">
              reading the events …
            </span>
          )}
          <OpenButton />
          <button type="button" class="small" onClick={nextTheme}>
            {drawnIn.value === "dark" ? "light" : "dark"}
          </button>
          <button
            type="button"
            class="small"
            aria-haspopup="dialog"
            onClick={() => {
              helping.value = true;
            }}
          >
            keys <kbd aria-hidden="true">?</kbd>
          </button>
        </div>
      </div>
      {headline !== undefined && (
        <h1 class="headline">
          <span class={`headline-title ${headline.title === "NO FAILURE" ? "calm" : ""}`}>
            {headline.title}
            {failing !== undefined && incident !== null && incident.outline.devices.length > 1 && ` on cuda:${failing}`}
          </span>
          {headline.event !== null && <span class="wrap"> {headline.event}</span>}
        </h1>
      )}
      {incident !== null && <ChecksLine />}
      {incident !== null && <NamesWarning incident={incident} />}
      {incident !== null && <Banners incident={incident} />}
    </header>
  );
}
