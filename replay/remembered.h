// SPDX-License-Identifier: Apache-2.0
//
// Values that take long to make, kept as far as they fit. The rule: no more than so many bytes are held,
// except by a single value; when they are used up all is forgotten, and made again when it is asked for.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

namespace memsnap {

// `memory_bytes(value)` is what a value holds beside itself.
template <class Key, class Value>
class Remembered {
  public:
    explicit Remembered(uint64_t bytes_most) : bytes_most_(bytes_most) {}

    // Valid until the next call.
    template <class Make>
    const Value& get(Key key, Make make) {
        if (const auto found = values_.find(key); found != values_.end()) return found->second;
        Value value = make();
        const uint64_t value_bytes = kEntry_bytes + memory_bytes(value);
        if (used_bytes_ + value_bytes > bytes_most_) {
            values_.clear();
            used_bytes_ = 0;
        }
        used_bytes_ += value_bytes;
        return values_.emplace(key, std::move(value)).first->second;
    }

    uint64_t used_bytes() const { return used_bytes_; }

  private:
    static constexpr uint64_t kEntry_bytes = sizeof(std::pair<const Key, Value>) + 4 * sizeof(void*);

    uint64_t bytes_most_;
    uint64_t used_bytes_ = 0;
    std::unordered_map<Key, Value> values_;
};

}  // namespace memsnap
