# SPDX-License-Identifier: Apache-2.0
"""The recipes do what they say, as far as that can be tried without their cluster: run where the launcher is here, run by hand as the launcher
would where it is not, and read where nothing can run them."""

import configparser
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
import yaml

TOP = pathlib.Path(__file__).resolve().parents[2]
RECIPES = TOP / "packaging/recipes"
MOUNTED = "/memsnap"


def run(command, cwd, **variables):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MEMSNAP_", "SLURM_", "OMPI_"))}
    return subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, env=inherited | {name: str(value) for name, value in variables.items()})


# Slurm

def prolog(tmp_path, **variables):
    """What slurmd would put into the task's environment."""
    done = run(["sh", RECIPES / "slurm-task-prolog.sh"], tmp_path, **variables)
    assert done.returncode == 0 and done.stderr == ""
    return dict(re.fullmatch(r"export (\w+)=(.*)", line).groups() for line in done.stdout.splitlines())


@pytest.fixture
def library(made):
    return made.folder / "lib/libmemsnap.so"


def test_the_task_prolog_records_dormant_into_the_folder_of_the_submission(tmp_path, library):
    made = prolog(tmp_path, MEMSNAP_LIBRARY=library, SLURM_JOB_GPUS="0,1", SLURM_SUBMIT_DIR="/home/ada/run", LD_PRELOAD="libm.so.6")
    assert made == {"LD_PRELOAD": f"{library}:libm.so.6", "MEMSNAP_ARM": "cold", "MEMSNAP_OUT": "/home/ada/run/%j-%r-%h-%p.bin"}
    task = run([sys.executable, "-c", "print(any('libmemsnap' in line for line in open('/proc/self/maps')))"], tmp_path, **made | {"LD_PRELOAD": str(library)})
    assert task.stdout == "True\n"


def test_the_task_prolog_leaves_jobs_alone_that_want_it_that_have_no_gpu_or_where_it_is_not_installed(tmp_path, library):
    assert prolog(tmp_path, MEMSNAP_LIBRARY=library, SLURM_JOB_GPUS="0", MEMSNAP_DISABLE="1") == {}
    assert prolog(tmp_path, MEMSNAP_LIBRARY=library, CUDA_VISIBLE_DEVICES="") == {}
    assert prolog(tmp_path, MEMSNAP_LIBRARY=tmp_path / "gone.so", SLURM_JOB_GPUS="0") == {}


def test_the_task_prolog_keeps_what_the_job_chose(tmp_path, library):
    made = prolog(tmp_path, MEMSNAP_LIBRARY=library, SLURM_STEP_GPUS="0", MEMSNAP_ARM="standby", MEMSNAP_OUT="/mine/%p.bin", LD_PRELOAD=library)
    assert made == {"MEMSNAP_ARM": "standby", "MEMSNAP_OUT": "/mine/%p.bin"}


