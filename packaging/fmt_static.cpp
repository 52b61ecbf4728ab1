// SPDX-License-Identifier: Apache-2.0
//
// fmt's functions for programs that are linked statically. The rule: the headers define them inline, the
// build keeps them all (meson.build), and what is a template there is used once here.
#include <fmt/format.h>

#include <string>

std::string every_template_of_fmt();

std::string every_template_of_fmt() {
    return fmt::format("{} {} {:L} {:L}", 0.0, 0.0F, 0, 0.0);
}
