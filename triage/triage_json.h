// SPDX-License-Identifier: Apache-2.0
//
// The triage of a log as canonical JSON (docs/triage.schema.json). The rule: numbers and words of closed
// lists; no text of the log, no process id.
#pragma once

#include <string>

#include "triage.h"

namespace memsnap {

std::string triage_json(const Triage& triage);

}  // namespace memsnap
