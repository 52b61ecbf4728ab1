// SPDX-License-Identifier: Apache-2.0
//
// Writes a sidecar (interpose/WIRE.md §11) for a ring that was made from text. The rule: only frames that PyTorch's tools would tell, which
// need no interpreter: function, file, line.

const magic = [0x89, 0x4d, 0x45, 0x4d, 0x4e, 0x41, 0x4d, 0x45];
const header_bytes = 64;
const Kind = { library: 1, name: 2, code: 3, stack: 4 } as const;

function entry(kind: number, id: number, payload: Buffer): Buffer {
  const whole = Buffer.alloc(Math.ceil((16 + payload.length) / 8) * 8);
  whole.writeUInt32LE(whole.length, 0);
  whole.writeUInt16LE(kind, 4);
  whole.writeUInt16LE(payload.length, 6);
  whole.writeBigUInt64LE(BigInt(id), 8);
  payload.copy(whole, 16);
  return whole;
}

function code(frame: [string, string, number]): Buffer {
  const [name, file, line] = [Buffer.from(frame[0]), Buffer.from(frame[1]), frame[2]];
  const head = Buffer.alloc(12);
  head.writeUInt32LE(line, 0);
  head.writeUInt16LE(file.length, 6);
  head.writeUInt16LE(name.length, 8);
  return Buffer.concat([head, file, name]);
}

function stack(codes: number[]): Buffer {
  const payload = Buffer.alloc(8 + 8 * codes.length);
  payload.writeUInt16LE(codes.length, 0);
  codes.forEach((id, index) => payload.writeUInt32LE(id, 8 + 8 * index + 4));
  return payload;
}

export function sidecar(ringId: Buffer, texts: string[], libraries: string[], sites: Record<number, [string, string, number][]>): Buffer {
  const entries: Buffer[] = [];
  texts.forEach((text, index) => entries.push(entry(libraries.includes(text) ? Kind.library : Kind.name, index + 1, Buffer.from(text))));
  const codes = new Map<string, number>();
  for (const [site, frames] of Object.entries(sites)) {
    const ids = frames.map((frame) => {
      const key = JSON.stringify(frame);
      const known = codes.get(key);
      if (known !== undefined) return known;
      codes.set(key, codes.size + 1);
      entries.push(entry(Kind.code, codes.size, code(frame)));
      return codes.size;
    });
    entries.push(entry(Kind.stack, Number(site), stack(ids)));
  }
  const body = Buffer.concat(entries);
  const head = Buffer.alloc(header_bytes);
  Buffer.from(magic).copy(head, 0);
  head.writeUInt16LE(1, 8);
  head.writeUInt32LE(0x01020304, 12);
  ringId.copy(head, 16);
  head.writeBigUInt64LE(BigInt(header_bytes + body.length), 32);
  head.writeBigUInt64LE(BigInt(header_bytes + body.length), 40);
  return Buffer.concat([head, body]);
}
