// SPDX-License-Identifier: Apache-2.0
//
// The ends of a file, for recognise.ts. The rule: whatever its size, a MiB of each end is read and no more, also of what gzip packed.
import { kHead_bytes, kTail_bytes, recognise, type Looked, type Recognised } from "./recognise";

async function bytesOf(part: Blob): Promise<Uint8Array> {
  return new Uint8Array(await part.arrayBuffer());
}

// What the first MiB unpacks to, as far as that is needed; null: it is no gzip, or damaged from the begin.
async function unpackedHead(packed: Uint8Array<ArrayBuffer>): Promise<Uint8Array | null> {
  if (packed[0] !== 0x1f || packed[1] !== 0x8b || typeof DecompressionStream === "undefined") return null;
  const reader = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  const head = new Uint8Array(kHead_bytes);
  let length = 0;
  try {
    while (length < head.length) {
      const { value, done } = await reader.read();
      if (done) break;
      const taken = value.subarray(0, head.length - length);
      head.set(taken, length);
      length += taken.length;
    }
    await reader.cancel();
  } catch {
    // The rest of the stream is not here.
  }
  return length === 0 ? null : head.subarray(0, length);
}

export async function lookAt(file: Blob & { name: string }): Promise<Recognised> {
  const head = (await bytesOf(file.slice(0, kHead_bytes))) as Uint8Array<ArrayBuffer>;
  const plain: Looked = {
    name: file.name,
    size_bytes: file.size,
    head,
    tail: await bytesOf(file.slice(Math.max(0, file.size - kTail_bytes))),
    packed: false,
  };
  const unpacked = await unpackedHead(head);
  return recognise(unpacked === null ? plain : { ...plain, head: unpacked, tail: new Uint8Array(), packed: true });
}
