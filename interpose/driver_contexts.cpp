// SPDX-License-Identifier: Apache-2.0
//
// Rows of the driver: the begin and end of contexts. What ends with one, and when that is known: endings.h.
#include "call_builders.h"
#include "driver_entries.h"
#include "endings.h"

namespace memsnap::recorder {

using wire::Object;
using wire::Op;

MEMSNAP_DRIVER_ROW(cuCtxCreate, (cuda::Context * out, unsigned flags, int device), (out, flags, device),
                   allocate_on_device(Op::cuCtxCreate, Object::context, out, device))
MEMSNAP_DRIVER_ROW(cuCtxCreate_v2, (cuda::Context * out, unsigned flags, int device), (out, flags, device),
                   allocate_on_device(Op::cuCtxCreate, Object::context, out, device))
MEMSNAP_DRIVER_ROW(cuCtxCreate_v3,
                   (cuda::Context * out, void* affinities, int count, unsigned flags, int device),
                   (out, affinities, count, flags, device),
                   allocate_on_device(Op::cuCtxCreate, Object::context, out, device))
MEMSNAP_DRIVER_ROW(cuCtxCreate_v4, (cuda::Context * out, void* parameters, unsigned flags, int device),
                   (out, parameters, flags, device),
                   allocate_on_device(Op::cuCtxCreate, Object::context, out, device))
MEMSNAP_DRIVER_ROW(cuCtxDestroy, (cuda::Context context), (context),
                   end_own_context(Op::cuCtxDestroy, context))
MEMSNAP_DRIVER_ROW(cuCtxDestroy_v2, (cuda::Context context), (context),
                   end_own_context(Op::cuCtxDestroy, context))

MEMSNAP_DRIVER_ROW(cuDevicePrimaryCtxRetain, (cuda::Context * out, int device), (out, device),
                   allocate_on_device(Op::cuDevicePrimaryCtxRetain, Object::context, out, device))
MEMSNAP_DRIVER_ROW(cuDevicePrimaryCtxRelease, (int device), (device),
                   end_reference(Op::cuDevicePrimaryCtxRelease, device))
MEMSNAP_DRIVER_ROW(cuDevicePrimaryCtxRelease_v2, (int device), (device),
                   end_reference(Op::cuDevicePrimaryCtxRelease, device))
MEMSNAP_DRIVER_ROW(cuDevicePrimaryCtxReset, (int device), (device),
                   end_primary(Op::cuDevicePrimaryCtxReset, device))
MEMSNAP_DRIVER_ROW(cuDevicePrimaryCtxReset_v2, (int device), (device),
                   end_primary(Op::cuDevicePrimaryCtxReset, device))

MEMSNAP_DRIVER_ROW(cuGreenCtxCreate, (cuda::Context * out, void* resources, int device, unsigned flags),
                   (out, resources, device, flags),
                   allocate_on_device(Op::cuGreenCtxCreate, Object::context, out, device))
MEMSNAP_DRIVER_ROW(cuGreenCtxDestroy, (cuda::Context context), (context),
                   end_green_context(Op::cuGreenCtxDestroy, context))

}  // namespace memsnap::recorder
