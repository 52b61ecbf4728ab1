// SPDX-License-Identifier: Apache-2.0
//
// Other artifacts that a receipt names. Rule: what they hold is not looked at; only that each is named as the
// format says.
#pragma once

#include "examine.h"

namespace oracle {

/// The first of a receipt's references that is none.
std::optional<Difference> wrong_reference(const Json& references);

}  // namespace oracle
