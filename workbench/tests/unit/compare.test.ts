// SPDX-License-Identifier: Apache-2.0
//
// Two incidents side by side: pairs whose differences add up, sites that are matched only by what they have in common, and comparisons that are
// read as memsnap-replay diff wrote them.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { replay } from "../../lesson/make";
import { comparisonOf } from "../../src/data/comparison";
import { PageError } from "../../src/data/error";
import type { Incident } from "../../src/data/incident";
import { openIncident } from "../../src/data/open";
import { partsOfText } from "../../src/data/parts";
import { receiptIncident } from "../../src/data/receipt_incident";
import { canonicalText } from "../../src/data/receipt_digest";
import {
  balanceOf,
  cardHundredths,
  difference,
  failingDevice,
  hypothesisPairs,
  ledgerPairs,
  matchedBy,
  siteComparison,
  splitPairs,
  sumOf,
  sumOfDifferences,
} from "../../src/views/compare_model";
import { pageOf } from "../support/pages";

const kTop = fileURLToPath(new URL("../../..", import.meta.url));
const kBuild = process.env.MEMSNAP_BUILD ?? join(kTop, "build");
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "memsnap-compare-"));
});

afterAll(() => rmSync(folder, { recursive: true }));

function ringOf(fixture: string): string {
  const ring = join(folder, `${fixture}.bin`);
  execFileSync(join(kBuild, "fixtures/encode/memsnap-encode"), ["--force", join(kTop, "fixtures", fixture, "events.txt"), ring]);
  return ring;
}

function receiptText(fixture: string): string {
  return replay(ringOf(fixture), "--json", "-");
}

const incidentOf = (fixture: string) => receiptIncident(receiptText(fixture)).incident;

describe("a pair of numbers", () => {
  it("differs by what is shown, and by nothing that one side does not know", () => {
    expect(difference(3, 5)).toBe(2n);
    expect(difference("18446744073709551616", 0)).toBe(-18446744073709551616n);
    expect(difference(null, 5)).toBeNull();
  });

  it("of the ledgers stands at each side's failure", () => {
    const rows = ledgerPairs(incidentOf("retention"), incidentOf("fragmentation_strict"));
    const reserved = rows.find((row) => row.label === "reserved")!;
    expect(reserved.difference).toBe(BigInt(reserved.after!) - BigInt(reserved.before!));
  });

  it("has four hypotheses, and none of a side without an incident", () => {
    const pairs = hypothesisPairs(incidentOf("retention"), incidentOf("clean_exit"));
    expect(pairs.map((pair) => pair.name)).toEqual(["live_set", "retention", "fragmentation", "external"]);
    expect(pairs.map((pair) => pair.pair.before?.status)).toEqual(["rejected", "primary", "rejected", "rejected"]);
  });
});

describe("two splits of the card", () => {
  it.each([
    ["retention", "fragmentation_strict"],
    ["external", "live_set"],
    ["many_kinds_outside", "six_part"],
    ["retention", "clean_exit"],
  ])("of %s and %s add up, and so do their differences", (one, two) => {
    const [before, after] = [incidentOf(one), incidentOf(two)];
    const device = failingDevice(before, after);
    for (const instant of ["last", "peak"] as const) {
      const [a, b] = [balanceOf(before, device, instant)!, balanceOf(after, device, instant)!];
      const pairs = splitPairs(before, a, after, b);
      expect(sumOf(pairs, "before")).toBe(cardHundredths(a));
      expect(sumOf(pairs, "after")).toBe(cardHundredths(b));
      expect(sumOfDifferences(pairs)).toBe(sumOf(pairs, "after") - sumOf(pairs, "before"));
    }
  });

  it("do not take two libraries without a name for one", () => {
    const incident = incidentOf("six_part");
    const balance = balanceOf(incident, 0, "last")!;
    const libraries = splitPairs(incident, balance, incident, balance).filter((pair) => pair.key.includes("library-"));
    expect(libraries.map((pair) => pair.label)).toEqual(["library 1 (BEFORE)", "library 1 (AFTER)"]);
  });
});

