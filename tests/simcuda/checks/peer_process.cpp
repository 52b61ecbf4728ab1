// SPDX-License-Identifier: Apache-2.0
// Rule: see peer_process.h. The peer's path is compiled in by the build.
#include "peer_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

PeerProcess::PeerProcess() {
    int to_peer[2];
    int from_peer[2];
    if (pipe(to_peer) != 0 || pipe(from_peer) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
        dup2(to_peer[0], STDIN_FILENO);
        dup2(from_peer[1], STDOUT_FILENO);
        for (const int end : {to_peer[0], to_peer[1], from_peer[0], from_peer[1]})
            close(end);
        execl(SIMCUDA_PEER, SIMCUDA_PEER, static_cast<char*>(nullptr));
        _exit(127);
    }
    close(to_peer[0]);
    close(from_peer[1]);
    to_ = fdopen(to_peer[1], "w");
    from_ = fdopen(from_peer[0], "r");
}

PeerProcess::~PeerProcess() {
    std::fclose(to_);  // end of input ends the peer
    std::fclose(from_);
    if (pid_ != 0) waitpid(pid_, nullptr, 0);
}

void PeerProcess::tell(const std::string& line) {
    std::fprintf(to_, "%s\n", line.c_str());
    std::fflush(to_);
}

PeerProcess::Answer PeerProcess::ask(const std::string& line) {
    tell(line);
    Answer answer;
    char text[256];
    if (std::fscanf(from_, "%d %255s", &answer.result, text) == 2) answer.text = text;
    return answer;
}

void PeerProcess::kill_hard() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
}
