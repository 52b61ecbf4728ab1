// SPDX-License-Identifier: Apache-2.0
//
// memsnap-replay: why did this GPU job run out of memory?
#include "cli.h"

int main(int argc, char** argv) {
    return memsnap::run_command_line(argc, argv);
}
