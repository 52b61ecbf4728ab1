// SPDX-License-Identifier: Apache-2.0
//
// Retention: what earlier steps left behind. Growth between matched points, live bytes by birth step, and the sites that leave something behind.
import type { Incident } from "../data/incident";
import { amountText, big, changeText, counted, grouped, sizeText } from "../parts/units";
import { kBases, kFamilies } from "../parts/words";
import { opened, session, site, view } from "../session";
import { Bytes, Head, Scroll, SiteButton, StatusMark } from "./common";
import { TicketButton } from "./instant_buttons";
import { book } from "./names";
import { Births } from "./retention_births";
import {
  growthOf, intervalWord, judgesSites, pointsOf, spacingOf, spacingText, survivorsOf, unjudgedOf, type Spacing, type Survivor,
} from "./retention_evidence";
import { GrowthLine } from "./retention_growth";
import "./retention.css";

// From the events, as far as they are told one by one.
function spacingHere(incident: Incident): Spacing | null {
  const now = session.value;
  if (now === null || now.incident !== incident) return null;
  const { events } = incident;
  const [ticket, ended] = [events.column("ticket"), events.column("step")];
  return spacingOf(pointsOf(incident.receipt.evidence), (at) => {
    const row = now.history.rowOf(at);
    return row >= 0 && ticket.at(row) === at ? ended.at(row) : null;
  });
}

function Judged({ incident }: { incident: Incident }) {
  const { evidence, verdict } = incident.receipt;
  const growth = growthOf(evidence);
  const told = verdict.hypotheses?.retention;
  if (growth === null) {
    return <p class="card">Growth is judged at a failure, and this recording has none in evidence. What is live, by birth, is below.</p>;
  }
  const points = pointsOf(evidence);
  const spacing = spacingHere(incident);
  return (
    <section class="card stack" aria-labelledby="growth">
      <div class="row between">
        <h2 id="growth">Growth at the same point of each step</h2>
        {told !== undefined && <StatusMark status={told.status} />}
      </div>
      <p class="small">
        {counted(growth.boundary_count, "point")} of {kFamilies[growth.family] ?? growth.family}: {kBases[growth.basis] ?? growth.basis}.
        {spacing !== null && ` ${spacingText(spacing)}`} Active rose in {growth.growing_pairs_count} of five pairs of points (four are needed).
        {growth.retained_is_bound ? " Retained is a bound only: at most " : " Retained: "}
        <strong>
          <Bytes bytes={growth.retained_bytes} />
        </strong>
        .
        {Number(growth.unknown_birth_bytes ?? 0) > 0 && (
          <>
            {" "}
            Before recording: <Bytes bytes={growth.unknown_birth_bytes} />, from sites and at times that nobody knows.
          </>
        )}
        {Number(growth.kept_since_failure_bytes ?? 0) > 0 && (
          <>
            {" "}
            Kept since an earlier failure, and not counted: <Bytes bytes={growth.kept_since_failure_bytes} />.
          </>
        )}
      </p>
      {points.length > 1 ? (
        <GrowthLine points={points} spacing={spacing} />
      ) : (
        <p class="notice">{points.length === 0 ? "No comparable point was seen" : "One point alone was seen"}: there is no line to draw.</p>
      )}
      {told?.probe !== null && told !== undefined && (
        <p class="small">
          <strong>probe</strong> {told.probe}
        </p>
      )}
    </section>
  );
}

function sizesText(one: Survivor): string {
  const least = sizeText(one.least_block_bytes);
  return one.least_block_bytes === one.greatest_block_bytes ? least : `${least} to ${sizeText(one.greatest_block_bytes)}`;
}

function Oldest({ one }: { one: Survivor }) {
  const text = one.oldest_step > 0 || one.step_count > 0 ? `step ${grouped(Number(one.oldest_step) + 1)}` : `ticket ${grouped(one.oldest_ticket)}`;
  return <TicketButton ticket={one.oldest_ticket} to="map" text={text} title={`ticket ${grouped(one.oldest_ticket)}`} />;
}

