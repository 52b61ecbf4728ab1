// SPDX-License-Identifier: Apache-2.0
//
// Live bytes by birth site for flame graph tools: one line a site, frames from the root, joined by `;`, then
// the bytes. The rule: frames are tokens unless names were asked for; the lines add up to all live blocks.
#pragma once

#include <string>

#include "analysis.h"
#include "capture.h"
#include "receipt_dictionary.h"

namespace memsnap {

// At the failure; without one, at the peak of each device.
std::string collapsed_text(const Capture& capture, const Analysis& analysis, const Naming& naming);

}  // namespace memsnap
