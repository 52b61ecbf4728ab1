// SPDX-License-Identifier: Apache-2.0
//
// The parts that are JSON. The rule: a member that the page reads is of the sort that it expects, or the part is refused; nothing else of it
// is believed to be there.
import { PageError } from "./error";
import type { Names, Outline } from "./incident";
import type { Receipt } from "./receipt";
import { faultOfVerdict } from "./receipt_check";

type Json = Record<string, unknown>;
type Test = (value: unknown) => boolean;

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);
const isString: Test = (value) => typeof value === "string";
const isFlag: Test = (value) => typeof value === "boolean";
const isCount: Test = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isLargeCount: Test = (value) => isCount(value) || (typeof value === "string" && /^[0-9]{1,39}$/.test(value));
const orNull = (test: Test): Test => (value) => value === null || test(value);
const orNone = (test: Test): Test => (value) => value === undefined || test(value);
const listOf = (test: Test): Test => (value) => Array.isArray(value) && value.every(test);
const members = (tests: Record<string, Test>): Test => (value) =>
  isObject(value) && Object.entries(tests).every(([name, test]) => test(Object.hasOwn(value, name) ? value[name] : undefined));

export function readJson(part: string, bytes: Uint8Array): { json: unknown; text: string } {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return { json: JSON.parse(text), text };
  } catch {
    throw new PageError(part, "is damaged: it is no JSON");
  }
}

function demand(part: string, json: unknown, tests: Record<string, Test>): void {
  if (!isObject(json)) throw new PageError(part, "is damaged: it is no object");
  for (const [name, test] of Object.entries(tests)) {
    if (!test(Object.hasOwn(json, name) ? json[name] : undefined)) throw new PageError(part, `has no ${name}, or one that is damaged`);
  }
}

export function readOutline(json: unknown): Outline {
  const part = "outline";
  const format = isObject(json) ? json.format : undefined;
  if (isCount(format) && format !== 1)
    throw new PageError(part, `this page is of format ${format}, its program reads 1`, "open a page that one memsnap-replay made as a whole");
  demand(part, json, {
    format: (value) => value === 1,
    memsnap: isString,
    file: orNull(isString),
    command: listOf(isString),
    with_names: isFlag,
    synthetic: isFlag,
    window: members({
      first_ticket: isCount, end_ticket: isCount, event_count: isCount, keyframe: isFlag, exact_first_ticket: isCount, exact_event_count: isCount,
      births_known_from_ticket: isCount,
    }),
    clock: isFlag,
    headline: members({ title: isString, event: orNull(isString), cause: orNull(isString), at: orNull(isString) }),
    notes: listOf(isString),
    devices: listOf((value) => isCount(value) && (value as number) < 32),
  });
  return json as Outline;
}

export function readNames(json: unknown): Names {
  const part = "names";
  demand(part, json, { sites: Array.isArray, frames: listOf(isObject), phases: Array.isArray, libraries: Array.isArray, dimensions: Array.isArray });
  const frameCount = ((json as Json).frames as unknown[]).length;
  const isFrame: Test = (value) => isCount(value) && (value as number) < frameCount;
  const token = orNone(isString);
  const name = orNone(isString);
  demand(part, json, {
    sites: listOf(members({
      site: isCount, token, label: name, size_bytes: orNone(isLargeCount), frames: orNone(listOf(isFrame)),
    })),
    frames: listOf(members({ token, function: name, file: name, line: orNone(orNull(isCount)), native: orNone(isFlag) })),
    phases: listOf(members({ phase: isCount, token: isString, word: orNull(isString), name })),
    libraries: listOf(members({ library: isCount, token, role: isString, name })),
    dimensions: listOf(members({ dimension: isCount, token: isString, name })),
  });
  return json as Names;
}

// What every view leans on; the checks hold the receipt against its whole schema. Of the verdict it is demanded at once: no page tells anybody
// what to do in words that no receipt has.
export function readReceipt(json: unknown): Receipt {
  const count: Test = (value) => Number.isSafeInteger(value) || (typeof value === "string" && /^-?[0-9]{1,39}$/.test(value));
  const failure = members({ device: isCount, ticket: count, segment_request_bytes: count });
  demand("receipt", json, {
    schema: (value) => value === "memsnap.receipt.v1",
    capture: isObject,
    environment: isObject,
    dictionary: isObject,
    evidence: members({ failure: orNull(failure), holders: listOf(isObject), provenance: isObject }),
    verdict: members({ primary: orNull(isString), qualifiers: listOf(isString), hypotheses: orNull(isObject), exit_status: isCount }),
    times: isObject,
    digest: members({ algorithm: isString, evidence: isString, receipt: isString }),
  });
  const fault = faultOfVerdict((json as Json).verdict);
  if (fault !== null) throw new PageError("receipt", `is not as described: ${fault}`);
  return json as Receipt;
}
