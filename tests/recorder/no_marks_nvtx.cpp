// SPDX-License-Identifier: Apache-2.0
//
// Where NVTX's headers are not at hand.
#include "marks_nvtx.h"

bool marks_nvtx(const std::vector<std::string>&) {
    return false;
}
