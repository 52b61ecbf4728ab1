// SPDX-License-Identifier: Apache-2.0
//
// Which symbols leave the library. The rule: everything is hidden by default; what is exported is listed by
// MEMSNAP_EXPORT here and by the versions in exports.map.
#pragma once

#define MEMSNAP_EXPORT __attribute__((visibility("default")))
