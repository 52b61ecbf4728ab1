// SPDX-License-Identifier: Apache-2.0
//
// The tree of a flame graph: what is merged, what is kept apart, and that every byte is in it once.
import { describe, expect, it } from "vitest";
import type { Names } from "../../src/data/incident";
import { flameTree, follow, layOut, pathOf, search, SitePaths, sitesUnder, trunkEnd, type FlameNode } from "../../src/history/flame";

const kNames: Names = {
  frames: [
    { function: "main", file: "/home/me/train.py", line: 66 },
    { function: "step", file: "/home/me/train.py", line: 40 },
    { function: "Linear.forward", file: "/usr/lib/python3/site-packages/torch/nn/linear.py", line: 116 },
    { function: "loss", file: "/home/me/train.py", line: 44 },
    { token: "frame-00000000000000aa" },
    { function: "main", file: "/home/me/train.py", line: 66 },
  ],
  sites: [
    { site: 1, token: "site-0000000000000001", frames: [0, 1, 2] },
    { site: 2, token: "site-0000000000000002", frames: [5, 3] },
    { site: 3, size_bytes: 512 },
    { site: 4, size_bytes: 1024 },
    { site: 5, token: "site-0000000000000005" },
    { site: 6, token: "site-0000000000000006", frames: [4] },
  ],
  phases: [],
  libraries: [],
  dimensions: [],
};

function tree(now: [number, number][], before: [number, number][] | null = null, inverted = false, ownOnly = false): FlameNode {
  const paths = new SitePaths(kNames);
  return flameTree(paths, { now: new Map(now), before: before === null ? null : new Map(before), inverted, ownOnly });
}

const labels = (node: FlameNode) => node.children.map((child) => child.label);

function checkSums(node: FlameNode, own: (site: number) => number): void {
  const below = node.children.reduce((sum, child) => sum + child.bytes, 0) + node.sites.reduce((sum, site) => sum + own(site), 0);
  expect(node.bytes).toBe(below);
  node.children.forEach((child) => checkSums(child, own));
}

