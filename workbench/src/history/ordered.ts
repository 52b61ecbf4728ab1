// SPDX-License-Identifier: Apache-2.0
//
// What lies where: numbers by place, in order. The rule: one entry a place; looking up, entering and removing cost the same however many there
// are, nearly.

const kMost = 64; // entries of a chunk: moving half of them costs less than calling for it

interface Chunk {
  places: Float64Array;
  values: Int32Array;
  count: number;
}

function chunk(): Chunk {
  return { places: new Float64Array(kMost), values: new Int32Array(kMost), count: 0 };
}

// Where a look-up ended.
export interface Spot {
  place: number;
  value: number; // −1: nothing there
}

export class Ordered {
  size = 0;
  private readonly chunks: Chunk[] = [chunk()];
  private readonly firsts: number[] = [-Infinity]; // a place at or before the first entry of each chunk, and behind those of the one before

  // The chunk that a place belongs to: the last that begins at or before it.
  private chunkOf(place: number): number {
    const firsts = this.firsts;
    let low = 1;
    let high = firsts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (firsts[middle] <= place) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  // How many entries of a chunk are at or before a place.
  private static rank({ places, count }: Chunk, place: number): number {
    let low = 0;
    let high = count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (places[middle] <= place) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private read(at: number, index: number, spot: Spot): boolean {
    const found = at >= 0 && at < this.chunks.length && index >= 0 && index < this.chunks[at].count;
    spot.value = found ? this.chunks[at].values[index] : -1;
    if (found) spot.place = this.chunks[at].places[index];
    return found;
  }

  // The last one at or before a place.
  before(place: number, spot: Spot): boolean {
    const at = this.chunkOf(place);
    const index = Ordered.rank(this.chunks[at], place) - 1;
    return index < 0 && at > 0 ? this.read(at - 1, this.chunks[at - 1].count - 1, spot) : this.read(at, index, spot);
  }

  // The first one behind a place.
  after(place: number, spot: Spot): boolean {
    const at = this.chunkOf(place);
    const index = Ordered.rank(this.chunks[at], place);
    return index < this.chunks[at].count ? this.read(at, index, spot) : this.read(at + 1, 0, spot);
  }

  get(place: number): number {
    const found = this.chunks[this.chunkOf(place)];
    const index = Ordered.rank(found, place) - 1;
    return index >= 0 && found.places[index] === place ? found.values[index] : -1;
  }

  set(place: number, value: number): void {
    const at = this.chunkOf(place);
    const into = this.chunks[at];
    const index = Ordered.rank(into, place);
    if (index > 0 && into.places[index - 1] === place) {
      into.values[index - 1] = value;
      return;
    }
    if (into.count === kMost) {
      this.split(at);
      this.set(place, value);
      return;
    }
    const { places, values } = into;
    for (let to = into.count; to > index; --to) {
      places[to] = places[to - 1];
      values[to] = values[to - 1];
    }
    places[index] = place;
    values[index] = value;
    into.count += 1;
    this.size += 1;
  }

  delete(place: number): void {
    const at = this.chunkOf(place);
    const from = this.chunks[at];
    const index = Ordered.rank(from, place) - 1;
    if (index < 0 || from.places[index] !== place) return;
    const { places, values } = from;
    from.count -= 1;
    for (let to = index; to < from.count; ++to) {
      places[to] = places[to + 1];
      values[to] = values[to + 1];
    }
    this.size -= 1;
    if (from.count > 0 || at === 0) return;
    this.chunks.splice(at, 1);
    this.firsts.splice(at, 1);
  }

  forEach(visit: (value: number, place: number) => void): void {
    for (const { places, values, count } of this.chunks) for (let index = 0; index < count; ++index) visit(values[index], places[index]);
  }

  private split(at: number): void {
    const full = this.chunks[at];
    const upper = chunk();
    const half = kMost >> 1;
    upper.places.set(full.places.subarray(half));
    upper.values.set(full.values.subarray(half));
    upper.count = kMost - half;
    full.count = half;
    this.chunks.splice(at + 1, 0, upper);
    this.firsts.splice(at + 1, 0, upper.places[0]);
  }
}
