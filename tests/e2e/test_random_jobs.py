# SPDX-License-Identifier: Apache-2.0
"""Seeded jobs of any ranks, hosts, clocks, ends, failures, holders and damage: two programs that share no code make the same receipt of each, and end alike."""

import json
import pathlib
import random
import subprocess

import pytest

from test_ranks import ENCODE, SECOND_NS, START_NS, oracle, replay
from this_host import here, own_process

SEEDS = 150
MS = SECOND_NS // 1000


class RecordingText:
    """The lines of one recording of a random process."""

    def __init__(self, any_of: random.Random, rank: int, ranks: int, failed_around_ns: int):
        self.any_of, self.rank, self.ranks, self.failed_around_ns, self.blocks = any_of, rank, ranks, failed_around_ns, 0

    def chance(self, probability: float) -> bool:
        return self.any_of.random() < probability

    def header(self) -> str:
        own, choice = own_process(), self.any_of.choice
        facts = {
            "ring_records": choice([16, 64, 64, 256]), "rank": choice([self.rank, self.rank, self.rank, -1, 0]), "local_rank": choice([-1, self.rank]),
            "world_size": choice([self.ranks, self.ranks, self.ranks + 2, -1]), "job_key": 7, "job_key_source": "launcher", "clock_source": choice(["monotonic_ns", "monotonic_ns", "x86_tsc"]),
            "host_key": choice([here(), here(), 2, 3, 0]), "pid": choice([100 + self.rank, own["pid"]]), "pid_namespace": choice([own["pid_namespace"], own["pid_namespace"], 5, 0]),
            "process_start_ticks": choice([1 + self.rank, own["process_start_ticks"], 0]), "superseded": int(self.chance(0.1)), "failure_count": int(self.chance(0.05)),
        }
        return "header " + " ".join(f"{name}={value}" for name, value in facts.items()) + (" standby" if self.chance(0.15) else "")

    def block(self, mib: int, device: int = 0) -> str:
        self.blocks += 1
        return f"alloc b{self.blocks} s{device}+{(self.blocks * 40) % 3900}MiB {mib}MiB device={device}"

    def event(self) -> list[str]:
        choice, device = self.any_of.choice, self.any_of.choice([0, 0, 0, 1])
        sample = [f"process_sample own=100MiB others={choice([0, 300, 720])}MiB count=2 device={device}" + (" unavailable" if self.chance(0.2) else "")]
        holders = [f"neighbour pid={100 + self.any_of.randrange(self.ranks + 1)} bytes={choice([1, 300, 300, 700])}MiB device={device}" + choice(["", " job", " unavailable"]) for _ in range(self.any_of.randrange(4))]
        return choice([
            [self.block(choice([1, 2, 30]), device)], [self.block(1, device), "step"], [self.block(1, device), "step"], ["step"], holders + sample, holders + sample, holders,
            [f"device_sample total=8GiB free={choice([1, 20, 3000])}MiB device={device}"], [f"mem_info total=8GiB free={choice([1, 20, 900])}MiB device={device}"],
            [f"mark m count={choice([1, 10, 300])}"], [f"time +{choice([1, 3 * MS, 300 * MS, SECOND_NS])}"], [f"note batch {choice([1, 2])}"],
            ["phase begin work", self.block(1, device), "phase end"], [f"cap {choice([0, 512])}MiB"],
        ])

    def failure(self) -> list[str]:
        at_ns = self.failed_around_ns + self.any_of.choice([0, 0, 500_000, 3 * MS, 100 * MS, 400 * MS, SECOND_NS])
        device = self.any_of.choice([0, 0, 1])
        lines = [f"time {at_ns}"]
        if self.chance(0.4):
            lines += [f"neighbour pid={100 + self.any_of.randrange(self.ranks + 1)} bytes=3000MiB device={device}", f"process_sample own=100MiB others=3500MiB count=1 device={device}"]
        lines += [f"failing {self.any_of.choice([30, 30, 800, 5000, 5000])}MiB total=8GiB free={self.any_of.choice([2, 20, 700])}MiB device={device}"]
        if self.chance(0.4):
            lines += ["keyframe"]
            if self.chance(0.7):
                lines += ["mark later count=600"]
        return lines + ([self.block(31, device)] if self.chance(0.3) else [])

    def end(self) -> list[str]:
        return [self.any_of.choice(["killed", "killed", "exit 0", "exit 1", "exit 1", "exit -9"])]

    def lines(self) -> list[str]:
        start_ns = START_NS + self.any_of.choice([0, 0, 0, 1, 50 * MS, 3 * SECOND_NS, -10 * SECOND_NS])
        header, anchors = self.header(), self.any_of.choice([2, 2, 2, 1, 0])
        dormant = ["memsnap-events 1", header.removesuffix(" standby") + " dormant arm_state=cold"]
        if self.chance(0.05):
            return dormant
        lines = ["memsnap-events 1", header]
        if anchors:
            lines += [f"anchor counter=0 monotonic_ns=0 realtime_ns={start_ns}"]
        lines += ["time 1000000", "segment s0 4GiB", "segment s1 4GiB device=1"]
        if "standby" in header:
            lines += [*self.event(), "arm"]
        for _ in range(self.any_of.randrange(30)):
            lines += self.event()
        if self.chance(0.5):
            lines += self.failure()
        for _ in range(self.any_of.randrange(5)):
            lines += self.event()
        if self.chance(0.05):
            lines += ["alloc wrong s0+0 1MiB", "alloc wronger s0+0 1MiB"]
        if anchors == 2:
            last_ns = self.any_of.choice([SECOND_NS, 5 * SECOND_NS, 9 * SECOND_NS])
            lines += [f"anchor counter={last_ns} monotonic_ns={last_ns} realtime_ns={start_ns + last_ns + self.any_of.choice([0, 0, 7])}"]
        if self.chance(0.1) or "standby" in header and self.chance(0.5):
            return [*lines, "disarm", *(["header arm_state=3"] if self.chance(0.1) else [])]
        return lines + self.end()