describe("a flame graph", () => {
  it("has every byte once, at each depth", () => {
    const now: [number, number][] = [
      [1, 700],
      [2, 200],
      [3, 50],
      [4, 25],
      [5, 10],
      [6, 5],
      [0, 3],
    ];
    const root = tree(now);
    expect(root.bytes).toBe(993);
    checkSums(root, (site) => new Map(now).get(site)!);
  });

  it("merges frames that read alike and keeps others apart, widest first", () => {
    const root = tree([
      [1, 700],
      [2, 900],
    ]);
    expect(labels(root)).toEqual(["main (train.py:66)"]);
    expect(labels(root.children[0])).toEqual(["loss (train.py:44)", "step (train.py:40)"]);
  });

  it("puts blocks without a stack in one box, by size", () => {
    const root = tree([
      [3, 50],
      [4, 25],
    ]);
    expect(labels(root)).toEqual(["without a stack"]);
    expect(labels(root.children[0])).toEqual(["blocks of 512 B", "blocks of 1.00 KiB"]);
  });

  it("shows tokens as such, and a site that nobody told as not known", () => {
    expect(
      labels(
        tree([
          [5, 3],
          [6, 2],
          [0, 1],
        ]),
      ),
    ).toEqual(["site-0000000000000005", "frame-00000000000000aa", "site not known"]);
  });

  it("begins with the allocation when it is inverted", () => {
    const root = tree(
      [
        [1, 700],
        [2, 200],
      ],
      null,
      true,
    );
    expect(labels(root)).toEqual(["Linear.forward (linear.py:116)", "loss (train.py:44)"]);
    expect(labels(root.children[0])).toEqual(["step (train.py:40)"]);
  });

  it("leaves out frames of libraries, and makes a stack that has no others one box", () => {
    const site = { site: 7, token: "site-0000000000000007", label: "forward (linear.py:116)", frames: [2, 2] };
    const root = flameTree(new SitePaths({ ...kNames, sites: [...kNames.sites, site] }), {
      now: new Map([
        [1, 5],
        [7, 3],
      ]),
      before: null,
      inverted: false,
      ownOnly: true,
    });
    expect(labels(root)).toEqual(["main (train.py:66)", "forward (linear.py:116)"]);
    expect(labels(root.children[0])).toEqual(["step (train.py:40)"]);
    expect(root.children[0].children[0].children).toEqual([]);
    expect(root.children[1]).toMatchObject({ code: "torch", children: [] });
  });

  it("shows every token of a stack without names, whichever frames are asked for", () => {
    const site = { site: 7, token: "site-0000000000000007", frames: [4, 6] };
    const names: Names = { ...kNames, frames: [...kNames.frames, { token: "frame-00000000000000bb" }], sites: [site] };
    for (const ownOnly of [false, true]) {
      const root = flameTree(new SitePaths(names), { now: new Map([[7, 3]]), before: null, inverted: true, ownOnly });
      expect(
        pathOf(root.children[0].children[0])
          .map((node) => node.label)
          .slice(1),
      ).toEqual(["frame-00000000000000bb", "frame-00000000000000aa"]);
    }
  });

  it("gives a site the greater of both widths in a difference, so that what is gone is seen", () => {
    const root = tree(
      [[1, 100]],
      [
        [1, 40],
        [2, 60],
      ],
    );
    expect([root.bytes, root.before_bytes, root.width_bytes]).toEqual([100, 100, 160]);
    const gone = root.children[0].children.find((child) => child.label.startsWith("loss"))!;
    expect([gone.bytes, gone.before_bytes, gone.width_bytes]).toEqual([0, 60, 60]);
  });

  it("never lets a box leave the one above it", () => {
    const root = tree(
      [
        [1, 700],
        [2, 200],
        [3, 50],
      ],
      [
        [2, 400],
        [4, 8],
      ],
    );
    const boxes = new Map(layOut(root, 0).map((box) => [box.node, box]));
    for (const box of boxes.values()) {
      const above = box.node.parent === null ? null : boxes.get(box.node.parent)!;
      if (above === null) continue;
      expect(box.left).toBeGreaterThanOrEqual(above.left - 1e-12);
      expect(box.right).toBeLessThanOrEqual(above.right + 1e-12);
      expect(box.row).toBe(above.row + 1);
    }
  });

  it("leaves out what is too narrow to see, and nothing else", () => {
    const root = tree([
      [1, 999],
      [3, 1],
    ]);
    expect(layOut(root, 0.01).some((box) => box.node.kind === "unstacked")).toBe(false);
    expect(layOut(root, 0.0001).some((box) => box.node.kind === "unstacked")).toBe(true);
  });

  it("starts where the bytes part", () => {
    expect(
      trunkEnd(
        tree([
          [1, 700],
          [2, 200],
        ]),
      ).label,
    ).toBe("main (train.py:66)");
    expect(
      trunkEnd(
        tree([
          [1, 700],
          [3, 200],
        ]),
      ).kind,
    ).toBe("all");
  });

  it("finds the same box in another tree, as deep as it goes", () => {
    const path = pathOf(tree([[1, 700]]).children[0].children[0])
      .slice(1)
      .map((node) => node.key);
    expect(
      follow(
        tree([
          [1, 1],
          [2, 5],
        ]),
        path,
      ).label,
    ).toBe("step (train.py:40)");
    expect(follow(tree([[2, 5]]), path).label).toBe("main (train.py:66)");
  });

  it("counts the bytes of a search once, even where a hit stands under a hit", () => {
    const root = tree([
      [1, 700],
      [2, 200],
      [3, 50],
    ]);
    expect(search(root, "train.py").bytes).toBe(900);
    expect(search(root, "LINEAR").bytes).toBe(700);
    expect(search(root, "").nodes.size).toBe(0);
  });

  it("names the sites under a box", () => {
    const root = tree([
      [1, 700],
      [2, 200],
      [3, 50],
    ]);
    expect(sitesUnder(root.children[0]).sort()).toEqual([1, 2]);
  });

  it("shows letters that would turn or hide text by their number", () => {
    const names: Names = { ...kNames, frames: [{ function: "a\u202eb\u0007", file: "", line: null }], sites: [{ site: 1, frames: [0] }] };
    const root = flameTree(new SitePaths(names), { now: new Map([[1, 1]]), before: null, inverted: false, ownOnly: false });
    expect(root.children[0].label).toBe("a\\u202eb\\u0007");
  });
});
