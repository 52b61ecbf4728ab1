// SPDX-License-Identifier: Apache-2.0
//
// The parts of NVTX's binary interface that an injected library uses, the same in versions 2 and 3
// (nvToolsExt.h, nvtxDetail/nvtxTypes.h). The rule: numbers and layouts only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memsnap::recorder::nvtx {

// Handles are ours: the program gives back what we returned.
using Domain = void*;
using String = void*;
using RangeId = uint64_t;

// What push and pop return where nobody follows ranges, so that a program prints the same with us.
inline constexpr int kNotTracked = -2;

enum MessageType : int32_t {
    kAscii = 1,
    kWide = 2,
    kRegistered = 3
};

struct Attributes {
    uint16_t version;
    uint16_t size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t reserved;
    uint64_t payload;
    int32_t message_type;
    const void* message;  // char*, wchar_t* or a registered string
};
static_assert(sizeof(Attributes) == 48 && offsetof(Attributes, message) == 40);

inline constexpr uint32_t kCallbacksTable = 1;  // of the tables an export function knows
inline constexpr unsigned kCore = 1;            // its modules
inline constexpr unsigned kCore2 = 5;

using Function = void (*)();
struct Callbacks {
    size_t struct_size;
    int (*get_module_table)(unsigned module, Function*** table, unsigned* size);
};
using GetExportTable = const void*(uint32_t id);

// Where a function lies in its module's table.
enum Core : unsigned {
    kMarkEx = 1,
    kMarkA = 2,
    kMarkW = 3,
    kRangeStartEx = 4,
    kRangeStartA = 5,
    kRangeStartW = 6,
    kRangeEnd = 7,
    kRangePushEx = 8,
    kRangePushA = 9,
    kRangePushW = 10,
    kRangePop = 11
};
enum Core2 : unsigned {
    kDomainMarkEx = 1,
    kDomainRangeStartEx = 2,
    kDomainRangeEnd = 3,
    kDomainRangePushEx = 4,
    kDomainRangePop = 5,
    kDomainRegisterStringA = 10,
    kDomainRegisterStringW = 11,
    kDomainCreateA = 12,
    kDomainCreateW = 13
};

}  // namespace memsnap::recorder::nvtx
