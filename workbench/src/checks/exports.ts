// SPDX-License-Identifier: Apache-2.0
//
// What leaves the page: the receipt, the ledger, the table of sites and the checks. The rule: nothing with a name in it, whether the page holds
// names or not; each text is read again before it is handed out, and files are called by the receipt's digest.
import type { Incident } from "../data/incident";
import { holdsEveryEvent, ledgerColumns, ledgerPieces } from "../data/ledger_csv";
import { canonicalText } from "../data/receipt_digest";
import { faultOfReceipt } from "../data/receipt_check";
import type { Check, Pace } from "./check";
import { ledgerCommand } from "./commands";
import { exportName, receiptName } from "./file_names";
import { faultOfCsv } from "./redaction";

export type Export =
  { kind: "file"; name: string; type: "application/json" | "text/csv"; pieces: string[] } | { kind: "refused"; why: string; command: string | null };

const kWithoutNames = new Set(["names"]);

const refused = (why: string, command: string | null = null): Export => ({ kind: "refused", why, command });

export function receiptExport(incident: Incident): Export {
  // Names are outside both digests: without them it is the same receipt.
  const named = Object.prototype.hasOwnProperty.call(incident.receipt, "names");
  const text = named ? canonicalText(incident.receipt, kWithoutNames) : incident.receiptText;
  const fault = faultOfReceipt(text);
  if (fault !== null) return refused(`the receipt in this page is none: ${fault}`);
  return { kind: "file", name: receiptName(incident), type: "application/json", pieces: [text] };
}

export async function ledgerExport(incident: Incident, pace: Pace): Promise<Export> {
  if (!holdsEveryEvent(incident))
    return refused("the page holds a part of the window's events one by one; the whole ledger comes from the recording", ledgerCommand(incident));
  const pieces: string[] = [];
  let rows = 0;
  for (const piece of ledgerPieces(incident, await incident.derived())) {
    await pace.breathe();
    const fault = pieces.length === 0 ? null : faultOfCsv(piece, ledgerColumns);
    if (fault !== null) return refused(`the ledger in this page is none: ${fault}`, ledgerCommand(incident));
    if (pieces.length > 0) rows += piece.split("\n").length - 1;
    pieces.push(piece);
  }
  if (rows !== incident.events.rows) return refused(`${rows} lines were written for ${incident.events.rows} events`);
  return { kind: "file", name: exportName(incident, "ledger.csv"), type: "text/csv", pieces };
}

function csv(incident: Incident, what: string, columns: readonly string[], rows: readonly (readonly unknown[])[]): Export {
  const body = rows.map((row) => `${row.map((cell) => (cell === null || cell === undefined ? "" : String(cell))).join(",")}\n`).join("");
  const fault = body === "" ? null : faultOfCsv(body, columns);
  if (fault !== null) return refused(`the table cannot leave the page: ${fault}`);
  return { kind: "file", name: exportName(incident, what), type: "text/csv", pieces: [`${columns.join(",")}\n`, body] };
}

const kSiteColumns = ["site", "token", "bytes", "block_count", "retained_bytes", "first_step", "last_step", "phase", "category"];

export function sitesExport(incident: Incident): Export {
  const { sites } = incident.receipt.evidence;
  if (sites === null) return refused("there is no incident in evidence, so the receipt lists no sites at a failure");
  const entries = (incident.receipt.dictionary.sites ?? []) as { site: number; token: string }[];
  const tokens = new Map(entries.map((entry) => [entry.site, entry.token]));
  const rows = sites.map((row) => kSiteColumns.map((column) => (column === "token" ? tokens.get(Number(row.site)) : row[column])));
  return csv(incident, "sites.csv", kSiteColumns, rows);
}

// The values of a difference may be any text of an edited page: what is no integer stays in the page.
const kCheckId = /^[a-z0-9_.]{1,80}$/;
const kCheckHeader = "check,result,compared_count,ticket,page,told\n";

export function checksExport(incident: Incident, checks: readonly Check[]): Export {
  const integer = (text: string) => (/^-?[0-9]{1,40}$/.test(text) ? text : "");
  const lines = checks.map(({ id, result }) => {
    const named = kCheckId.test(id) ? id : "";
    if (result.kind === "agrees") return `${named},agrees,${result.count},,,\n`;
    if (result.kind === "not_recomputed") return `${named},not_recomputed,,,,\n`;
    const { ticket, page, told } = result.difference;
    return `${named},differs,,${integer(ticket ?? "")},${integer(page)},${integer(told)}\n`;
  });
  return { kind: "file", name: exportName(incident, "checks.csv"), type: "text/csv", pieces: [kCheckHeader, ...lines] };
}
