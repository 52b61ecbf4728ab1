// SPDX-License-Identifier: Apache-2.0
//
// The page's own reading and checks, run without a browser.
import { readFileSync } from "node:fs";
import type { Check } from "../../../src/checks/check";
import { runChecks } from "../../../src/checks/run";
import { openIncident } from "../../../src/data/open";
import { partsOfText } from "../../../src/data/parts";
import { buildHistory } from "../../../src/history/build";

export interface Checked {
  receiptText: string;
  checks: Check[];
}

export async function checked(file: string): Promise<Checked> {
  const page = partsOfText(readFileSync(file, "utf8"));
  if (page === null) throw new Error(`${file} holds no parts`);
  const opening = await openIncident(page.before);
  const incident = await opening.rest();
  return { receiptText: incident.receiptText, checks: await runChecks(incident, await buildHistory(incident)) };
}

// One line each of what differs, and of what the page failed to follow.
export function objections(checks: readonly Check[]): string[] {
  return checks.flatMap(({ id, result }) => {
    if (result.kind === "differs") {
      const { member, ticket, page, told } = result.difference;
      return [`${id}: ${member} at ticket ${ticket}: the page has ${page}, the file ${told}`];
    }
    return result.kind === "not_recomputed" && result.why.includes("could not follow") ? [`${id}: ${result.why}`] : [];
  });
}
