// SPDX-License-Identifier: Apache-2.0
//
// The command lines that the page prints to be copied: they ask about its own incident, and the programs of the build take them.
import { describe, expect, it } from "vitest";
import { changedFields, diffCommand, ledgerCommand, oracleCommand } from "../../src/checks/commands";
import type { Incident } from "../../src/data/incident";
import type { Receipt } from "../../src/data/receipt";
import { withReceipt } from "../../src/lesson/edit";
import { openFixture } from "./check_fixtures";

const opened = await openFixture("six_part");
const kDigest = "0123456789ab".padEnd(64, "0");

function made(outline: Partial<Incident["outline"]>, edit: (receipt: Receipt) => void = () => undefined): Incident {
  const incident = withReceipt(
    opened,
    (receipt) => {
      edit(receipt);
      receipt.digest.receipt = kDigest;
    },
    false,
  );
  return { ...incident, outline: { ...incident.outline, ...outline } };
}

function ofSnapshot(receipt: Receipt) {
  receipt.capture.origin = "torch_snapshot";
  receipt.references = [{ kind: "torch_snapshot", sha256: kDigest, size_bytes: 767 }];
}
function ofStatedCard(receipt: Receipt) {
  ofSnapshot(receipt);
  receipt.capture.total_stated = true;
  receipt.evidence.ledgers!.total_bytes = 2 ** 32;
}

describe("the command that compares a run with its fix", () => {
  it("declares the setting that the fix changes", () => {
    const incident = made({ file: "job.bin" }, ({ verdict }) => (verdict.fix = "expandable_segments:True on the same run, nothing else changed"));
    expect(diffCommand(incident, null)).toBe("memsnap-replay diff job.bin AFTER.bin --changed allocator.expandable_segments");
    expect(diffCommand(incident, made({ file: "with fix.bin" }), ["--html", "compare.html"])).toBe(
      "memsnap-replay diff job.bin 'with fix.bin' --changed allocator.expandable_segments --html compare.html",
    );
  });

  it("declares nothing for a fix that no setting makes", () => {
    const incident = made({ file: "job.bin" }, ({ verdict }) => (verdict.fix = "retry the request once: a hole that fits was there"));
    expect(diffCommand(incident, null)).toBe("memsnap-replay diff job.bin AFTER.bin");
    expect(changedFields(made({}, ({ verdict }) => (verdict.fix = null)).receipt)).toEqual([]);
  });

  it("takes the exported receipt of an incident that was chosen", () => {
    const incident = made({ file: "job.bin", command: ["--at", "17"] }, ({ verdict }) => (verdict.fix = null));
    expect(diffCommand(incident, null)).toBe("memsnap-replay diff memsnap-0123456789ab-receipt.json AFTER.bin");
  });

  it("brings the stated card of a snapshot into its ring first", () => {
    const incident = made({ file: "s.pickle" }, (receipt) => {
      ofStatedCard(receipt);
      receipt.verdict.fix = null;
    });
    expect(diffCommand(incident, null)).toBe(
      "memsnap-replay import s.pickle s.bin --card 4294967296 && memsnap-replay diff s.bin AFTER.bin",
    );
  });
});

describe("the oracle's command", () => {
  it("names the recording, the exported receipt and what chose the incident", () => {
    const incident = made({ file: "my job.bin", command: ["--device", "1", "--at", "17"] });
    expect(oracleCommand(incident)).toBe("memsnap-oracle --device 1 --at 17 --receipt memsnap-0123456789ab-receipt.json 'my job.bin'");
  });

  it("imports a snapshot first, with the card that was stated, and once only", () => {
    const card = "memsnap-replay import s.pickle s.bin --card 4294967296 && ";
    const oracle = "memsnap-oracle --device 0 --receipt memsnap-0123456789ab-receipt.json s.bin";
    expect(oracleCommand(made({ file: "s.pickle", command: ["--device", "0"] }, ofStatedCard))).toBe(card + oracle);
    expect(oracleCommand(made({ file: "s.pickle", command: ["--card", "4GiB", "--device", "0"] }, ofStatedCard))).toBe(card + oracle);
    const unstated = made({ file: "s.pickle", command: ["--device", "0"] }, ofSnapshot);
    expect(oracleCommand(unstated)).toBe(`memsnap-replay import s.pickle s.bin && ${oracle}`);
  });

  it("imports nothing where the page was made from the ring of an import", () => {
    const incident = made({ file: "s.bin" }, (receipt) => {
      ofStatedCard(receipt);
      receipt.references = [];
    });
    expect(oracleCommand(incident)).toBe("memsnap-oracle --receipt memsnap-0123456789ab-receipt.json s.bin");
  });

  it("has a word for a file whose name is not told", () => {
    expect(oracleCommand(made({ file: null }))).toBe("memsnap-oracle --receipt memsnap-0123456789ab-receipt.json RING");
    expect(oracleCommand(made({ file: null }, ofSnapshot))).toMatch(/^memsnap-replay import FILE RING.bin && memsnap-oracle .* RING.bin$/);
  });
});

it("the ledger's command reads the snapshot itself, with its card", () => {
  expect(ledgerCommand(made({ file: "s.pickle", command: ["--at", "9"] }, ofStatedCard))).toBe(
    "memsnap-replay s.pickle --at 9 --card 4294967296 --csv ledger.csv",
  );
});
