// SPDX-License-Identifier: Apache-2.0
//
// The page's part `levels` (docs/page.md): the lanes of the whole window, a row a device and run. The rule: a
// lane that knows nothing is empty.
#pragma once

#include "capture.h"
#include "levels.h"
#include "page_table.h"

namespace memsnap {

PageTable page_levels(const Capture& capture, const Levels& levels);

}  // namespace memsnap
