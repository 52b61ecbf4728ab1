// SPDX-License-Identifier: Apache-2.0
// Rule: see stream_model.h. A line without pending work keeps no waits, so nothing grows.
#include "stream_model.h"

#include <algorithm>

namespace simcuda {

uint64_t StreamModel::add_stream(bool is_side_stream) {
    lines_[next_id_].is_side_stream = is_side_stream;
    return next_id_++;
}

void StreamModel::remove_stream(uint64_t stream_id) {
    synchronise(now(stream_id));
    lines_.erase(stream_id);
}

void StreamModel::submit(uint64_t stream_id) {
    Line& line = lines_.at(stream_id);
    ++line.submitted;
    is_done({stream_id, line.submitted});
}

Position StreamModel::now(uint64_t stream_id) const {
    return {stream_id, lines_.at(stream_id).submitted};
}

void StreamModel::wait(uint64_t stream_id, Position position) {
    if (position.stream_id == stream_id || is_done(position)) return;
    Line& line = lines_.at(stream_id);
    ++line.submitted;
    line.waits.push_back({line.submitted, position});
}

bool StreamModel::is_done(Position position) {
    const auto found = lines_.find(position.stream_id);
    if (found == lines_.end()) return true;
    Line& line = found->second;
    if (line.done >= position.sequence) return true;
    if (line.is_side_stream && pending_) return false;
    while (!line.waits.empty() && is_done(line.waits.front().position))
        line.waits.erase(line.waits.begin());
    line.done = line.waits.empty() ? line.submitted : line.waits.front().at_sequence - 1;
    return line.done >= position.sequence;
}

void StreamModel::synchronise(Position position) {
    const auto found = lines_.find(position.stream_id);
    if (found == lines_.end() || found->second.done >= position.sequence) return;
    Line& line = found->second;
    line.done = position.sequence;
    const auto is_covered = [&](const Wait& wait) { return wait.at_sequence <= position.sequence; };
    const auto covered_end = std::find_if_not(line.waits.begin(), line.waits.end(), is_covered);
    const std::vector<Wait> covered(line.waits.begin(), covered_end);
    line.waits.erase(line.waits.begin(), covered_end);
    for (const Wait& wait : covered)
        synchronise(wait.position);
}

}  // namespace simcuda
