// SPDX-License-Identifier: Apache-2.0
//
// Why a page, a part or a file could not be read. The rule: the one error that reading throws, whatever the bytes are; it names the part and
// the way out.

export class PageError extends Error {
  constructor(
    readonly part: string,
    readonly why: string,
    readonly wayOut: string = "make the page again: memsnap-replay RING --html FILE",
  ) {
    super(`${part}: ${why}`);
    this.name = "PageError";
  }
}
