// SPDX-License-Identifier: Apache-2.0
//
// An ordered map from 64-bit keys (addresses, tickets) to values that stay where they are. The rule: lookup,
// neighbours, insertion and removal cost one binary search over a short list of runs and one inside a run;
// runs are contiguous, so a million events do not wait for memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace memsnap {

// Keys in order, each with the index of its value.
class AddressIndex {
  public:
    struct Position {
        size_t run = 0;
        size_t place = 0;
    };

    static constexpr Position kFront = {0, ~size_t{0}};  // before every key

    size_t size() const { return size_; }
    size_t run_count() const { return order_.size(); }
    bool first(Position& found) const;                       // false when empty
    bool at_or_before(uint64_t key, Position& found) const;  // the last key <= the given one
    bool next(Position& position) const;                     // false at the end
    uint64_t key(Position at) const { return run(at.run).keys[at.place]; }
    uint32_t value(Position at) const { return run(at.run).values[at.place]; }
    // The key must not be in the index; `before` is the last key <= it, or kFront.
    void insert_behind(Position before, uint64_t key, uint32_t value);
    void erase(Position at);

    template <class F>
    void for_each(F&& f) const {
        for (size_t i = 0; i < order_.size(); ++i) {
            for (uint32_t place = 0; place < run(i).count; ++place)
                f(run(i).values[place]);
        }
    }

  private:
    static constexpr uint32_t kRunCapacity = 64;
    struct Run {
        uint32_t count = 0;
        uint64_t keys[kRunCapacity];
        uint32_t values[kRunCapacity];
    };
    Run& run(size_t i) { return runs_[order_[i]]; }
    const Run& run(size_t i) const { return runs_[order_[i]]; }
    void add_run(size_t i);
    void remove_run(size_t i);
    void split(size_t i);
    bool join_with_next(size_t i);

    std::vector<uint64_t> first_keys_;  // of the runs, in order
    std::vector<uint32_t> order_;       // index in runs_
    std::deque<Run> runs_;
    std::vector<uint32_t> unused_runs_;
    size_t size_ = 0;
};

// Values in chunks: they stay where they are, and one is found with two loads.
template <class T>
class Slab {
  public:
    Slab() = default;
    Slab(const Slab& other) { *this = other; }
    Slab& operator=(const Slab& other) {
        chunks_.clear();
        for (const auto& chunk : other.chunks_)
            chunks_.push_back(std::make_unique<Chunk>(*chunk));
        unused_ = other.unused_;
        size_ = other.size_;
        return *this;
    }
    Slab(Slab&&) noexcept = default;
    Slab& operator=(Slab&&) noexcept = default;

    T& operator[](uint32_t slot) { return (*chunks_[slot / kChunk])[slot % kChunk]; }
    const T& operator[](uint32_t slot) const { return (*chunks_[slot / kChunk])[slot % kChunk]; }
    uint32_t add(const T& value) {
        uint32_t slot = size_;
        if (unused_.empty()) {
            if (slot % kChunk == 0) chunks_.push_back(std::make_unique<Chunk>());
            ++size_;
        } else {
            slot = unused_.back();
            unused_.pop_back();
        }
        (*this)[slot] = value;
        return slot;
    }
    void remove(uint32_t slot) { unused_.push_back(slot); }

  private:
    static constexpr uint32_t kChunk = 256;
    using Chunk = std::array<T, kChunk>;
    std::vector<std::unique_ptr<Chunk>> chunks_;
    std::vector<uint32_t> unused_;
    uint32_t size_ = 0;
};

template <class T>
class AddressTable {
  public:
    // Where a key is or would be: the value with the last key <= it, and the one behind that; null where
    // there is none. Good until the table changes.
    struct Place {
        T* before = nullptr;
        T* after = nullptr;
        AddressIndex::Position position = AddressIndex::kFront;  // of `before`
        uint64_t before_key = 0;                                 // so that neither value need be looked at
        uint64_t after_key = 0;
    };

    size_t size() const { return index_.size(); }

    Place place(uint64_t key) {
        Place found;
        AddressIndex::Position at;
        if (index_.at_or_before(key, at)) {
            found.before = &values_[index_.value(at)];
            found.before_key = index_.key(at);
            found.position = at;
            if (!index_.next(at)) return found;
        } else if (!index_.first(at)) {
            return found;
        }
        found.after = &values_[index_.value(at)];
        found.after_key = index_.key(at);
        return found;
    }
    const T* find(uint64_t key) const {
        AddressIndex::Position at;
        return index_.at_or_before(key, at) && index_.key(at) == key ? &values_[index_.value(at)] : nullptr;
    }
    T* find(uint64_t key) { return const_cast<T*>(std::as_const(*this).find(key)); }
    // The value with the last key <= `key`.
    const T* at_or_before(uint64_t key) const {
        AddressIndex::Position at;
        return index_.at_or_before(key, at) ? &values_[index_.value(at)] : nullptr;
    }
    T* at_or_before(uint64_t key) { return const_cast<T*>(std::as_const(*this).at_or_before(key)); }

    // The key must not be in the table; `where` is its place.
    T& insert(const Place& where, uint64_t key, const T& value) {
        const uint32_t slot = values_.add(value);
        index_.insert_behind(where.position, key, slot);
        return values_[slot];
    }
    T& insert(uint64_t key, const T& value) { return insert(place(key), key, value); }
    // Removes `where.before`.
    void erase(const Place& where) {
        values_.remove(index_.value(where.position));
        index_.erase(where.position);
    }
    void erase(uint64_t key) {
        const Place where = place(key);
        if (where.before != nullptr && where.before_key == key) erase(where);
    }

    // In key order.
    template <class F>
    void for_each(F&& f) const {
        index_.for_each([&](uint32_t slot) { f(values_[slot]); });
    }
    template <class F>
    void for_each(F&& f) {
        index_.for_each([&](uint32_t slot) { f(values_[slot]); });
    }
    // Those with a key in [from, to).
    template <class F>
    void for_range(uint64_t from, uint64_t to, F&& f) const {
        AddressIndex::Position at;
        bool more = index_.at_or_before(from, at) || index_.first(at);
        for (; more && index_.key(at) < to; more = index_.next(at)) {
            if (index_.key(at) >= from) f(values_[index_.value(at)]);
        }
    }

  private:
    AddressIndex index_;
    Slab<T> values_;
};

}  // namespace memsnap
