// SPDX-License-Identifier: Apache-2.0
//
// What memsnap-replay diff said of two recordings (docs/diff.md). The rule: it is read and shown, never judged again; null is "not known".
import { PageError } from "./error";
import type { Count } from "./receipt";

export interface ComparedSide {
  source: "ring" | "receipt";
  origin: string;
  total_stated: boolean;
  incident: "none" | "survived" | "fatal" | "lost";
  primary: string | null;
  answer: string | null;
  digest: { evidence: string; receipt: string };
}

export interface Condition {
  condition: string;
  status: "holds" | "fails" | "unknown";
  inequality: string | null;
}

export type ComparedValue = { value: Count | null; provenance: "observed" | "derived" | "unknown" };

export interface Comparison {
  schema: string;
  result: string;
  exit_status: number;
  target_headroom_bytes: Count | null;
  before: ComparedSide;
  after: ComparedSide;
  cohort: {
    comparable: boolean;
    equal_count: number;
    differences: { field: string; before: unknown; after: unknown; declared: boolean }[];
    declared_unchanged: string[];
    unknown: string[];
  };
  compared: Record<string, { before: ComparedValue; after: ComparedValue; difference: Count | null } | "not_measured">;
  contract: {
    cause: string;
    proof: string;
    result: string;
    observed: Condition[][];
    model: { margin_bytes: Count | null; threshold_bytes: Count | null; deficit_bytes: Count | null };
  } | null;
  diagnosis: unknown;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
const isRows = (value: unknown, test: (row: Record<string, unknown>) => boolean) =>
  Array.isArray(value) && value.every((row) => isObject(row) && test(row));
const isText = (value: unknown): value is string => typeof value === "string";
const isCount = (value: unknown) => value === null || Number.isSafeInteger(value) || (isText(value) && /^-?\d{1,39}$/.test(value));

function isSide(value: unknown): boolean {
  if (!isObject(value) || !isObject(value.digest)) return false;
  const words = [value.source, value.origin, value.incident, value.digest.evidence, value.digest.receipt];
  return words.every(isText) && [value.primary, value.answer].every((word) => word === null || isText(word));
}

function isCompared(value: unknown): boolean {
  if (value === "not_measured") return true;
  if (!isObject(value) || !isCount(value.difference)) return false;
  return [value.before, value.after].every((side) => isObject(side) && isCount(side.value) && isText(side.provenance));
}

function isContract(value: unknown): boolean {
  if (value === null) return true;
  if (!isObject(value) || ![value.cause, value.proof, value.result].every(isText)) return false;
  const model = value.model;
  if (!isObject(model) || ![model.margin_bytes, model.threshold_bytes, model.deficit_bytes].every(isCount)) return false;
  const line = (conditions: unknown) =>
    isRows(conditions, (one) => isText(one.condition) && isText(one.status) && (one.inequality === null || isText(one.inequality)));
  return Array.isArray(value.observed) && value.observed.every(line);
}

function isCohort(value: unknown): boolean {
  if (!isObject(value) || typeof value.comparable !== "boolean" || !Number.isSafeInteger(value.equal_count)) return false;
  const words = [value.declared_unchanged, value.unknown];
  return (
    words.every((list) => Array.isArray(list) && list.every(isText)) &&
    isRows(value.differences, (one) => isText(one.field) && typeof one.declared === "boolean")
  );
}

export function comparisonOf(text: string): Comparison {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  const fits =
    isObject(value) &&
    value.schema === "memsnap.diff.v1" &&
    isText(value.result) &&
    Number.isSafeInteger(value.exit_status) &&
    isCount(value.target_headroom_bytes) &&
    isSide(value.before) &&
    isSide(value.after) &&
    isCohort(value.cohort) &&
    isObject(value.compared) &&
    Object.values(value.compared).every(isCompared) &&
    isContract(value.contract);
  if (!fits) throw new PageError("diff", "is no comparison of memsnap-replay diff", "make it again: memsnap-replay diff BEFORE AFTER --json FILE");
  return value as unknown as Comparison;
}
