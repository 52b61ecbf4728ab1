// SPDX-License-Identifier: Apache-2.0
//
// How the page spells numbers: as the terminal's report does (replay/report_text.h). The rule: rounding is done once for numbers that stand
// in one sum, so that what is shown adds up; no double is rounded twice.
export type Count = number | string; // integers as a receipt has them: beyond 2^53 as digits

export const GiB_bytes = 2 ** 30;
export const MiB_bytes = 2 ** 20;
export const minus = "−";

type Amount = number | bigint;

// Products with 100 stay exact below this.
const kExact = 2 ** 46;

function floorDiv(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value % by < 0n ? quotient - 1n : quotient;
}

export function big(value: Count | bigint): bigint {
  return BigInt(value);
}

// A receipt's integer as a number: for drawing, where a double is exact enough.
export function drawn(value: Count | null | undefined): number | null {
  return value === null || value === undefined ? null : Number(value);
}

export function hundredthsText(hundredths: Amount): string {
  const value = BigInt(hundredths);
  const size = value < 0n ? -value : value;
  return `${value < 0n ? minus : ""}${size / 100n}.${String(size % 100n).padStart(2, "0")}`;
}

// Nearest hundredth of a unit; half a hundredth goes up.
export function hundredths(bytes: Amount, unit_bytes: number = GiB_bytes): bigint {
  if (typeof bytes === "number" && Math.abs(bytes) < kExact) return BigInt(Math.floor((bytes * 100 + unit_bytes / 2) / unit_bytes));
  const unit = BigInt(unit_bytes);
  return floorDiv(BigInt(bytes) * 100n + unit / 2n, unit);
}

// A size on its own, in the unit that suits it: "512 B", "20.00 MiB", "2.00 GiB".
export function sizeText(bytes: Amount | string): string {
  const value = typeof bytes === "string" ? BigInt(bytes) : bytes;
  if (value < 0) return minus + sizeText(-value);
  for (const [unit_bytes, name] of [
    [GiB_bytes, "GiB"],
    [MiB_bytes, "MiB"],
    [2 ** 10, "KiB"],
  ] as const) {
    if (value >= unit_bytes) return `${hundredthsText(hundredths(value, unit_bytes))} ${name}`;
  }
  return `${value} B`;
}

// Whether two decimals of a GiB would show next to nothing of it.
export function isNextToNothing(bytes: Amount): boolean {
  return bytes != 0 && hundredths(bytes < 0 ? -bytes : bytes) < 10n;
}

// GiB with two decimals, or a unit that suits it where that would show next to nothing.
export function amountText(bytes: Amount | string): string {
  const value = typeof bytes === "string" ? BigInt(bytes) : bytes;
  return value == 0 || isNextToNothing(value) ? sizeText(value) : `${hundredthsText(hundredths(value))} GiB`;
}

export function knownText(bytes: Count | null | undefined): string {
  return bytes === null || bytes === undefined || Number.isNaN(bytes) ? "not known" : amountText(bytes);
}

// With the sign of a difference.
export function changeText(bytes: Amount): string {
  return bytes > 0 ? `+${amountText(bytes)}` : amountText(bytes);
}

// By what a number changed that is shown before and after with amountText: in hundredths of a GiB it is the change of what is shown; where that would
// show next to nothing of it, the change itself.
export function changeBetween(before_bytes: Count, after_bytes: Count): string {
  const [before, after] = [big(before_bytes), big(after_bytes)];
  if (before === after || isNextToNothing(after - before)) return changeText(after - before);
  const change = hundredths(after) - hundredths(before);
  return `${change > 0n ? "+" : ""}${hundredthsText(change)} GiB`;
}

// Hundredths of a unit that add up to the rounded sum: the first to the nearest, the others by largest remainder. Parts may be negative.
export function hundredthsOfParts(parts_bytes: Amount[], unit_bytes: number = GiB_bytes): bigint[] {
  if (parts_bytes.length === 0) return [];
  const parts = parts_bytes.map((part) => BigInt(part));
  const unit = BigInt(unit_bytes);
  const rounded = [hundredths(parts[0], unit_bytes)];
  const rest = parts.slice(1).map((part, at) => {
    const whole = floorDiv(part * 100n, unit);
    rounded.push(whole);
    return { at: at + 1, remainder: part * 100n - whole * unit };
  });
  rest.sort((a, b) => (a.remainder === b.remainder ? a.at - b.at : a.remainder > b.remainder ? -1 : 1));
  const sum = hundredths(
    parts.reduce((a, b) => a + b, 0n),
    unit_bytes,
  );
  let given = rounded.reduce((a, b) => a + b, 0n);
  for (const { at } of rest) {
    if (given >= sum) break;
    rounded[at] += 1n;
    given += 1n;
  }
  return rounded;
}

// 1048576 -> 1,048,576
export function grouped(value: Amount | string): string {
  return String(value)
    .replace("-", minus)
    .replace(/\B(?=(\d{3})+$)/g, ",");
}

export function exactText(bytes: Count | bigint | null): string {
  return bytes === null ? "not known" : `${grouped(bytes)} B`;
}

// "1 step", "2,000 steps"
export function counted(count: Amount | string, what: string): string {
  return `${grouped(count)} ${what}${count == 1 ? "" : "s"}`;
}

// A step of an axis, which is a power of two: whole numbers of a unit say it exactly.
export function stepText(bytes: number): string {
  if (bytes === 0) return "0";
  const size = Math.abs(bytes);
  const [unit_bytes, name] =
    size >= GiB_bytes ? [GiB_bytes, "GiB"] : size >= MiB_bytes ? [MiB_bytes, "MiB"] : size >= 1024 ? [1024, "KiB"] : [1, "B"];
  return `${grouped(bytes / unit_bytes)} ${name}`;
}

// A time since the first event: "12.345 s", "3.20 ms".
export function durationText(duration_ns: number): string {
  if (duration_ns < 0) return minus + durationText(-duration_ns);
  if (duration_ns < 1e3) return `${duration_ns} ns`;
  if (duration_ns < 1e6) return `${(duration_ns / 1e3).toFixed(2)} µs`;
  if (duration_ns < 1e9) return `${(duration_ns / 1e6).toFixed(2)} ms`;
  if (duration_ns < 120e9) return `${(duration_ns / 1e9).toFixed(3)} s`;
  const seconds = Math.floor(duration_ns / 1e9);
  const clock = [Math.floor(seconds / 60) % 60, seconds % 60].map((part) => String(part).padStart(2, "0"));
  return `${Math.floor(seconds / 3600)}:${clock.join(":")}`;
}

// A place on an axis of time, with as many decimals as its steps need.
export function timeStepText(time_ns: number, step_ns: number): string {
  const [unit_ns, name] = step_ns >= 1e8 ? [1e9, "s"] : step_ns >= 1e2 && time_ns < 1e9 ? [1e6, "ms"] : [1e9, "s"];
  const decimals = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step_ns / unit_ns) - 1e-9)));
  return `${(time_ns / unit_ns).toFixed(decimals)} ${name}`;
}

// 123 permille as "12.3 %".
export function shareText(part: Amount, whole: Amount): string {
  if (whole == 0) return "";
  const permille = (Number(part) / Number(whole)) * 1000;
  if (permille > 0 && permille < 1) return "< 0.1 %";
  return `${(permille / 10).toFixed(1)} %`;
}

// A sentence in which no number is parted from its unit at the end of a line.
export function unbroken(text: string): string {
  return text.replace(/(\d) (GiB|MiB|KiB|B)\b/g, "$1\u00a0$2");
}
