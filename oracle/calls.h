// SPDX-License-Identifier: Apache-2.0
//
// The numbers of the file format: kinds, flags, object classes, and what each call allocates or frees. Rule:
// typed from WIRE.md; a number that is not listed here is unknown.
#pragma once

#include <optional>
#include <string_view>

#include "numbers.h"

namespace oracle {

enum Kind : u8 {
    kBlockAlloc = 1,
    kBlockFree = 2,
    kBlockOom = 3,
    kBirth = 4,
    kTryCall = 16,
    kOk = 17,
    kFail = 18,
    kFree = 19,
    kFreeFail = 20,
    kMemInfo = 21,
    kBlind = 22,
    kOperation = 23,
    kDeviceSample = 32,
    kProcessSample = 33,
    kNeighbour = 34,
    kPhaseBegin = 48,
    kPhaseEnd = 49,
    kMark = 50,
    kStep = 51,
    kNote = 52,
    kCategory = 53,
    kCap = 54,
    kTapAlloc = 64,
    kTapFreeRequested = 65,
    kTapFreeCompleted = 66,
    kTapSegmentAlloc = 67,
    kTapSegmentFree = 68,
    kTapSegmentMap = 69,
    kTapSegmentUnmap = 70,
    kTapOom = 71,
    kKeyframe = 80,
    kInitial = 81,
    kInitialSegment = 82,
    kCuptiMemory = 83,
};

enum Flag : u8 {
    kBirthFollows = 1,
    kNested = 2,
    kFromAllocator = 4,
    kTotalsPresent = 8,
    kCapturing = 16,
    kUnavailable = 32,
    kImported = 64,
};

enum Class : u8 {
    kNoClass = 0,
    kBlock = 1,
    kDevice = 2,
    kManaged = 3,
    kHost = 4,
    kArray = 5,
    kAsync = 6,
    kHandle = 7,
    kMapping = 8,
    kReservation = 9,
    kPool = 10,
    kImport = 11,
    kMulticast = 12,
    kContext = 13,
    kGraphNode = 14,
};

inline constexpr u8 kCallMemCreate = 108;
inline constexpr u8 kCallMemMap = 109;
inline constexpr u8 kCallMemImport = 111;
inline constexpr u16 kOutOfMemory = 2;
inline constexpr u16 kPoolUnknown = 65535;    ///< of a tap's record
inline constexpr u64 kUntold = ~u64{0};       ///< a number that a `tap_oom` does not know
inline constexpr u16 kOfThisJob = 1;          ///< code of a neighbour
inline constexpr u16 kStepCollectionOff = 1;  ///< bit of a step's code

bool kind_is_known(u8 kind);
/// The call's name, none for an unknown number; call 0 is `none`.
std::optional<std::string_view> call_name(u8 call);
/// The class of what a call allocates, kNoClass for one that allocates nothing.
Class allocates(u8 call);
/// The class of what a call frees, kNoClass for one that frees nothing.
Class frees(u8 call);
/// What a free may end whose birth is not known: cudaFree and cuMemFree also take back managed and
/// stream-ordered memory and mapped buffers, cuMemRelease also multicast objects; a call that ends a context
/// also ends what was made in it.
bool may_free(u8 call, Class object);
/// Classes whose allocation takes memory of the device.
bool takes_device_memory(Class object);

}  // namespace oracle
