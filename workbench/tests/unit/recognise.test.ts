// SPDX-License-Identifier: Apache-2.0
//
// Files that are dropped on the page: what each is told to be, and that the command line it is answered with does what it says.
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { lookAt } from "../../src/data/look";
import { recognise, type Looked } from "../../src/data/recognise";
import { quoted } from "../../src/data/shell";

function looked(name: string, content: string | number[], more: Partial<Looked> = {}): Looked {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : Uint8Array.from(content);
  return { name, size_bytes: bytes.length, head: bytes, tail: bytes, packed: false, ...more };
}

function ringHead(major = 1, minor = 0, stated_bytes = 4096, order = 0x01020304): Uint8Array {
  const bytes = new Uint8Array(4096);
  bytes.set([0x89, 0x4d, 0x45, 0x4d, 0x53, 0x4e, 0x41, 0x50]);
  const view = new DataView(bytes.buffer);
  view.setUint16(8, major, true);
  view.setUint16(10, minor, true);
  view.setUint32(12, order, true);
  view.setBigUint64(24, BigInt(stated_bytes), true);
  return bytes;
}

function ring(name: string, head: Uint8Array): Looked {
  return { name, size_bytes: head.length, head, tail: head, packed: false };
}

describe("a name in a command line", () => {
  it("is left as it is where no shell finds anything in it", () => {
    expect(quoted("ring-4121.bin")).toBe("ring-4121.bin");
    expect(quoted("a=b.bin")).toBe("a=b.bin");
  });

  it("cannot be taken for an option, an assignment or standard input", () => {
    expect(quoted("-rf.bin")).toBe("./-rf.bin");
    expect(quoted("-")).toBe("./-");
    expect(quoted("=x")).toBe("'=x'");
    expect(quoted("~root")).toBe("'~root'");
  });

  it("spells out what cannot be seen", () => {
    expect(quoted("a\nb")).toBe("$'a\\012b'");
    expect(quoted("a\u202Egnp.bin")).toBe("$'a\\342\\200\\256gnp.bin'");
  });

  it("is read by a shell as exactly that word", () => {
    const names = [
      "a b",
      "a'b",
      'a"b',
      "$(touch x)",
      "`id`",
      "a;b",
      "a\\b",
      "!x",
      "a\nb",
      "a\tb'c\\d",
      "\u202E3",
      "*",
      "{a,b}",
      "#x",
      "ä ü",
      "a&b|c>d<e",
      "\u0007'7",
    ];
    for (const name of names) expect(execFileSync("bash", ["-c", `printf %s ${quoted(name)}`]).toString()).toBe(name);
  });
});

