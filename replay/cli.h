// SPDX-License-Identifier: Apache-2.0
//
// The command line: options in, exit status out.
#pragma once

namespace memsnap {

int run_command_line(int argc, char** argv);

}  // namespace memsnap
