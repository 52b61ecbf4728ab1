// SPDX-License-Identifier: Apache-2.0
//
// Whether a layout is the running interpreter's: what it leads to is compared with the interpreter's own
// answers. The rules: with the GIL; no code of the program runs meanwhile, since this may be inside one of
// its calls; every address is read through the kernel; the program's pending error and reference counts are
// as before.
#pragma once

#include "python_api.h"
#include "python_layout.h"

namespace memsnap::recorder {

enum class Agreement : uint8_t {
    agrees,
    differs,
    not_now,  // nothing to compare at this moment
};
Agreement compare_with_interpreter(const PythonApi& api, const PythonLayout& layout);

}  // namespace memsnap::recorder