describe("a dropped file", () => {
  it("that is a ring is answered with the command that makes its page", () => {
    const found = recognise(ring("my job.bin", ringHead()));
    expect(found).toMatchObject({ sort: "ring", here: false, command: "memsnap-replay 'my job.bin' --html 'my job.html'" });
    expect(found.facts).toContain("Version of the format: 1.0.");
  });

  it("that is a ring of another version, byte order or cut off says so and guesses nothing", () => {
    expect(recognise(ring("r", ringHead(2))).facts.join(" ")).toContain("reads version 1");
    expect(recognise(ring("r", ringHead(1, 0, 4096, 0x04030201)))).toMatchObject({ sort: "ring", command: null });
    expect(recognise(ring("r", ringHead(1, 0, 8192))).facts.join(" ")).toContain("it is cut off");
    expect(recognise(ring("r", ringHead().subarray(0, 20)))).toMatchObject({ sort: "ring", command: null });
  });

  it("that is a ring is told by its magic alone, whatever its name", () => {
    expect(recognise(ring("notes.html", ringHead())).sort).toBe("ring");
    expect(recognise(looked("ring.bin", "hello")).sort).toBe("log");
  });

  it("that is a sidecar leads to the ring beside it", () => {
    const magic = [0x89, 0x4d, 0x45, 0x4d, 0x4e, 0x41, 0x4d, 0x45];
    expect(recognise(looked("a b.bin.names", magic))).toMatchObject({ sort: "sidecar", command: "memsnap-replay 'a b.bin' --html 'a b.html'" });
    expect(recognise(looked("strange", magic))).toMatchObject({ sort: "sidecar", command: null });
  });

  it("that is a memory snapshot of any protocol goes to memsnap-replay", () => {
    expect(
      recognise(
        looked(
          "s.pickle",
          "\x80\x04}(X\x0d\x00\x00\x00device_traces".split("").map((c) => c.charCodeAt(0)),
        ),
      ),
    ).toMatchObject({ sort: "snapshot", command: "memsnap-replay s.pickle --html s.html" });
    expect(recognise(looked("s", "(dp0\nVsegments\n")).sort).toBe("snapshot");
    expect(recognise(looked("s", "}q\0(U\x08segments")).sort).toBe("snapshot");
    expect(recognise(looked("s", [0x80, 4, 0x4b, 1, 0x2e])).what).toContain("This is a pickle. If");
  });

  it("that is a profiler's trace goes to memsnap-replay, packed or not", () => {
    const text = '{\n  "schemaVersion": 1,\n  "traceEvents": [';
    expect(recognise(looked("t.json", text))).toMatchObject({ sort: "trace", command: "memsnap-replay t.json --html t.html" });
    expect(recognise(looked("t.json.gz", text, { packed: true, tail: new Uint8Array() }))).toMatchObject({
      sort: "trace",
      command: "memsnap-replay t.json.gz --html t.html",
    });
    expect(recognise(looked("t.json", '[{"name":"a","ph":"X"')).sort).toBe("trace");
  });

  it("that only a packed trace may be is to be unpacked when it is something else", () => {
    expect(recognise(looked("x.gz", "CUDA out of memory", { packed: true, tail: new Uint8Array() }))).toMatchObject({
      command: null,
      what: expect.stringContaining("unpack it first"),
    });
  });

  it("that is memsnap's own export for Perfetto is no trace of the profiler's", () => {
    const text = '{"displayTimeUnit":"ns","traceEvents":[],"metadata":{"format":"memsnap.perfetto.v1"}}';
    expect(recognise(looked("p.json", text))).toMatchObject({ sort: "none", what: expect.stringContaining("ui.perfetto.dev") });
  });

  it("that is a receipt or a comparison is read here, canonical or not, also where its end is far", () => {
    const far = { tail: new Uint8Array() };
    expect(recognise(looked("r.json", '{"capture":{"arm_state":"recording"', far))).toMatchObject({ sort: "receipt", here: true });
    expect(recognise(looked("r.json", '{\n "schema" : "memsnap.receipt.v1"}'))).toMatchObject({ sort: "receipt", here: true });
    expect(recognise(looked("d.json", '{"after":{"answer":null', far))).toMatchObject({ sort: "diff", here: true });
    expect(recognise(looked("r.json", '{"schema":"memsnap.receipt.v2"}')).what).toContain("memsnap.receipt.v2");
  });

  it("that is a page of memsnap's is read here, and pages of others are named", () => {
    expect(recognise(looked("i.html", '<!doctype html><script type="application/x-memsnap" data-part="outline">'))).toMatchObject({
      sort: "page",
      here: true,
    });
    expect(recognise(looked("v.html", "<!DOCTYPE html><script>import {add_local_files} from 'MemoryViz.js'")).what).toContain("memory_viz");
    expect(recognise(looked("x.html", "<html><body>hi")).sort).toBe("none");
  });

  it("that is a log goes to triage, and says when nothing in it speaks of memory", () => {
    const found = recognise(looked("train 1.log", "step 1\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"));
    expect(found).toMatchObject({ sort: "log", command: "memsnap-replay triage 'train 1.log'", facts: [] });
    expect(recognise(looked("a.log", "hello")).facts).toEqual(["It says nothing about memory."]);
    const long = looked("b.log", "hello", { size_bytes: 1e9, tail: new TextEncoder().encode("CUDA out of memory") });
    expect(recognise(long).facts).toEqual([]);
    const wide = new Uint8Array([0xff, 0xfe, ...new Uint8Array(Uint16Array.from("CUDA out of memory", (c) => c.charCodeAt(0)).buffer)]);
    expect(recognise({ name: "w.log", size_bytes: wide.length, head: wide, tail: wide, packed: false }).what).toContain("speaks of memory");
  });

  it("that memsnap wrote for others leads back to the recording", () => {
    expect(recognise(looked("l.csv", "ticket,kind,op,device,thread\n0,x"))).toMatchObject({
      sort: "ledger",
      command: "memsnap-replay check --csv l.csv RING",
    });
    expect(recognise(looked("e v.events", "memsnap-events 1\n")).command).toContain("memsnap-encode 'e v.events' ring.bin");
    expect(recognise(looked("t.json", '{"bytes_read":1,"digest":{')).sort).toBe("triage");
    expect(recognise(looked("m.json", '{"allocated_bytes.all.current": 1}'))).toMatchObject({
      sort: "statistics",
      command: "memsnap-replay triage m.json",
    });
  });

  it("that nothing reads is told what it is not", () => {
    expect(recognise(looked("c.pt", [0x50, 0x4b, 3, 4, 0])).what).toContain("torch.save");
    expect(recognise(looked("x", [1, 2, 0, 3])).what).toContain("no page, receipt");
    expect(recognise(looked("x", "")).what).toBe("The file is empty.");
    expect(recognise(looked("d.db", "SQLite format 3\0")).what).toContain("SQLite");
  });

  it("never throws, whatever its bytes are", () => {
    let state = 1;
    const random = () => (state = (state * 48271) % 2147483647) % 256;
    const magics = [
      [],
      [0x89, 0x4d, 0x45, 0x4d, 0x53, 0x4e, 0x41, 0x50],
      [0x80, 2],
      [0x7b, 0x22],
      [0xff, 0xfe],
      [0x3c, 0x68, 0x74, 0x6d, 0x6c],
      [0x1f, 0x8b],
    ];
    for (let round = 0; round < 500; ++round) {
      const bytes = [...magics[round % magics.length], ...Array.from({ length: random() % 64 }, random)];
      expect(typeof recognise(looked("f", bytes)).what).toBe("string");
    }
  });
});

