// SPDX-License-Identifier: Apache-2.0
//
// Long work in slices. The rule: whoever works longer than a slice lets input and painting through first.

const kSlice_ms = 12;

function nextTurn(): Promise<void> {
  if (typeof MessageChannel === "undefined") return new Promise((resolve) => setTimeout(resolve, 0));
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

export class Slices {
  private until = performance.now() + kSlice_ms;

  get spent(): boolean {
    return performance.now() >= this.until;
  }

  async breathe(): Promise<void> {
    await nextTurn();
    this.until = performance.now() + kSlice_ms;
  }
}
