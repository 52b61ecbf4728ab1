// SPDX-License-Identifier: Apache-2.0
//
// Clock anchors: pairs of the raw counter and the system's clocks, by which readers convert time. The rule:
// the first stays for ever in slot 0, the others are overwritten in turn.
#pragma once

#include "process.h"

namespace memsnap::recorder {

void add_anchor(Recorder& recorder);

}  // namespace memsnap::recorder
