// SPDX-License-Identifier: Apache-2.0
//
// Live bytes by when they were born, stacked by site. The rule: whatever has no bar or band of its own is in one that says so; the bars add up.

export interface Bin {
  from: number;
  to: number; // the same as `from` where a bar is one step
  bytes: number[]; // by stacked site, in their order; the last is all other sites
  blocks: number;
}

export interface Binned {
  sites: number[]; // the stacked ones, most bytes first
  bins: Bin[];
  total_bytes: number;
}

export interface Born {
  at: number; // step or ticket
  site: number;
  size_bytes: number;
}

export function binBirths(births: Born[], bars_most: number, sites_most: number): Binned {
  const bySite = new Map<number, number>();
  let low = Infinity;
  let high = -Infinity;
  let total_bytes = 0;
  for (const { at, site, size_bytes } of births) {
    bySite.set(site, (bySite.get(site) ?? 0) + size_bytes);
    if (at < low) low = at;
    if (at > high) high = at;
    total_bytes += size_bytes;
  }
  const sites = [...bySite]
    .sort((a, b) => b[1] - a[1] || a[0] - b[0])
    .slice(0, sites_most)
    .map(([site]) => site);
  if (low > high) return { sites, bins: [], total_bytes };
  const width = Math.ceil((high - low + 1) / bars_most);
  const bins: Bin[] = Array.from({ length: Math.ceil((high - low + 1) / width) }, (_, bin) => ({
    from: low + bin * width,
    to: Math.min(high, low + (bin + 1) * width - 1),
    bytes: new Array<number>(sites.length + 1).fill(0),
    blocks: 0,
  }));
  const place = new Map(sites.map((site, at) => [site, at]));
  for (const { at, site, size_bytes } of births) {
    const bin = bins[Math.floor((at - low) / width)];
    bin.bytes[place.get(site) ?? sites.length] += size_bytes;
    bin.blocks += 1;
  }
  return { sites, bins, total_bytes };
}
