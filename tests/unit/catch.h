// SPDX-License-Identifier: Apache-2.0
//
// Catch2 under one name: version 3 (Debian 13) and the one header of version 2 (Debian 12).
#pragma once

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers_all.hpp>
using Catch::Matchers::ContainsSubstring;
#else
#include <catch2/catch.hpp>
inline auto ContainsSubstring(const std::string& part) {
    return Catch::Matchers::Contains(part);
}
#endif
