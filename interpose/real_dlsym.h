// SPDX-License-Identifier: Apache-2.0
//
// The dlsym that ours stands in front of.
#pragma once

namespace memsnap::recorder {

using DlsymFunction = void*(void* handle, const char* name);

// Null only where no loaded object has a dlsym.
DlsymFunction* real_dlsym();

}  // namespace memsnap::recorder