function Survivors({ incident }: { incident: Incident }) {
  const { evidence } = incident.receipt;
  const growth = growthOf(evidence);
  const list = survivorsOf(evidence);
  if (growth === null) return null;
  const names = book(incident);
  const spacing = spacingHere(incident);
  const word = intervalWord(spacing);
  const each = spacing !== null && spacing.least === spacing.greatest ? spacing.least : 1; // steps from point to point
  return (
    <section class="card stack" aria-labelledby="survivors">
      <h2 id="survivors">Sites that leave something behind</h2>
      {list.length === 0 ? (
        <p class="small">
          No site left survivors in three different judged {word}s
          {!judgesSites(evidence) ? `; ${kBases[growth.basis]}, so none could be judged` : ""}.
        </p>
      ) : (
        <Scroll label="table of the sites that leave something behind">
          <table>
            <Head columns={["allocated at", `#a ${word}`, "#in all", `#${word}s`, "#blocks", "of size", "oldest from", "#of the site live"]} />
            <tbody>
              {list.map((one) => (
                <tr class={site.value === one.site ? "chosen" : ""}>
                  <td class="wrap">
                    <SiteButton ordinal={one.site} text={names.site(one.site)} then={() => (view.value = "flame")} />
                  </td>
                  <td class="number">
                    <Bytes bytes={one.bytes_per_step} />
                    {each > 1 && <span class="quiet small"> ({amountText(Math.floor(Number(one.bytes_per_step) / each))} a step)</span>}
                  </td>
                  <td class="number">
                    <strong>
                      <Bytes bytes={one.bytes} />
                    </strong>
                  </td>
                  <td class="number" title={`judged ${word}s with survivors, of all judged ${word}s`}>
                    {grouped(one.step_count)} of {grouped(Number(one.step_count) + Number(one.clean_step_count))}
                  </td>
                  <td class="number">{grouped(one.block_count)}</td>
                  <td class="nowrap">{sizesText(one)}</td>
                  <td class="nowrap">
                    <Oldest one={one} />
                  </td>
                  <td class="number">
                    <Bytes bytes={one.live_bytes} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </section>
  );
}

function NotJudged({ incident }: { incident: Incident }) {
  const { evidence } = incident.receipt;
  const growth = growthOf(evidence);
  if (growth === null) return null;
  const list = unjudgedOf(evidence);
  const names = book(incident);
  if (list.length === 0) {
    if (judgesSites(evidence)) return null;
    return (
      <p class="notice">
        Why no site is judged: {kBases[growth.basis] ?? growth.basis}. Retained is then at most what is live and was born after the first point
        {Number(growth.unknown_birth_bytes) > 0 && ", or before the recording"}.
      </p>
    );
  }
  return (
    <section class="card stack" aria-labelledby="not-judged">
      <h2 id="not-judged">Live, but not counted as left behind</h2>
      <Scroll label="sites not counted">
        <table>
          <Head columns={["allocated at", "#live", "why not"]} />
          <tbody>
            {list.map((one) => (
              <tr class={site.value === one.site ? "chosen" : ""}>
                <td class="wrap">
                  <SiteButton ordinal={one.site} text={names.site(one.site)} />
                </td>
                <td class="number">
                  <Bytes bytes={one.bytes} />
                </td>
                <td class="quiet why">{one.reason}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

interface GrowthRow {
  site: number;
  from_bytes: number | string;
  to_bytes: number | string;
}

function SiteGrowth({ incident }: { incident: Incident }) {
  const told = incident.receipt.evidence.site_growth as
    { from_ticket: number; to_ticket: number; pair_count: number; rows: GrowthRow[] } | null | undefined;
  if (told === null || told === undefined || told.rows.length === 0) return null;
  const names = book(incident);
  return (
    <section class="card stack" aria-labelledby="site-growth">
      <h2 id="site-growth">Grown between the first and the last point</h2>
      <Scroll label="grown between the points">
        <table>
          <caption>
            from ticket {grouped(told.from_ticket)} to {grouped(told.to_ticket)}, {counted(told.pair_count, "pair")} of points
          </caption>
          <Head columns={["allocated at", "#then", "#at the end", "#change"]} />
          <tbody>
            {told.rows.slice(0, 12).map((row) => (
              <tr class={site.value === row.site ? "chosen" : ""}>
                <td class="wrap">
                  <SiteButton ordinal={row.site} text={names.site(row.site)} />
                </td>
                <td class="number">
                  <Bytes bytes={row.from_bytes} />
                </td>
                <td class="number">
                  <Bytes bytes={row.to_bytes} />
                </td>
                <td class="number">{changeText(big(row.to_bytes) - big(row.from_bytes))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {told.rows.length > 12 && <p class="tiny quiet">and {counted(told.rows.length - 12, "other site")}: the receipt has them</p>}
    </section>
  );
}

export function RetentionView() {
  const incident = opened.value;
  if (incident === null) return null;
  return (
    <div class="stack">
      <div class="columns">
        <Judged incident={incident} />
        <Births />
      </div>
      <Survivors incident={incident} />
      <SiteGrowth incident={incident} />
      <NotJudged incident={incident} />
    </div>
  );
}
