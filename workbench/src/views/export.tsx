// SPDX-License-Identifier: Apache-2.0
//
// Exports from the page. The rule: every one is checked before it is handed out (src/checks/exports.ts), and none holds a name.
import { useSignal } from "@preact/signals";
import { checksExport, ledgerExport, receiptExport, sitesExport, type Export } from "../checks/exports";
import { paced } from "../checks/run";
import type { Incident } from "../data/incident";
import { holdsNames } from "../data/names";
import { counted } from "../parts/units";
import { opened, session } from "../session";
import { checksRun } from "./checks_state";
import { Command } from "./common";
import { problemText } from "./opening";

function save(made: Extract<Export, { kind: "file" }>) {
  const address = URL.createObjectURL(new Blob(made.pieces, { type: made.type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = made.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

interface Offer {
  label: string;
  what: string;
  needs: "receipt" | "events" | "checks";
  make: (incident: Incident) => Export | Promise<Export>;
}

const kOffers: Offer[] = [
  { label: "Receipt (JSON)", what: "the receipt, byte for byte; what the oracle checks", needs: "receipt", make: receiptExport },
  {
    label: "Ledger (CSV)",
    what: "a row an event, the same bytes as memsnap-replay --csv",
    needs: "events",
    make: (incident) => ledgerExport(incident, paced()),
  },
  { label: "Sites (CSV)", what: "live bytes by birth site at the failure, sites as tokens", needs: "receipt", make: sitesExport },
  {
    label: "Checks (CSV)",
    what: "what agrees, what differs and what was not recomputed",
    needs: "checks",
    make: (incident) => checksExport(incident, checksRun.value?.checks ?? []),
  },
];

// Incident: the one of the receipt alone does as well.
export function Exports() {
  const made = useSignal<{ label: string; result: Export } | null>(null);
  const busy = useSignal(false);
  const incident = session.value?.incident ?? opened.value;
  if (incident === null) return null;
  const take = async (offer: Offer) => {
    busy.value = true;
    let result: Export;
    try {
      result = await offer.make(incident);
      if (result.kind === "file") save(result);
    } catch (error) {
      result = { kind: "refused", why: problemText(error).replace(/\.$/, ""), command: null };
    }
    made.value = { label: offer.label, result };
    busy.value = false;
  };
  const ready = { receipt: true, events: session.value !== null, checks: checksRun.value?.finished === true && checksRun.value.events };
  const result = made.value?.result;
  return (
    <section class="card stack screen-only" aria-labelledby="exports-title">
      <h2 id="exports-title">Hand it on</h2>
      <p class="small quiet">
        Integers, words of closed lists and tokens only: no name, path or address leaves,{" "}
        {holdsNames(incident.names) ? "though this page shows names" : "and none is in this page"}. Each export is read again before it is saved.
      </p>
      <ul class="exports">
        {kOffers.map((offer) => (
          <li>
            <button
              type="button"
              disabled={busy.value || !ready[offer.needs]}
              onClick={() => void take(offer)}
            >
              {offer.label}
            </button>
            <span class="small quiet">{offer.what}</span>
          </li>
        ))}
      </ul>
      <div role="status" class="stack small">
        {result?.kind === "file" && (
          <p>
            Saved as <span class="mono">{result.name}</span>,{" "}
            {counted(
              result.pieces.reduce((sum, piece) => sum + piece.length, 0),
              "byte",
            )}
            .
          </p>
        )}
        {result?.kind === "refused" && (
          <p class="notice notice-strong">
            {made.value!.label}: {result.why}.
          </p>
        )}
        {result?.kind === "refused" && result.command !== null && <Command text={result.command} />}
      </div>
    </section>
  );
}
