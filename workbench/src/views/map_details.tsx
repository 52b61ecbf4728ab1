// SPDX-License-Identifier: Apache-2.0
//
// All that is known of the block or hole that is chosen on the map. The rule: what nobody told is said to be not known.
import type { ComponentChildren } from "preact";
import { frameDetail, frameLabel } from "../data/names";
import { isBirthKnown } from "../history/before";
import { kFreeClasses } from "../history/compatibility";
import { counted, exactText, grouped, sizeText } from "../parts/units";
import { session, site, view } from "../session";
import { Bytes } from "./common";
import { query } from "./events_state";
import { goTo, ticketOf } from "./instant";
import { chosen, choose, spotAt, type Spot } from "./map_state";
import { asked, freeSums, names, scene, stepsEnded } from "./map_scene";
import { picture } from "./map_state";

function Item({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Jump({ row, text }: { row: number; text: string }) {
  return (
    <button type="button" class="plain" onClick={() => goTo(row)}>
      {text}
    </button>
  );
}

export function Stack({ of }: { of: number }) {
  const frames = names.value.frames(of);
  if (frames.length === 0) return null;
  return (
    <details class="small">
      <summary>{counted(frames.length, "frame")}, the allocation first</summary>
      <ol class="frames">
        {frames
          .slice()
          .reverse()
          .map((frame) => (
            <li class="mono wrap" title={frameDetail(frame)}>
              {frameLabel(frame)}
            </li>
          ))}
      </ol>
    </details>
  );
}

// What touches it: a block, a hole, or the segment's edge.
function Neighbour({ name, place }: { name: string; place: number }) {
  const spot: Spot = picture.value === null ? null : spotAt(picture.value, place);
  if (spot === null)
    return (
      <Item name={name}>
        <span class="quiet">the segment's edge</span>
      </Item>
    );
  const { history } = session.value!;
  const text =
    spot.kind === "hole"
      ? `hole of ${sizeText(scene.value!.free[spot.extent].size)}`
      : `block of ${sizeText(history.lives.size[spot.life])}, ${names.value.site(history.lives.site[spot.life])}`;
  return (
    <Item name={name}>
      <button type="button" class="plain wrap" onClick={() => choose(spot)}>
        {text}
      </button>
    </Item>
  );
}

function place(of: number): { segment: string; offset: string } {
  const segments = scene.value!.segments;
  const found = segments.findIndex((segment) => of >= segment.place && of < segment.place + segment.size);
  if (found < 0) return { segment: "not in a segment at this instant", offset: "" };
  const { ordinal, kind, sizeClass, size, place: begin } = segments[found];
  return {
    segment: `segment ${ordinal} (${kind}, ${sizeClass === "unknown" ? "class not known" : sizeClass}, ${sizeText(size)})`,
    offset: `, offset ${exactText(of - begin)}`,
  };
}

function Block({ of }: { of: number }) {
  const { history, incident } = session.value!;
  const { lives } = history;
  const now = scene.value!;
  const dead = lives.death[of] < history.rows;
  const died = dead && lives.death[of] <= now.instant;
  const unborn = lives.birth[of] > now.instant;
  const age = stepsEnded.value - lives.step[of];
  const { segment, offset } = place(lives.place[of]);
  const requested = lives.requested[of];
  const ticket = lives.ticket[of];
  return (
    <>
      <h3>Block of {sizeText(lives.size[of])}</h3>
      <p class="small">
        <strong>{unborn ? "Not born yet" : !died ? "Live" : now.deferred.has(of) ? "Freed, still waited for" : "Freed"}</strong> at this instant
      </p>
      <dl class="details">
        <Item name="granted">
          <Bytes bytes={lives.size[of]} exact />
        </Item>
        <Item name="requested">
          {Number.isNaN(requested) ? (
            <span class="quiet">not known</span>
          ) : (
            <>
              <Bytes bytes={requested} exact /> <span class="quiet">({sizeText(lives.size[of] - requested)} more granted)</span>
            </>
          )}
        </Item>
        <Item name="site">
          <span class="wrap">{names.value.site(lives.site[of])}</span> <Stack of={lives.site[of]} />
        </Item>
        <Item name="use">
          {history.categoryOf(of, now.instant) === "unknown" ? (
            <span class="quiet">not told</span>
          ) : (
            history.categoryOf(of, now.instant).replace("_", " ")
          )}
        </Item>
        <Item name={isBirthKnown(incident, history, of) ? "born" : "told"}>
          {lives.birth[of] < 0 ? (
            <>before the page's first event{ticket >= 0 && `, ticket ${grouped(ticket)}`}</>
          ) : (
            <Jump row={lives.birth[of]} text={`ticket ${grouped(ticket)}`} />
          )}
          {isBirthKnown(incident, history, of) ? (
            <>
              , step {grouped(lives.step[of] + 1)}
              {age > 0 && <span class="quiet"> ({counted(age, "step")} ago)</span>}, {names.value.phase(lives.phase[of])}
            </>
          ) : (
            ": it may have been there before the recording, and when it was born is not known"
          )}
        </Item>
        <Item name="freed">
          {dead ? (
            <Jump row={lives.death[of]} text={`ticket ${grouped(ticketOf(lives.death[of]) ?? 0)}`} />
          ) : (
            <span>not within the page's events</span>
          )}
          {dead && <span class="quiet"> {counted(lives.death[of] - Math.max(0, lives.birth[of]), "event")} later</span>}
          {lives.deferredUntil[of] > lives.death[of] && (
            <span>
              {" "}
              waited for until{" "}
              {lives.deferredUntil[of] < history.rows ? (
                <Jump row={lives.deferredUntil[of]} text={`ticket ${grouped(ticketOf(lives.deferredUntil[of]) ?? 0)}`} />
              ) : (
                "after the last event"
              )}
            </span>
          )}
        </Item>
        <Item name="place">
          {segment}
          {offset}
        </Item>
        {!died && !unborn && <Neighbour name="before it" place={lives.place[of] - 1} />}
        {!died && !unborn && <Neighbour name="behind it" place={lives.place[of] + lives.size[of]} />}
      </dl>
      <div class="row">
        <button
          type="button"
          aria-pressed={site.value === lives.site[of]}
          onClick={() => {
            site.value = site.value === lives.site[of] ? null : lives.site[of];
          }}
        >
          highlight its site
        </button>
        {incident.events.has("allocation") && ticket >= 0 && (
          <button
            type="button"
            onClick={() => {
              query.value = `block:${ticket}`;
              view.value = "events";
            }}
          >
            its events
          </button>
        )}
      </div>
    </>
  );
}

const kFreeText = ["fits the request", "too small for the request", "the request may not use it: another pool, stream or size class"];

function Hole({ of }: { of: number }) {
  const extent = scene.value!.free[of];
  const { segment, offset } = place(extent.place);
  const of_class = freeSums.value!.classes[of];
  return (
    <>
      <h3>Hole of {sizeText(extent.size)}</h3>
      <p class="small">{asked.value === null ? "Free in a segment" : `Free in a segment: ${kFreeText[of_class]}`}</p>
      <dl class="details">
        <Item name="size">
          <Bytes bytes={extent.size} exact />
        </Item>
        {asked.value !== null && <Item name="class">{kFreeClasses[of_class]}</Item>}
        <Item name="place">
          {segment}
          {offset}
        </Item>
        <Neighbour name="before it" place={extent.place - 1} />
        <Neighbour name="behind it" place={extent.place + extent.size} />
      </dl>
    </>
  );
}

export function Details() {
  const spot = chosen.value;
  return (
    <aside class="map-details" aria-label="details" tabIndex={-1} id="map-details">
      {spot === null || session.value === null || scene.value === null ? (
        <p class="quiet small">Choose a block or a hole: click it, or walk with the arrow keys.</p>
      ) : spot.kind === "block" ? (
        <Block of={spot.life} />
      ) : (
        <Hole of={spot.extent} />
      )}
    </aside>
  );
}
