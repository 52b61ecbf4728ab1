// SPDX-License-Identifier: Apache-2.0
#include "device.h"

namespace memsnap::recorder {

std::atomic<CtxGetDevice> g_ctx_get_device{nullptr};

}  // namespace memsnap::recorder
