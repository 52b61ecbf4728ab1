// SPDX-License-Identifier: Apache-2.0
#include "unwrapped.h"

#include "catch.h"

using memsnap::recorder::may_take_memory;

TEST_CASE("Names that tell of taking memory are told from those that ask, move, give back or hold none") {
    for (const char* name :
         {"cuMemAlloc", "cuMemAlloc_v3", "cuMemAllocNew", "cuMemCreate", "cuMemMap", "cuArray3DCreate_v2",
          "cuMulticastCreate", "cuIpcOpenMemHandle_v3", "cuImportExternalMemory", "cuGraphAddMemAllocNode",
          "cuMemAddressReserve", "cuMipmappedArrayCreate", "cuMemPoolImportPointer"}) {
        CHECK(may_take_memory(name));
    }
    for (const char* name : {"cuMemFree", "cuMemUnmap", "cuMemcpyAsync", "cuMemsetD8", "cuMemGetInfo",
                             "cuMemGetAllocationGranularity", "cuIpcOpenEventHandle",
                             "cuImportExternalSemaphore", "cuStreamCreate", "cuEventCreate", "cuGraphCreate",
                             "cuTexObjectCreate", "cuMipmappedArrayDestroy", "cuMemPrefetchAsync"}) {
        CHECK_FALSE(may_take_memory(name));
    }
}
