// SPDX-License-Identifier: Apache-2.0
//
// A trace through both programs. The rule: the encoder, the replay and the oracle are called as libraries and
// see the same bytes; what they say is compared as text, errors too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aims.h"

namespace memsnap::differential {

// One program's answer.
struct Answer {
    int exit_status = 0;
    std::string rule;      // of an error
    uint64_t ticket = 0;   // of an error
    std::string document;  // empty: an error
};

struct Compared {
    std::string encode_error;  // the text was refused: nothing else is set
    Answer replay;
    std::string difference;  // the first field that differs, with the replay's and the oracle's value
};

class Programs {
  public:
    Programs();
    ~Programs();
    Programs(const Programs&) = delete;
    Programs& operator=(const Programs&) = delete;

    // The replay alone; a text that the encoder refuses is a mistake of the test.
    Answer replay(const std::vector<std::string>& lines);
    Compared compare(const std::vector<std::string>& lines);
    // The incident's numbers, where there are any.
    std::optional<Seen> look(const std::vector<std::string>& lines);

  private:
    void store(const std::vector<std::byte>& ring);
    Answer replay_stored() const;

    int file_;
    std::string path_;
    std::vector<std::byte> stored_;
};

}  // namespace memsnap::differential
