// SPDX-License-Identifier: Apache-2.0
//
// The members of an exported snapshot beside its traces and segments: annotations, and memory of the host.
// The rule: each is one pass over the events, and no more is kept than what is open or live.
#pragma once

#include "../snapshot/write_snapshot.h"
#include "capture.h"
#include "snapshot_export_names.h"
#include "snapshot_export_survey.h"

namespace memsnap {

// Ranges of the families range and optimizer, and the time between two steps. None without a clock.
void write_annotations(const Capture& capture, const ExportSurvey& survey, ExportNames& names,
                       snapshot::SnapshotWriter& out);

// Pinned memory that PyTorch holds: the members host_segments and host_traces.
void write_host_memory(const Capture& capture, const ExportSurvey& survey, snapshot::SnapshotWriter& out);

}  // namespace memsnap
