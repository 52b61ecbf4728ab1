// SPDX-License-Identifier: Apache-2.0
//
// A file's name in a command line that is made to be copied. The rule: whatever the name holds, a shell reads it as one word and as nothing
// else, and what cannot be seen is spelled out.

const kPlain = /^[A-Za-z0-9_@%+:,./][A-Za-z0-9_@%+=:,./-]*$/;
// Controls, invisible letters and those that turn the direction of writing round.
const kUnseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

// Three octal digits are the one escape that no digit behind them can lengthen.
function spelled(letter: string): string {
  if (letter === "'" || letter === "\\") return `\\${letter}`;
  if (!kUnseen.test(letter)) return letter;
  return Array.from(new TextEncoder().encode(letter), (byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
}

export function quoted(name: string): string {
  // A name that begins with a dash would be an option, and "-" standard input.
  const safe = name.startsWith("-") ? `./${name}` : name;
  if (kPlain.test(safe)) return safe;
  if (kUnseen.test(safe)) return `$'${Array.from(safe, spelled).join("")}'`;
  return `'${safe.replaceAll("'", "'\\''")}'`;
}
