// SPDX-License-Identifier: Apache-2.0
//
// The commands of the program of marks that go through NVTX.
#pragma once

#include <string>
#include <vector>

// False: no such command.
bool marks_nvtx(const std::vector<std::string>& words);