def make_job(seed: int, folder: pathlib.Path) -> list[str]:
    """Writes the recordings of a random job, here and there in a folder, with copies and damaged ones."""
    any_of = random.Random(seed)
    ranks, failed_around_ns = any_of.randrange(1, 7), 2 * SECOND_NS
    texts = []
    for index in range(ranks + any_of.randrange(2)):
        path = folder / any_of.choice(["", "node-a", "node-b/deep"]) / f"ring-{index}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "\n".join(RecordingText(any_of, index % ranks, ranks, failed_around_ns).lines()) + "\n"
        done = subprocess.run([ENCODE, "-", path], input=text, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr + text
        texts.append(f"# {path.relative_to(folder)}\n{text}")
        fate = any_of.random()
        if fate < 0.1:
            (folder / f"copy-{index}.bin").write_bytes(path.read_bytes())
        elif fate < 0.15:
            (folder / f"link-{index}.bin").symlink_to(path)
        elif fate < 0.25:
            damaged = bytearray(path.read_bytes())
            for _ in range(any_of.randrange(1, 4)):
                damaged[any_of.randrange(any_of.choice([768, len(damaged)]))] ^= 1 << any_of.randrange(8)
            path.write_bytes(damaged[:any_of.choice([len(damaged), len(damaged), 70000, 700])])
    return texts


@pytest.mark.parametrize("seed", range(SEEDS))
def test_both_programs_make_the_same_receipt_of_a_random_job(seed, tmp_path):
    folder = tmp_path / "job"
    texts = make_job(seed, folder)
    path = tmp_path / "job.json"

    written = replay(folder, "--json", path, "--clocks-within", str(random.Random(seed).choice([0, 50, 128])))
    if not path.exists():
        assert oracle(folder).returncode == written.returncode in (2, 3, 4, 5), written.stderr
        return
    judged = oracle("--receipt", path, folder)
    assert judged.returncode == 0, judged.stderr + "\n".join(texts)
    assert written.returncode == json.loads(path.read_text())["exit_status"]


def test_the_random_jobs_have_every_role_order_and_incident(tmp_path):
    seen, wanted = set(), {
        *("failed_first failed victim followed killed ended running no_end_seen disarmed dormant unreadable".split()), "order before", "order after", "order untold",
        "incident survived", "incident fatal", "incident lost", "earlier", "held", "missing", "rivals", "clocks", "peak", "steps", "skew", "unread",
    }
    for seed in range(SEEDS):
        folder = tmp_path / str(seed)
        make_job(seed, folder)
        path = tmp_path / f"{seed}.json"
        replay(folder, "--json", path)
        if not path.exists():
            continue
        receipt = json.loads(path.read_text())
        first = receipt["first"] or {"rivals": [], "clocks_compared": False}
        seen |= {name for name, there in (("missing", receipt["job"]["missing"]), ("rivals", first["rivals"]), ("clocks", first["clocks_compared"]), ("peak", receipt["first"] and receipt["instant"] == "peak"), ("skew", receipt["skew"]), ("unread", receipt["job"]["unread_count"])) if there}
        for row in receipt["processes"]:
            seen |= {row["role"], f"order {row['order']}", f"incident {row['incident']}"}
            seen |= {name for name, there in (("earlier", row["earlier_count"]), ("held", row["held_by"]), ("steps", row["steps"]["rise_bytes"])) if there}
    assert wanted - seen == set()
