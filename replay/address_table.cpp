// SPDX-License-Identifier: Apache-2.0
//
// The runs of AddressIndex. The rule: no run is empty, and first_keys_ always mirrors the runs.
#include "address_table.h"

#include <algorithm>
#include <cstring>

namespace memsnap {

namespace {

template <class T>
void open_gap(T* values, size_t place, size_t count) {
    std::memmove(values + place + 1, values + place, (count - place) * sizeof(T));
}

template <class T>
void close_gap(T* values, size_t place, size_t count) {
    std::memmove(values + place, values + place + 1, (count - place - 1) * sizeof(T));
}

// The number of leading keys <= `key`. Sixteen comparisons at a time that do not wait for one another: a
// search by halves has as many steps as this has rounds times four, and each waits for the one before.
size_t count_at_or_before(const uint64_t* keys, size_t count, uint64_t key) {
    constexpr size_t kWays = 16;
    size_t stride = 1;
    while (stride * kWays < count)
        stride *= kWays;
    size_t base = 0;
    for (; stride != 0; stride /= kWays) {
        const size_t end = std::min(count, base + kWays * stride);
        size_t passed = 0;
        for (size_t i = base + stride - 1; i < end; i += stride)
            passed += keys[i] <= key ? 1 : 0;
        base += passed * stride;
    }
    return base;
}

}  // namespace

bool AddressIndex::first(Position& found) const {
    found = {0, 0};
    return size_ != 0;
}

bool AddressIndex::at_or_before(uint64_t key, Position& found) const {
    const size_t runs = count_at_or_before(first_keys_.data(), first_keys_.size(), key);
    if (runs == 0) return false;
    found.run = runs - 1;
    found.place = count_at_or_before(run(found.run).keys, run(found.run).count, key) - 1;
    return true;
}

bool AddressIndex::next(Position& position) const {
    if (position.place + 1 < run(position.run).count) {
        ++position.place;
        return true;
    }
    if (position.run + 1 >= order_.size()) return false;
    position = {position.run + 1, 0};
    return true;
}

void AddressIndex::insert_behind(Position before, uint64_t key, uint32_t value) {
    if (order_.empty()) add_run(0);
    size_t i = before.run;
    size_t place = before.place + 1;  // kFront wraps to 0
    if (run(i).count == kRunCapacity) {
        split(i);
        if (place > run(i).count) {
            place -= run(i).count;
            ++i;
        }
    }
    Run& target = run(i);
    open_gap(target.keys, place, target.count);
    open_gap(target.values, place, target.count);
    target.keys[place] = key;
    target.values[place] = value;
    ++target.count;
    first_keys_[i] = target.keys[0];
    ++size_;
}

void AddressIndex::erase(Position at) {
    Run& target = run(at.run);
    close_gap(target.keys, at.place, target.count);
    close_gap(target.values, at.place, target.count);
    --target.count;
    --size_;
    if (target.count == 0) {
        remove_run(at.run);
        return;
    }
    first_keys_[at.run] = target.keys[0];
    if (target.count < kRunCapacity / 4 && !join_with_next(at.run) && at.run > 0) {
        join_with_next(at.run - 1);
    }
}

void AddressIndex::add_run(size_t i) {
    uint32_t unused = static_cast<uint32_t>(runs_.size());
    if (unused_runs_.empty()) {
        runs_.emplace_back();
    } else {
        unused = unused_runs_.back();
        unused_runs_.pop_back();
        runs_[unused].count = 0;
    }
    order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(i), unused);
    first_keys_.insert(first_keys_.begin() + static_cast<std::ptrdiff_t>(i), 0);
}

void AddressIndex::remove_run(size_t i) {
    unused_runs_.push_back(order_[i]);
    order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(i));
    first_keys_.erase(first_keys_.begin() + static_cast<std::ptrdiff_t>(i));
}

// Keys that come in ascending order (tickets) would leave every run half full: the last run keeps what it
// has.
void AddressIndex::split(size_t i) {
    const uint32_t kept = i + 1 == order_.size() ? kRunCapacity * 7 / 8 : kRunCapacity / 2;
    add_run(i + 1);
    Run& left = run(i);
    Run& right = run(i + 1);
    right.count = kRunCapacity - kept;
    std::copy_n(left.keys + kept, right.count, right.keys);
    std::copy_n(left.values + kept, right.count, right.values);
    left.count = kept;
    first_keys_[i + 1] = right.keys[0];
}

bool AddressIndex::join_with_next(size_t i) {
    if (i + 1 >= order_.size()) return false;
    Run& left = run(i);
    const Run& right = run(i + 1);
    if (left.count + right.count > kRunCapacity * 3 / 4) return false;
    std::copy_n(right.keys, right.count, left.keys + left.count);
    std::copy_n(right.values, right.count, left.values + left.count);
    left.count += right.count;
    remove_run(i + 1);
    return true;
}

}  // namespace memsnap
