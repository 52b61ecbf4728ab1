// SPDX-License-Identifier: Apache-2.0
//
// A failing trace made small. The rule: what is left fails still, and no line of it can be dropped alone.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace memsnap::differential {

using Lines = std::vector<std::string>;

// `fails` is false for lines that the encoder refuses.
Lines shrink(Lines lines, const std::function<bool(const Lines&)>& fails);

}  // namespace memsnap::differential
