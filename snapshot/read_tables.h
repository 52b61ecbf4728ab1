// SPDX-License-Identifier: Apache-2.0
//
// What complete dictionaries and lists of a snapshot become. The rule: by their members alone, wherever they
// lie; the one who knows their place (read_snapshot.cpp) decides whether they belong there.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "pickle_machine.h"
#include "read_members.h"

namespace memsnap::snapshot {

// Trace entries in the order of the file. Each is taken once; what is taken does not stay here.
class Entries {
  public:
    uint64_t add(const TraceEntry& entry);
    std::optional<TraceEntry> take(uint64_t index);

  private:
    static constexpr uint64_t kPiece_entries = 4096;
    struct Piece {
        std::unique_ptr<TraceEntry[]> entries;
        uint64_t taken_count = 0;
    };
    std::vector<Piece> pieces_;
    std::vector<bool> taken_;
};

struct ReadBlock {
    Block block;
    bool has_address = false;
    bool is_taken = false;
};

struct ReadSegment {
    Segment segment;
    Value blocks;
    bool has_allocated = false;
    bool has_active = false;
    bool is_taken = false;
    uint64_t offset_bytes = 0;
};

class Tables final : public Completion {
  public:
    explicit Tables(Stacks& stacks) : stacks_(stacks) {}

    std::optional<Value> list(std::span<const Value> items, uint64_t offset_bytes) override;
    std::optional<Value> dict(std::span<const Value> pairs, uint64_t offset_bytes) override;

    Entries entries;
    std::deque<ReadBlock> blocks;
    std::deque<ReadSegment> segments;
    std::deque<Annotation> annotations;
    std::vector<Problem> problems;
    // Members of a kind of dictionary that this reader does not know: (where, name).
    std::set<std::pair<const char*, TextId>> unknown_members;

  private:
    Value frame();
    Value entry();
    Value block();
    Value segment();
    Value annotation();
    void newest_of_history(Block& block);
    std::optional<Value> frames_list(std::span<const Value> items);
    StackId stack_member();
    StackId stack_of(Word word, const Value& value);
    Value bad(Kind kind, Problem problem);
    Problem problem_within(const std::string& path, const Value& bad) const;
    void note_unknown(std::span<const Value> pairs, uint64_t known, const char* where);

    Stacks& stacks_;
    Members members_;
    std::vector<Frame> frames_;
    uint64_t offset_bytes_ = 0;
};

}  // namespace memsnap::snapshot
