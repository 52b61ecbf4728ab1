#!/bin/sh
# Slurm's TaskProlog: what it prints as "export NAME=value" is put into the environment of each task. In slurm.conf:
#   TaskProlog=/opt/memsnap/current/share/doc/memsnap/recipes/slurm-task-prolog.sh
# Jobs are recorded dormant, and only those that have a GPU; a job says MEMSNAP_DISABLE=1 to be left alone. Recordings go where the job may
# write: MEMSNAP_FOLDER, else the folder that it was submitted from. Nothing here can fail the job.
library=${MEMSNAP_LIBRARY:-/opt/memsnap/current/lib/libmemsnap.so}
[ -n "${SLURM_JOB_GPUS:-}${SLURM_STEP_GPUS:-}${CUDA_VISIBLE_DEVICES:-}" ] || exit 0
[ "${MEMSNAP_DISABLE:-}" != 1 ] || exit 0
[ -r "$library" ] || exit 0
case ":${LD_PRELOAD:-}:" in
  *:"$library":*) ;;
  *) echo "export LD_PRELOAD=$library${LD_PRELOAD:+:$LD_PRELOAD}" ;;
esac
echo "export MEMSNAP_ARM=${MEMSNAP_ARM:-cold}"
folder=${MEMSNAP_FOLDER:-${SLURM_SUBMIT_DIR:-$PWD}}
echo "export MEMSNAP_OUT=${MEMSNAP_OUT:-$folder/%j-%r-%h-%p.bin}"
exit 0