function withSites(incident: Incident, scope: string, tokens: string[], names: string[] | null): Incident {
  const sites = (incident.receipt.evidence.sites ?? []).map((site) => Number(site.site)).slice(0, tokens.length);
  return {
    ...incident,
    outline: { ...incident.outline, with_names: names !== null },
    receipt: { ...incident.receipt, dictionary: { sites: sites.map((site, at) => ({ site, token: tokens[at], scope })) } },
    names: {
      ...incident.names,
      frames: (names ?? []).map((name) => ({ function: name, file: "a.py", line: 1 })),
      sites: sites.map((site, at) => ({ site, token: tokens[at], ...(names === null ? {} : { frames: [at], label: names[at] }) })),
    },
  };
}

describe("what other processes hold, told on one side only", () => {
  const pairs = () => {
    const [before, after] = [incidentOf("holder_unknown"), incidentOf("external")];
    const [a, b] = [balanceOf(before, 0, "last")!, balanceOf(after, 0, "last")!];
    expect([a.others_bytes, b.others_bytes !== null]).toEqual([null, true]);
    return { a, b, pairs: splitPairs(before, a, after, b) };
  };

  it("is not known on the other, and never 0", () => {
    const others = pairs().pairs.find((pair) => pair.key === "others")!;
    expect([others.before, others.difference]).toEqual([null, null]);
    expect(others.after).toBeGreaterThan(0n);
  });

  it("is compared with the residual that has it in it, so that the differences add up", () => {
    const { a, b, pairs: found } = pairs();
    const residual = found.find((pair) => pair.key === "residual")!;
    expect(residual.label).toContain("other processes");
    expect(sumOf(found, "before")).toBe(cardHundredths(a));
    expect(sumOf(found, "after")).toBe(cardHundredths(b));
    expect(sumOfDifferences(found)).toBe(cardHundredths(b)! - cardHundredths(a)!);
  });

  it("keeps a part without a number from being summed as 0", () => {
    const incident = incidentOf("external");
    const balance = balanceOf(incident, 0, "last")!;
    const unknown = { ...balance, free_bytes: null };
    const found = splitPairs(incident, unknown, incident, balance);
    expect(found.find((pair) => pair.key === "free")).toMatchObject({ before: null, difference: null });
    expect(sumOfDifferences(found)).toBeNull();
  });
});

describe("sites of two recordings", () => {
  const sites = () => [incidentOf("retention"), incidentOf("six_part")] as const;

  it("are not matched by ordinals or tokens of two rings without a key, and that is said", () => {
    const [before, after] = sites();
    const compared = siteComparison(withSites(before, "ring", ["site-a", "site-b"], null), withSites(after, "ring", ["site-c", "site-d"], null), 0);
    expect(compared.matched).toBe("nothing");
    expect(compared.rows.every((row) => row.before === null || row.after === null)).toBe(true);
  });

  it("are matched by tokens of one key", () => {
    const [before, after] = sites();
    const [a, b] = [withSites(before, "key", ["site-a", "site-b"], null), withSites(after, "key", ["site-b", "site-a"], null)];
    expect(matchedBy(a, b)).toBe("key");
    expect(
      siteComparison(a, b, 0)
        .rows.filter((row) => row.before !== null && row.after !== null)
        .map((row) => row.label)
        .sort(),
    ).toEqual(["site-a", "site-b"]);
  });

  it("are matched by their frames where both have names, whatever their tokens are", () => {
    const [before, after] = sites();
    const [a, b] = [withSites(before, "ring", ["site-a", "site-b"], ["f", "g"]), withSites(after, "ring", ["site-c", "site-d"], ["g", "h"])];
    const { matched, rows } = siteComparison(a, b, 0);
    expect(matched).toBe("names");
    expect(rows.filter((row) => row.before !== null && row.after !== null).map((row) => row.label)).toEqual(["g"]);
  });

  it("of pages that may hold names and have none are not matched by frames, and no growth is made up", () => {
    const mayHold = (incident: Incident): Incident => ({ ...incident, outline: { ...incident.outline, with_names: true } });
    const [before, after] = sites();
    const [a, b] = [withSites(before, "ring", ["site-a"], null), withSites(after, "ring", ["site-c"], null)].map(mayHold);
    const { matched, rows } = siteComparison(a, b, 0);
    expect(matched).toBe("nothing");
    expect(rows.some((row) => row.difference === null)).toBe(true);
    expect(rows.filter((row) => row.label.startsWith("site-")).every((row) => row.difference === null)).toBe(true);
  });

  it("without frames, among others that have some, grew by what nobody knows", () => {
    const [before, after] = sites();
    const [a, b] = [withSites(before, "ring", ["site-a", "site-b"], ["f", "g"]), withSites(after, "ring", ["site-c", "site-d"], ["g", "h"])];
    delete a.names.sites[0].frames;
    const { matched, rows } = siteComparison(a, b, 0);
    expect(matched).toBe("names");
    expect(rows.find((row) => row.label === "f")!.difference).toBeNull();
    expect(rows.find((row) => row.label === "h")!.difference).not.toBeNull();
  });

  it("of one ring are all matched, and nothing grew", () => {
    const [before] = sites();
    const { matched, rows } = siteComparison(before, before, 0);
    expect(matched).toBe("same_ring");
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.every((row) => row.difference === 0n)).toBe(true);
  });
});

