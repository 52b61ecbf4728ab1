// SPDX-License-Identifier: Apache-2.0
//
// Whether a text is a receipt and nothing else: every member by docs/receipt.schema.json, which is closed, canonical form, both digests. The
// rule: what the description does not name is refused, so that no text but tokens and closed words can leave in a receipt.
import schema from "../../../docs/receipt.schema.json";
import type { Receipt } from "./receipt";
import { canonicalText, receiptDigests } from "./receipt_digest";

// The words of JSON Schema that the description is written in. Another one is an error of the description, not of the receipt.
interface Rule {
  $ref?: string;
  type?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Rule[];
  required?: string[];
  properties?: Record<string, Rule>;
  additionalProperties?: boolean | Rule;
  items?: boolean | Rule;
  prefixItems?: Rule[];
  minItems?: number;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
  pattern?: string;
}

const kUnderstood = new Set(
  (
    "$schema title $defs $ref type enum const anyOf required properties additionalProperties items prefixItems minItems " +
    "maxItems minimum maximum pattern"
  ).split(" "),
);
const root = schema as unknown as Rule & { $defs: Record<string, Rule> };
const patterns = new Map<string, RegExp>();
const understood = new WeakSet<Rule>();

function patternOf(source: string): RegExp {
  let pattern = patterns.get(source);
  if (pattern === undefined) patterns.set(source, (pattern = new RegExp(source, "u")));
  return pattern;
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "integer":
      return typeof value === "number" && Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function faultOfArray(value: unknown[], rule: Rule, path: string): string | null {
  if (rule.minItems !== undefined && value.length < rule.minItems) return `${path}: too few entries`;
  if (rule.maxItems !== undefined && value.length > rule.maxItems) return `${path}: too many entries`;
  for (let index = 0; index < value.length; ++index) {
    const item = rule.prefixItems?.[index] ?? rule.items;
    if (item === undefined || item === true) continue;
    if (item === false) return `${path}[${index}]: not described`;
    const fault = faultOf(value[index], item, `${path}[${index}]`);
    if (fault !== null) return fault;
  }
  return null;
}

function faultOfObject(value: Record<string, unknown>, rule: Rule, path: string): string | null {
  const own = (name: string) => Object.prototype.hasOwnProperty.call(value, name);
  for (const name of rule.required ?? []) {
    if (!own(name)) return `${path}.${name}: missing`;
  }
  for (const name of Object.keys(value)) {
    const known = rule.properties !== undefined && Object.prototype.hasOwnProperty.call(rule.properties, name);
    const member = known ? rule.properties![name] : rule.additionalProperties;
    if (member === undefined || member === true) continue;
    if (member === false) return `${path}: has a member that no receipt has`;
    const fault = faultOf(value[name], member, `${path}.${name}`);
    if (fault !== null) return fault;
  }
  return null;
}

// The first thing that is not as described, or null. Values are not repeated: they may be what must not leave.
function faultOf(value: unknown, rule: Rule, path: string): string | null {
  if (!understood.has(rule)) {
    const foreign = Object.keys(rule).find((word) => !kUnderstood.has(word));
    if (foreign !== undefined) throw new Error(`the description of receipts says ${foreign}, which this page does not know`);
    understood.add(rule);
  }
  if (rule.$ref !== undefined) return faultOf(value, root.$defs[rule.$ref.slice("#/$defs/".length)], path);
  if (rule.anyOf !== undefined) {
    const faults = rule.anyOf.map((one) => faultOf(value, one, path));
    if (!faults.includes(null)) return faults[faults.length - 1]; // the last alternative is the one that says most
  }
  if (rule.const !== undefined && canonicalText(value) !== canonicalText(rule.const)) return `${path}: not as described`;
  if (rule.enum !== undefined && !rule.enum.includes(value)) return `${path}: not a word of its list`;
  if (rule.type !== undefined && !isOfType(value, rule.type)) return `${path}: not ${rule.type === "null" ? "empty" : `of type ${rule.type}`}`;
  if (typeof value === "number") {
    if (rule.minimum !== undefined && value < rule.minimum) return `${path}: too small`;
    if (rule.maximum !== undefined && value > rule.maximum) return `${path}: too large`;
  }
  if (typeof value === "string" && rule.pattern !== undefined && !patternOf(rule.pattern).test(value)) return `${path}: not of its pattern`;
  if (Array.isArray(value)) return faultOfArray(value, rule, path);
  if (isOfType(value, "object")) return faultOfObject(value as Record<string, unknown>, rule, path);
  return null;
}

// What is wrong with a receipt's verdict, or null: its words and the texts of its advice are of closed lists.
export function faultOfVerdict(verdict: unknown): string | null {
  return faultOf(verdict, root.properties!.verdict as Rule, "verdict");
}

// What is wrong with the text as a description and as canonical JSON, or null; its digests are not looked at.
export function faultOfDescription(text: string): string | null {
  let receipt: unknown;
  try {
    receipt = JSON.parse(text);
  } catch {
    return "the text is no JSON";
  }
  const fault = faultOf(receipt, root, "receipt");
  if (fault !== null) return fault;
  return canonicalText(receipt) === text ? null : "the text is not canonical";
}

// What is wrong with the text, or null.
export function faultOfReceipt(text: string): string | null {
  const fault = faultOfDescription(text);
  if (fault !== null) return fault;
  const receipt = JSON.parse(text) as Receipt;
  const digests = receiptDigests(receipt);
  if (digests.evidence !== receipt.digest.evidence) return "digest.evidence: not the digest of the evidence";
  return digests.receipt === receipt.digest.receipt ? null : "digest.receipt: not the digest of the receipt";
}
