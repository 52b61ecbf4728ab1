// SPDX-License-Identifier: Apache-2.0
//
// Every state that a segment ever had, with the rows between which it had it. The rule: a change ends one version and begins the next, so an
// instant's segments are found by looking, without going through what came before.
import type { SegmentState } from "./history";

// A segment, or what may become one, as it is at the row that is being looked at.
export interface Region {
  place: number;
  size: number;
  device: number; // −1: not known
  ticket: number; // of the birth; of an expandable one that of some mapping of it
  expandable: boolean;
  state: SegmentState;
  granule: number;
  large: boolean; // a block above the small limit started in it
  stream: number; // −1: not told
  pool: number;
  life: number; // of a native one
  object: number; // of a native one: ticket of the object that it is
  since: number; // row
}

export type Version = Readonly<Region> & { readonly until: number };

export class Versions {
  readonly all: Version[] = [];

  // What a region was up to a row.
  end(region: Region, row: number): void {
    if (region.since < row) this.all.push({ ...region, until: row });
    region.since = row;
  }
}
