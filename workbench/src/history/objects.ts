// SPDX-License-Identifier: Apache-2.0
//
// Objects below the caching allocator: what other libraries of the process hold, and the physical memory behind mappings. The rule: an object
// is its birth ticket, physical memory is that of its first reference; it lives while a reference or a mapping does.
import { type FoldState, kBeyond } from "./fold_state";
import { LifeKind } from "./history";
import type { Born } from "./lives_store";
import type { Regions } from "./regions";
import type { Region } from "./versions";

// `place`: NaN where it has no address.
export interface ObjectRow extends Born {
  object: string; // class
  op: string;
  fromTorch: boolean;
  imported: boolean;
  memory: number; // birth ticket of the physical memory; NaN: not known
}

interface Entered extends ObjectRow {
  inSegment: boolean;
  outsideLife: number; // −1: it is not memory that another library holds
}

interface Memory {
  size: number;
  device: number;
  fromTorch: boolean;
  imported: boolean;
  references: number;
  mappings: number;
  segments: number; // of the mappings: those of PyTorch's allocator, or that it uses
  of: Born;
  outsideLife: number;
}

interface Freed {
  object: Entered;
  region: Region | null;
  memory: Memory | null; // that went with it
}

interface Call {
  op: string;
  firstTicket: number;
  frees: Map<number, Freed>; // by birth
}

// Calls that end several objects at once.
const kFreesMany = new Set([
  "cudaDeviceReset", "cuCtxDestroy", "cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxReset", "cuGreenCtxDestroy", "cuMemUnmap",
]);
const kHalfTold = "a refused free that began before the first row";
const kSingle = new Set(["device", "array", "async"]);

const isImported = (it: ObjectRow) => it.object === "import" || it.imported;

function isRegion(it: ObjectRow): boolean {
  const kind = it.object === "device" || it.object === "mapping" || (it.object === "async" && it.fromTorch);
  return kind && it.size > 0 && !Number.isNaN(it.place) && !isImported(it);
}

const isOutside = (it: Entered) => kSingle.has(it.object) && !it.inSegment && !isImported(it) && it.size !== 0;
const lives = (it: Memory) => it.references > 0 || it.mappings > 0;
const isMemoryOutside = (it: Memory) => lives(it) && !it.imported && !it.fromTorch && it.segments === 0 && it.size !== 0;
const isUnmapped = (it: Memory) => it.fromTorch && !it.imported && it.references > 0 && it.mappings === 0;

export class Objects {
  regions!: Regions; // each calls the other
  private readonly entered = new Map<number, Entered>();
  private readonly memory = new Map<number, Memory>();
  private readonly calls = new Map<number, Call>(); // the last one of each thread

  constructor(private readonly state: FoldState) {}

  // `at`: what the region is known to be already; null: no region.
  bear(row: ObjectRow, at: Partial<Region> | null = {}): void {
    const object = this.enter(row);
    if (isRegion(object) && at !== null) this.addRegion(object, { ...this.regionOf(object), ...at });
    this.countOutside(object, true);
  }

  private regionOf(object: Entered): Region {
    const expandable = object.object === "mapping" && object.fromTorch;
    const told = object.op === "none"; // by the allocator, at a late start
    return {
      place: object.place,
      size: object.size,
      device: object.device,
      ticket: object.ticket,
      expandable,
      state: told || expandable ? "segment" : object.fromTorch ? "candidate" : "foreign",
      granule: object.size,
      large: false,
      stream: -1,
      pool: -1,
      life: -1,
      object: object.ticket,
      since: this.state.row,
    };
  }

  private addRegion(object: Entered, region: Region): void {
    const life = this.state.lives.bear(LifeKind.region, this.state.row, { ...object, device: region.device });
    this.regions.add({ ...region, life: region.expandable ? -1 : life }, life);
  }

  // Whether it lies outside is seen when its region is entered.
  private enter(row: ObjectRow): Entered {
    const object: Entered = { ...row, inSegment: row.object === "mapping" && row.fromTorch, outsideLife: -1 };
    if (Number.isNaN(object.size) && kSingle.has(object.object)) this.state.lose(object.device, kBeyond);
    if (object.object === "mapping") {
      const memory = this.memory.get(object.memory);
      if (memory === undefined) {
        object.memory = NaN;
      } else {
        if (object.device < 0) object.device = memory.device;
        object.imported ||= memory.imported;
      }
    }
    this.hold(object);
    if (object.object === "mapping" && object.inSegment) this.changeMemory(object.memory, "segments", 1);
    this.entered.set(object.ticket, object);
    return object;
  }

