// SPDX-License-Identifier: Apache-2.0
//
// The main function of every Catch2 test program where the library does not bring one (version 2).
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
