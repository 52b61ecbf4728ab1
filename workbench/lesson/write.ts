// SPDX-License-Identifier: Apache-2.0
//
// Writes incident.json, which the page carries: `npm run lesson`.
import { writeFileSync } from "node:fs";
import { kIncident, lessonParts } from "./make";

writeFileSync(kIncident, `${JSON.stringify(lessonParts(), null, 1)}\n`);
process.stdout.write(`${kIncident}\n`);
