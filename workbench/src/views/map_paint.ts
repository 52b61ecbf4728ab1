// SPDX-License-Identifier: Apache-2.0
//
// By what the blocks of the memory map are coloured. The rule: each colour is a class with a name, and the legend lists the classes that are
// drawn.
import type { Category, History } from "../history/history";
import {
  categoryColour, categoryName, colour, kCategories, ordinalColour, ordinalName, ordinalPattern, patternOf, ramp, type Pattern,
} from "./palette";

export type ColourBy = "category" | "site" | "age" | "phase";

export interface PaintClass {
  text: string;
  name: string; // of the custom property
  pattern: Pattern;
  colour: () => string;
}

export interface Painter {
  classes: PaintClass[];
  of(life: number): number; // index into classes
}

// Categories are told apart by patterns too. None has the colour or the pattern of what is free and too small: holes are what the map is for.
const kCategoryPatterns: Record<string, Pattern> = {
  parameter: "plain",
  gradient: "level",
  optimizer_state: "back",
  buffer: "grid",
  input: "dots",
  activation: "plain",
  unknown: "plain",
};

function byCategory(history: History, instant: number): Painter {
  const classes = kCategories.map((category): PaintClass => ({
    text: category === "unknown" ? "use not told" : category.replace("_", " "),
    name: categoryName(category),
    pattern: kCategoryPatterns[category],
    colour: () => categoryColour(category),
  }));
  const index = new Map<Category, number>(kCategories.map((category, at) => [category, at]));
  return { classes, of: (life) => index.get(history.categoryOf(life, instant))! };
}

// Steps that ended since the birth; the last class is open.
const kAges: { least: number; text: string }[] = [
  { least: 0, text: "this step" },
  { least: 1, text: "1 step old" },
  { least: 2, text: "2 to 3 steps" },
  { least: 4, text: "4 to 7 steps" },
  { least: 8, text: "8 to 15 steps" },
  { least: 16, text: "16 to 63 steps" },
  { least: 64, text: "64 steps and more" },
];

export function ageClass(steps: number): number {
  let at = kAges.length - 1;
  while (at > 0 && steps < kAges[at].least) at -= 1;
  return at;
}

// `isKnown`: of the birth of a life.
function byAge(history: History, stepsEnded: number, isKnown: (life: number) => boolean): Painter {
  const classes = kAges.map((age, at): PaintClass => ({
    text: age.text,
    name: `ramp-${at}`,
    pattern: "plain",
    colour: () => ramp(at / (kAges.length - 1)),
  }));
  classes.push({ text: "before recording: age not known", name: "before", pattern: patternOf("before"), colour: () => colour("before") });
  return { classes, of: (life) => (isKnown(life) ? ageClass(stepsEnded - history.lives.step[life]) : kAges.length) };
}

function byOrdinal(ordinals: Int32Array, text: (ordinal: number) => string): Painter {
  const classes: PaintClass[] = [];
  const known = new Map<number, number>();
  return {
    classes,
    of(life) {
      const ordinal = ordinals[life];
      let at = known.get(ordinal);
      if (at === undefined) {
        at = classes.length;
        known.set(ordinal, at);
        classes.push({ text: text(ordinal), name: ordinalName(ordinal), pattern: ordinalPattern(ordinal), colour: () => ordinalColour(ordinal) });
      }
      return at;
    },
  };
}

export interface Labels {
  site(ordinal: number): string;
  phase(ordinal: number): string;
}

export function painter(
  by: ColourBy,
  history: History,
  instant: number,
  stepsEnded: number,
  labels: Labels,
  isBirthKnown: (life: number) => boolean,
): Painter {
  if (by === "category") return byCategory(history, instant);
  if (by === "age") return byAge(history, stepsEnded, isBirthKnown);
  if (by === "phase") return byOrdinal(history.lives.phase, (ordinal) => (ordinal <= 0 ? "no phase" : labels.phase(ordinal)));
  return byOrdinal(history.lives.site, (ordinal) => (ordinal <= 0 ? "site not known" : labels.site(ordinal)));
}