function blob(name: string, ...parts: (string | Uint8Array<ArrayBuffer>)[]): Blob & { name: string } {
  return Object.assign(new Blob(parts), { name });
}

describe("a file of the browser's", () => {
  it("is read at its ends only, whatever its size", async () => {
    const file = blob("job.log", "begin\n", new Uint8Array(5 << 20).fill(32), "CUDA out of memory");
    let read_bytes = 0;
    const slice = file.slice.bind(file);
    file.slice = (from, to) => {
      const part = slice(from, to);
      read_bytes += part.size;
      return part;
    };
    const refused = () => Promise.reject(new Error("the whole file was read"));
    file.arrayBuffer = refused;
    file.text = refused;
    expect((await lookAt(file)).what).toContain("speaks of memory");
    expect(read_bytes).toBeLessThanOrEqual(2 << 20);
  });

  it("that gzip packed is unpacked as far as it must be, and a damaged one is no trace", async () => {
    const text = `{"schemaVersion": 1, "traceEvents": [${'{"name": "x"},'.repeat(200000)}`;
    const packed = new Uint8Array(gzipSync(text));
    expect(await lookAt(blob("t.json.gz", packed))).toMatchObject({ sort: "trace", command: "memsnap-replay t.json.gz --html t.html" });
    expect(await lookAt(blob("t.json.gz", packed.subarray(0, packed.length >> 1)))).toMatchObject({ sort: "trace" });
    expect((await lookAt(blob("t.json.gz", new Uint8Array([0x1f, 0x8b, 8, 0, 255, 255, 255, 255])))).what).toContain("damaged");
  });
});

describe("the command line that a file is answered with", () => {
  const top = fileURLToPath(new URL("../../..", import.meta.url));
  const build = process.env.MEMSNAP_BUILD ?? join(top, "build");
  const name = "it's $(my) job -- 1";

  // Runs it in a folder that holds the file alone, as the page says.
  async function answered(ending: string, make: (path: string) => void): Promise<{ made: string[]; status: number | null; said: string }> {
    const folder = mkdtempSync(join(tmpdir(), "memsnap-answered-"));
    try {
      const path = join(folder, name + ending);
      make(path);
      const { command } = await lookAt(blob(name + ending, new Uint8Array(readFileSync(path))));
      const programs = [join(build, "replay"), join(build, "fixtures/encode"), process.env.PATH].join(":");
      const ran = spawnSync("bash", ["-c", command!], { cwd: folder, env: { ...process.env, PATH: programs }, encoding: "utf8" });
      const made = [`${name}.html`, "incident.html"].filter((one) => existsSync(join(folder, one)));
      return { made, status: ran.status, said: ran.stdout + ran.stderr };
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  const events = join(top, "fixtures/six_part/events.txt");
  const encoded = (path: string) => execFileSync(join(build, "fixtures/encode/memsnap-encode"), [events, path]);

  it("makes the page of a ring", async () => {
    expect(await answered(".bin", encoded)).toMatchObject({ made: [`${name}.html`], status: 10 });
  });

  it("makes the page of a memory snapshot", async () => {
    const exported = (path: string) => {
      encoded(`${path}.ring`);
      spawnSync(join(build, "replay/memsnap-replay"), [`${path}.ring`, "--pickle", path]);
    };
    expect(await answered(".pickle", exported)).toMatchObject({ made: [`${name}.html`] });
  });

  it("makes the page of a recording as text", async () => {
    expect(await answered(".events", (path) => copyFileSync(events, path))).toMatchObject({ made: ["incident.html"], status: 10 });
  });

  it("finds the error in a log", async () => {
    const line =
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which 1.00 GiB is free.";
    const { status, said } = await answered(".log", (path) => writeFileSync(path, `${line}\n`));
    expect(status).toBe(11);
    expect(said).toContain("1 memory error");
  });
});