describe("a comparison of memsnap-replay diff", () => {
  const told = () => {
    const out = join(folder, "diff.json");
    try {
      execFileSync(join(kBuild, "replay/memsnap-replay"), ["diff", ringOf("retention"), ringOf("clean_exit"), "--json", out, "--force"], {
        stdio: "ignore",
      });
    } catch {
      // The exit status is the result.
    }
    return readFileSync(out, "utf8");
  };

  it("is read as it was written", () => {
    const text = told();
    expect(canonicalText(comparisonOf(text))).toBe(text.trimEnd());
  });

  it("that is damaged is refused, whichever member it is", () => {
    const whole = JSON.parse(told()) as Record<string, unknown>;
    for (const member of ["schema", "result", "exit_status", "before", "after", "cohort", "compared", "contract"])
      for (const wrong of [7.5, "x", [], {}]) {
        if (member === "result" && wrong === "x") continue;
        if (member === "compared" && JSON.stringify(wrong) === "{}") continue;
        expect(() => comparisonOf(JSON.stringify({ ...whole, [member]: wrong })), `${member}: ${JSON.stringify(wrong)}`).toThrow(PageError);
      }
    expect(() => comparisonOf("{")).toThrow(PageError);
    expect(() => comparisonOf("null")).toThrow(PageError);
  });
});

describe("a receipt alone", () => {
  it("counts the events that its page has: none that is missing, and none of an unknown kind", async () => {
    const { outline, receipt } = incidentOf("minor_version");
    expect(Number(receipt.capture.unknown_kind_count)).toBeGreaterThan(0);
    const page = await openIncident(partsOfText(pageOf(join(kTop, "fixtures", "minor_version")))!.before);
    expect(outline.window).toEqual(page.outline.window);
  });

  it("is an incident without events, and says so", () => {
    const { incident, faults } = receiptIncident(receiptText("retention"));
    expect(faults).toEqual([]);
    expect(incident.events.rows).toBe(0);
    expect(incident.outline.notes[0]).toContain("A receipt alone");
    expect(incident.receipt.verdict.primary).toBe("retention");
  });

  it("that was changed is shown with what is wrong, and one of another shape is refused", () => {
    const text = receiptText("retention");
    const changed = JSON.parse(text) as { evidence: { ledgers: { margin_bytes: number } } };
    changed.evidence.ledgers.margin_bytes += 1;
    expect(receiptIncident(canonicalText(changed)).faults.join()).toContain("digest");
    expect(receiptIncident(JSON.stringify(JSON.parse(text), null, 2)).faults.join()).toContain("not canonical");
    expect(() => receiptIncident(canonicalText({ ...changed, path: "/home/someone" }))).toThrow(PageError);
    expect(() => receiptIncident("{}")).toThrow(PageError);
    expect(() => receiptIncident("no JSON")).toThrow(PageError);
  });
});
