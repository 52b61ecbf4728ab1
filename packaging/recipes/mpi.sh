#!/bin/sh
# mpirun with the recorder in each rank. Open MPI passes a variable on only when it is named (-x); MPICH and Intel MPI pass all.
# Arguments: the program and its own.     NPROC=8 mpi.sh python train.py
: "${NPROC:=2}"
library=${MEMSNAP_LIBRARY:-/opt/memsnap/current/lib/libmemsnap.so}
folder=${MEMSNAP_FOLDER:-recordings}
mkdir -p "$folder" || exit 5
MEMSNAP_OUT=$(cd "$folder" && pwd)/rank-%r-%h-%p.bin
export MEMSNAP_OUT
case $(mpirun --version 2>/dev/null) in
  *"Open MPI"* | *OpenRTE*) exec mpirun -n "$NPROC" -x LD_PRELOAD="$library" -x MEMSNAP_OUT "$@" ;;
  # Not in mpirun itself, nor in the shells that it starts ranks with.
  *) exec mpirun -n "$NPROC" -genv LD_PRELOAD "$library" "$@" ;;
esac
