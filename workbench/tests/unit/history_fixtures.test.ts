// SPDX-License-Identifier: Apache-2.0
//
// The page's own numbers beside memsnap-replay's, of every fixture. The rule: no fixture is left out that memsnap-replay can read, and a
// fixture that it refuses is refused for its own sake (its name says so).
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openIncident } from "../../src/data/open";
import { partsOfText } from "../../src/data/parts";
import { buildHistory } from "../../src/history/build";
import { pageOf } from "../support/pages";

const kFixtures = fileURLToPath(new URL("../../../fixtures", import.meta.url));
const kRefused = /^(dormant$|file_(areas|boundary|counts|magic|truncated|version)|rule_(?!segment_overlap|object_))/;
const kInstants = 12;

const fixtures = readdirSync(kFixtures).filter((name) => existsSync(`${kFixtures}/${name}/events.txt`));

// Each column of the ledger at each row, and scenes against lanes at some instants.
async function compare(html: string): Promise<string[]> {
  const incident = await (await openIncident(partsOfText(html)!.before)).rest();
  const [history, derived] = [await buildHistory(incident), await incident.derived()];
  const differences: string[] = [];
  for (const name of derived.names) {
    const [told, computed] = [derived.column(name), history.ledger(name)];
    for (let row = 0; row < history.rows; ++row) {
      const [a, b] = [told.number(row), computed[row]];
      if (a !== b && !(Number.isNaN(a) && Number.isNaN(b) && !told.filled(row)))
        differences.push(`${name} in row ${row}: told ${told.text(row)}, computed ${b}`);
    }
  }
  for (const device of incident.outline.devices) {
    for (let row = -1; row < history.rows; row += Math.max(1, Math.floor(history.rows / kInstants))) {
      const scene = history.scene(device, row);
      const outside = [...history.outsideByLibrary(device, row).values()].reduce((sum, bytes) => sum + bytes, 0);
      const found = [scene.activeBytes, scene.segmentBytes, scene.candidateBytes, scene.directBytes, outside];
      const lanes = (["active", "segment", "candidate", "direct", "own_outside"] as const).map((lane) => history.laneAt(device, lane, row));
      if (found.some((bytes, at) => bytes !== lanes[at])) differences.push(`device ${device} after row ${row}: scene ${found}, lanes ${lanes}`);
    }
  }
  return differences;
}

test("there are fixtures of every sort", () => {
  expect(fixtures.length).toBeGreaterThan(190);
});

test.each(fixtures.filter((name) => !kRefused.test(name)))("%s", { timeout: 60_000 }, async (name) => {
  expect(await compare(pageOf(`${kFixtures}/${name}`))).toEqual([]);
});

// A page that begins within the window knows what was before from `begin` alone.
test.each(fixtures.filter((name) => !kRefused.test(name)).filter((_, at) => at % 8 === 0))(
  "%s, the last events alone",
  { timeout: 60_000 },
  async (name) => {
    expect(await compare(pageOf(`${kFixtures}/${name}`, ["--html-events", "9"]))).toEqual([]);
  },
);
