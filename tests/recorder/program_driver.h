// SPDX-License-Identifier: Apache-2.0
//
// The scenarios of the recorded program that call the driver.
#pragma once

// Handles, mappings, and what the resolvers answer.
void driver(long);
// What was made in a context ends with it: `count` objects in the program's own one, one in the primary one.
void contexts(long count);
