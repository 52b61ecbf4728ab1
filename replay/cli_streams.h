// SPDX-License-Identifier: Apache-2.0
//
// The surroundings of what is written. The rule: a file or a stream that takes no more is an error that is
// said, never the process's end and never a success.
#pragma once

namespace memsnap {

// A file that may not grow (ulimit -f) fails like a full disk, and no other file takes the number of a stream
// that was closed.
void prepare_streams();

// The status, when everything that was printed is written; else that of an output error, which is said.
int flushed(int status);

// That status.
int cannot_write_output();

}  // namespace memsnap
