#!/bin/sh
# torchrun under memsnap: the recorder is inherited by the workers, which get their ranks from torchrun. Arguments: the program and its own.
#   NPROC=8 torchrun.sh train.py --lr 0.1
: "${NPROC:=2}"
folder=${MEMSNAP_FOLDER:-recordings}
mkdir -p "$folder" || exit 5
# The elastic agent itself touches no GPU and makes no recording.
exec memsnap run --out "$folder/rank-%r-%p.bin" -- torchrun --standalone --nproc-per-node "$NPROC" "$@"