  private hold(object: Entered): void {
    if (Number.isNaN(object.memory)) return;
    if (object.object === "mapping") return this.changeMemory(object.memory, "mappings", 1);
    if (object.object !== "vmm_handle") return;
    if (!this.memory.has(object.memory)) this.know(object.memory, object);
    this.changeMemory(object.memory, "references", 1);
  }

  // Physical memory, before anything refers to it.
  know(ticket: number, of: ObjectRow): void {
    const { size, device, fromTorch } = of;
    const imported = of.op === "cuMemImportFromShareableHandle" || isImported(of);
    const alone = { references: 0, mappings: 0, segments: 0, outsideLife: -1 };
    this.memory.set(ticket, { size, device, fromTorch, imported, of: { ...of, place: NaN }, ...alone });
  }

  private changeMemory(ticket: number, counter: "references" | "mappings" | "segments", more: 1 | -1): void {
    const memory = this.memory.get(ticket);
    if (memory === undefined) return;
    const [wasOutside, wasUnmapped] = [isMemoryOutside(memory), isUnmapped(memory)];
    memory[counter] = Math.max(0, memory[counter] + more);
    const [outside, unmapped] = [isMemoryOutside(memory), isUnmapped(memory)];
    const sums = this.state.device(memory.device);
    if (sums === null) return;
    if (Number.isNaN(memory.size)) return this.state.lose(memory.device, kBeyond);
    if (wasUnmapped !== unmapped) sums.add("unmapped", this.state.row, unmapped ? memory.size : -memory.size);
    if (wasOutside !== outside) memory.outsideLife = this.changeOutside(memory.of, memory.outsideLife, outside);
  }

  private countOutside(object: Entered, live: boolean): void {
    if (object.device < 0 || !isOutside(object) || live === object.outsideLife >= 0) return;
    object.outsideLife = this.changeOutside(object, object.outsideLife, live);
  }

  private changeOutside(of: Born, life: number, live: boolean): number {
    this.state.device(of.device)!.add("own", this.state.row, live ? of.size : -of.size);
    if (!live) {
      this.state.lives.end(life, this.state.row);
      return -1;
    }
    return this.state.lives.bear(LifeKind.outside, this.state.row, of);
  }

  settle(ticket: number, inSegment: boolean): void {
    const object = this.entered.get(ticket);
    if (object === undefined || object.inSegment === inSegment) return;
    this.countOutside(object, false);
    if (object.object === "mapping") this.changeMemory(object.memory, "segments", inSegment ? 1 : -1);
    object.inSegment = inSegment;
    this.countOutside(object, true);
  }

  // False: no such object is live.
  free(birth: number, op: string, ticket: number, thread: number): boolean {
    const object = this.entered.get(birth);
    if (object === undefined) return false;
    const freed = this.freedBy(thread, op, ticket, birth);
    freed.object = object;
    this.countOutside(object, false);
    this.entered.delete(birth);
    if (object.object === "mapping" && object.inSegment) this.changeMemory(object.memory, "segments", -1);
    freed.memory = this.drop(object);
    if (isRegion(object)) freed.region = this.regions.remove(object.ticket, object.place, object.size);
    return true;
  }

  private drop(object: Entered): Memory | null {
    const memory = this.memory.get(object.memory);
    if (memory === undefined || (object.object !== "mapping" && object.object !== "vmm_handle")) return null;
    this.changeMemory(object.memory, object.object === "mapping" ? "mappings" : "references", -1);
    if (lives(memory)) return null;
    this.memory.delete(object.memory);
    return memory;
  }

  // What ends in one call was born before the call.
  private freedBy(thread: number, op: string, ticket: number, birth: number): Freed {
    let call = this.calls.get(thread);
    if (call === undefined || !kFreesMany.has(op) || call.op !== op || birth >= call.firstTicket) {
      call = { op, firstTicket: ticket, frees: new Map() };
      this.calls.set(thread, call);
    }
    const freed: Freed = { object: null as unknown as Entered, region: null, memory: null };
    call.frees.set(birth, freed);
    return freed;
  }

  // A free was refused: what it ended lives on with its old birth.
  takeBack(birth: number, thread: number, device: number): void {
    const call = this.calls.get(thread);
    if (call === undefined && this.state.cut && !this.entered.has(birth)) return this.state.lose(device, kHalfTold);
    const freed = call?.frees.get(birth);
    if (call === undefined || freed === undefined) return;
    call.frees.delete(birth);
    const { object, region, memory } = freed;
    if (memory !== null) this.memory.set(object.memory, memory);
    const again = this.enter(object);
    if (region !== null) this.addRegion(again, region);
    this.countOutside(again, true);
  }
}