def fake(folder: pathlib.Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


def test_the_batch_script_gives_the_jobs_exit_code_and_reads_the_recordings_of_a_failed_one(tmp_path):
    fake(tmp_path / "bin", "srun", '#!/bin/sh\necho "srun $* $MEMSNAP_OUT $MEMSNAP_ARM"\nexit 7\n')
    fake(tmp_path / "bin", "memsnap-replay", '#!/bin/sh\necho "replay $*"\n')
    done = run(["sh", RECIPES / "slurm-job.sbatch"], tmp_path, SLURM_JOB_ID="42", PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert done.returncode == 7
    assert done.stdout.splitlines() == [
        f"srun --export=ALL,LD_PRELOAD=/opt/memsnap/current/lib/libmemsnap.so python train.py {tmp_path}/recordings/42/rank-%r-%h-%p.bin recording",
        "replay recordings/42",
    ]


def test_the_line_of_the_batch_script_that_arms_finds_the_recordings_of_the_job(tmp_path):
    script = (RECIPES / "slurm-job.sbatch").read_text()
    line = re.search(r"^# +(srun .* arm .*)$", script, re.M).group(1).replace("JOB", "42")
    fake(tmp_path / "bin", "srun", '#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\nexec "$@"\n')
    fake(tmp_path / "bin", "python", '#!/bin/sh\ntouch "$MEMSNAP_OUT"\n')
    fake(tmp_path / "bin", "memsnap", '#!/bin/sh\nprintf "%s\\n" "$@"\n')
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    assert run(["sh", RECIPES / "slurm-job.sbatch"], tmp_path, SLURM_JOB_ID="42", PATH=path).returncode == 0
    action, pattern, *_ = run(["sh", "-c", line], tmp_path, PATH=path).stdout.splitlines()
    assert action == "arm" and [found.parent.name for found in tmp_path.glob(pattern)] == ["42"]


# MPI

@pytest.mark.parametrize("told, passes", [("mpirun (Open MPI) 4.1.4", ["-x", "LD_PRELOAD={library}", "-x", "MEMSNAP_OUT"]),
                                          ("HYDRA build details:", ["-genv", "LD_PRELOAD", "{library}"])])
def test_ranks_of_mpi_get_the_recorder_and_mpirun_itself_does_not(told, passes, tmp_path, library):
    fake(tmp_path / "bin", "mpirun", f'#!/bin/sh\nif [ "$1" = --version ]; then echo "{told}"; else printf "%s\\n" "${{LD_PRELOAD:-none}}" "$MEMSNAP_OUT" "$@"; fi\n')
    done = run(["sh", RECIPES / "mpi.sh", "python", "train it.py"], tmp_path, NPROC="4", MEMSNAP_LIBRARY=library, PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}", LD_PRELOAD="")
    preloaded, out, *arguments = done.stdout.splitlines()
    assert preloaded == "none" and out == f"{tmp_path}/recordings/rank-%r-%h-%p.bin"
    assert arguments == ["-n", "4", *[word.format(library=library) for word in passes], "python", "train it.py"]


# torchrun

def test_torchrun_gives_each_worker_a_recording_of_its_rank(tmp_path):
    build = pathlib.Path(os.environ.get("MEMSNAP_BUILD", TOP / "build")).resolve()
    launcher = build / "tests/simcuda/simcuda-launcher"
    if not launcher.exists():
        pytest.skip("the simulated GPU is not built")
    (tmp_path / "train.py").write_text("import os, time, torch\nx = torch.empty(1 << 20, device='cuda')\nprint('rank', os.environ['RANK'], flush=True)\ntime.sleep(1)\nos._exit(0)\n")
    fake(tmp_path / "bin", "memsnap", f'#!/bin/sh\nexec {sys.executable} -c "from memsnap.__main__ import main; import sys; sys.exit(main())" "$@"\n')
    fake(tmp_path / "bin", "torchrun", f'#!/bin/sh\nexec {sys.executable} -m torch.distributed.run "$@"\n')
    done = run([launcher, "--total", "8GiB", "--", "sh", RECIPES / "torchrun.sh", "train.py"], tmp_path, NPROC="2", PYTHONPATH=TOP / "python", PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}",
               MEMSNAP_LIBRARY=build / "interpose/libmemsnap.so", MEMSNAP_BUILD=build, OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    assert {line for line in done.stdout.splitlines() if line.startswith("rank")} == {"rank 0", "rank 1"}
    recordings = sorted(path.name for path in (tmp_path / "recordings").glob("*.bin"))
    assert [name.rsplit("-", 1)[0] for name in recordings] == ["rank-0", "rank-1"]


# Ray

def test_rays_workers_are_recorded_and_its_driver_is_not(tmp_path, library):
    program = tmp_path / "driver.py"
    program.write_text(f"""
import json, sys
sys.path.insert(0, {str(RECIPES)!r})
import ray
from ray_train import recorded

def looks():
    import os
    return any("libmemsnap" in line for line in open("/proc/self/maps")), os.environ.get("MEMSNAP_OUT"), os.environ.get("MEMSNAP_ARM")

ray.init(num_cpus=1, include_dashboard=False, object_store_memory=80 << 20, runtime_env=recorded({str(library)!r}, {str(tmp_path)!r}, arm="cold"))
print("told", json.dumps([looks()[0], ray.get(ray.remote(looks).remote())]))
ray.shutdown()
""")
    done = run([sys.executable, program], tmp_path, RAY_USAGE_STATS_ENABLED="0")
    (told,) = [line for line in done.stdout.splitlines() if line.startswith("told")] or [done.stderr]
    assert json.loads(told.removeprefix("told ")) == [False, [True, f"{tmp_path}/%h-%r-%p.bin", "cold"]]


# Kubernetes

def documents(name):
    return list(yaml.safe_load_all((RECIPES / name).read_text()))


def test_the_pod_finds_the_library_where_the_init_container_puts_it():
    (job,) = documents("kubernetes-job.yaml")
    pod = job["spec"]["template"]["spec"]
    (init,), (train,) = pod["initContainers"], pod["containers"]
    volumes = {volume["name"] for volume in pod["volumes"]}
    mounts = {mount["name"]: mount for container in (init, train) for mount in container["volumeMounts"]}
    assert set(mounts) == volumes == {"memsnap", "recordings"}
    assert [init["volumeMounts"][0]["mountPath"]] == [MOUNTED]
    variables = {row["name"]: row.get("value") for row in train["env"]}
    assert variables["LD_PRELOAD"] == f"{MOUNTED}/current/lib/libmemsnap.so" and mounts["memsnap"]["readOnly"] is True
    assert variables["MEMSNAP_OUT"].startswith(mounts["recordings"]["mountPath"] + "/") and "%t" in variables["MEMSNAP_OUT"]


def test_the_pod_goes_on_where_the_copy_fails_or_the_installer_is_missing(made, tmp_path):
    (job,) = documents("kubernetes-job.yaml")
    shell, option, script = job["spec"]["template"]["spec"]["initContainers"][0]["command"]
    assert job["spec"]["template"]["spec"]["restartPolicy"] == "Never" and f"/opt/memsnap/bin/memsnap-install-to {MOUNTED}" in script
    for top in (made.folder, tmp_path / "missing"):
        for folder, is_made in ((tmp_path / "volume", True), (tmp_path / "gone", False)):
            folder.mkdir(exist_ok=True) if is_made else None
            done = run([shell, option, script.replace("/opt/memsnap", str(top)).replace(f" {MOUNTED}", f" {folder}")], tmp_path)
            assert done.returncode == 0 and (done.stderr != "") == (top != made.folder or not is_made)
    assert (tmp_path / "volume/current/lib/libmemsnap.so").is_file()


def test_a_node_without_memsnap_does_not_hold_up_the_pods_that_mount_it():
    told = re.search(r"^#   volumes: +(\[.*\])", (RECIPES / "kubernetes-daemonset.yaml").read_text(), re.M).group(1)
    assert yaml.safe_load(told)[0]["hostPath"] == {"path": "/opt/memsnap", "type": "DirectoryOrCreate"}


def test_the_image_of_the_recipes_is_named_by_its_version():
    for name in ("kubernetes-job.yaml", "kubernetes-daemonset.yaml"):
        assert re.findall(r"image: \S+/memsnap:(\S+)", (RECIPES / name).read_text()) == ["0.1.0"]


def test_the_daemon_set_installs_into_the_folder_of_the_node_that_jobs_mount():
    (daemon,) = documents("kubernetes-daemonset.yaml")
    pod = daemon["spec"]["template"]["spec"]
    assert daemon["spec"]["selector"]["matchLabels"].items() <= daemon["spec"]["template"]["metadata"]["labels"].items()
    (init,) = pod["initContainers"]
    assert init["args"] == [init["volumeMounts"][0]["mountPath"]] and pod["volumes"][0]["hostPath"]["path"] == "/opt/memsnap"


def test_kubernetes_own_schema_takes_both():
    validator = pytest.importorskip("kubernetes_validate")
    for name in ("kubernetes-job.yaml", "kubernetes-daemonset.yaml"):
        for document in documents(name):
            validator.validate(document, "1.30", strict=True)


# Docker, systemd

def test_the_image_runs_what_installs_the_tree_into_a_volume(made, tmp_path):
    words = [line.split(None, 1) for line in (RECIPES / "Dockerfile").read_text().splitlines() if line and not line.startswith("#")]
    steps = {word: rest for word, rest in words}
    assert [word for word, _ in words] == ["FROM", "ARG", "COPY", "ENTRYPOINT", "CMD"] and steps["COPY"] == "${TREE} /opt/memsnap"
    (entry,), (folder,) = json.loads(steps["ENTRYPOINT"]), json.loads(steps["CMD"])
    assert folder == MOUNTED
    done = run([made.folder / pathlib.Path(entry).relative_to("/opt/memsnap"), tmp_path], tmp_path)
    assert done.returncode == 0 and (tmp_path / "current/lib/libmemsnap.so").is_file()


def test_the_drop_in_of_systemd_sets_what_it_should():
    parser = configparser.RawConfigParser(strict=False, dict_type=Several)
    parser.optionxform = str
    parser.read(RECIPES / "systemd-drop-in.conf")
    variables = dict(row.strip('"').split("=", 1) for row in parser["Service"]["Environment"].split("\n"))
    # systemd takes %% for a percent sign.
    assert variables["LD_PRELOAD"] == "/usr/lib/memsnap/current/lib/libmemsnap.so" and variables["MEMSNAP_OUT"].replace("%%", "%") == "/var/lib/memsnap/%p-%t.bin"
    assert parser["Service"]["StateDirectoryMode"] == "0700"


class Several(dict):
    """A key that comes again adds a line."""

    def __setitem__(self, key, value):
        if isinstance(value, list) and key in self:
            value = [*self[key], *value]
        super().__setitem__(key, value)


def test_every_recipe_is_told_of_with_its_limits():
    page = (TOP / "docs/fleet-recipes.md").read_text()
    assert [file.name for file in sorted(RECIPES.iterdir()) if f"recipes/{file.name}" not in page] == []
    for file in RECIPES.glob("*.sh"):
        assert subprocess.run(["sh", "-n", file]).returncode == 0
