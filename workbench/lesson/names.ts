// SPDX-License-Identifier: Apache-2.0
//
// What the numbers of incident.events stand for. The rule: `texts` in the order in which the events first name them, because that is how
// memsnap-encode numbers them.

export const texts = ["libnccl.so.2", "forward", "backward", "evaluation"];
export const libraries = ["libnccl.so.2"]; // those of the texts that are files

// By site of the events; frames innermost first: function, file, line.
export const sites: Record<number, [string, string, number][]> = {
  1: [
    ["Model.__init__", "model.py", 18],
    ["build", "train.py", 12],
    ["main", "train.py", 71],
  ],
  2: [
    ["AdamW._init_group", "optimizer.py", 44],
    ["build", "train.py", 15],
    ["main", "train.py", 71],
  ],
  3: [
    ["Block.forward", "model.py", 40],
    ["train_step", "train.py", 29],
    ["main", "train.py", 74],
  ],
  4: [
    ["train_step", "train.py", 33],
    ["main", "train.py", 74],
  ],
  5: [
    ["LongAttention.forward", "model.py", 57],
    ["train_step", "train.py", 29],
    ["main", "train.py", 74],
  ],
  6: [
    ["keep_history", "metrics.py", 22],
    ["train_step", "train.py", 36],
    ["main", "train.py", 74],
  ],
  7: [
    ["collect_results", "evaluate.py", 19],
    ["evaluate", "evaluate.py", 31],
    ["main", "train.py", 77],
  ],
  8: [
    ["all_gather", "distributed.py", 25],
    ["main", "train.py", 78],
  ],
  9: [
    ["Head.forward", "model.py", 66],
    ["train_step", "train.py", 29],
    ["main", "train.py", 74],
  ],
};
