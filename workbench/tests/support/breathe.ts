// SPDX-License-Identifier: Apache-2.0
//
// For every test file. The rule: between two tests the worker answers vitest, which gives up on one that is silent for a minute: hundreds of tests
// that wait for nothing would be one long silence.
import { afterEach } from "vitest";

afterEach(() => new Promise<void>((resolve) => void setImmediate(resolve)));
