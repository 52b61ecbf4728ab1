// SPDX-License-Identifier: Apache-2.0
//
// Standard error may be what cannot be written to, so nothing here throws.
#include "cli_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "result.h"

namespace memsnap {

void prepare_streams() {
    std::signal(SIGXFSZ, SIG_IGN);
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
        if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
        // Who closed standard error wants to hear nothing; the others go on failing.
        const int mode = stream == STDOUT_FILENO ? O_RDONLY : O_WRONLY;
        if (::open("/dev/null", mode | O_CLOEXEC) != stream) return;
    }
}

int flushed(int status) {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
    return cannot_write_output();
}

int cannot_write_output() {
    std::fputs("memsnap-replay: cannot write to standard output\n", stderr);
    return static_cast<int>(ErrorCode::io);
}

}  // namespace memsnap
