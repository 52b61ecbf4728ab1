# SPDX-License-Identifier: Apache-2.0
"""Ray workers recorded: Ray starts each worker of a job with the variables of its runtime environment, LD_PRELOAD among them. The driver and
Ray's own processes are left alone. With Ray Train:

    trainer = TorchTrainer(train_loop, scaling_config=ScalingConfig(num_workers=8, use_gpu=True))
    ray.init(runtime_env=recorded("/opt/memsnap/current/lib/libmemsnap.so", "/shared/recordings"))
    trainer.fit()

Ray Train sets RANK in a worker after it has started; a recording reads it at its first event."""


def recorded(library: str, folder: str, arm: str = "recording") -> dict:
    """A runtime environment whose workers are recorded into `folder` (an existing one on every node). `arm`: recording, standby or cold."""
    return {"env_vars": {"LD_PRELOAD": library, "MEMSNAP_OUT": f"{folder}/%h-%r-%p.bin", "MEMSNAP_ARM": arm}}
