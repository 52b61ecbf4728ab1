// SPDX-License-Identifier: Apache-2.0
//
// The shape of each lane of a device over the boundaries of a job that did not fail. The rule: a shape is
// named from integers by the published rules and is never printed as a cause.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "boundary.h"
#include "capture.h"

namespace memsnap {

enum class Shape : uint8_t {
    unknown,
    flat,
    peak,
    staircase,
    reserved_growth,
    device_rise
};

struct Lane {
    Shape shape = Shape::unknown;
    std::optional<uint64_t> first_bytes;
    std::optional<uint64_t> last_bytes;
    std::optional<uint64_t> max_bytes;
    uint64_t point_count = 0;
};

struct DeviceShapes {
    int device = -1;
    std::optional<uint64_t> total_bytes;
    GrowthBasis basis = GrowthBasis::too_few;  // where the points came from
    Lane active;
    Lane reserved;
    Lane outside;
};

std::string_view name(Shape shape);

DeviceShapes find_shapes(int device, const Matched& matched, const PinnedDevice& pinned,
                         std::optional<uint64_t> total_bytes, bool late_start);

}  // namespace memsnap
