// SPDX-License-Identifier: Apache-2.0
// Handle of a second process that runs checks/peer.cpp in this test's session.
// Rule: a peer never outlives its handle.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <string>

class PeerProcess {
  public:
    PeerProcess();
    ~PeerProcess();
    PeerProcess(const PeerProcess&) = delete;
    PeerProcess& operator=(const PeerProcess&) = delete;

    struct Answer {
        int result = -1;
        std::string text;
        uint64_t value() const { return std::stoull(text); }
    };
    Answer ask(const std::string& line);
    void tell(const std::string& line);  // a command without an answer
    void kill_hard();
    pid_t pid() const { return pid_; }

  private:
    pid_t pid_ = 0;
    std::FILE* to_ = nullptr;
    std::FILE* from_ = nullptr;
};
