// SPDX-License-Identifier: Apache-2.0
//
// What the events table looks for. Other views set it to show events of a block or a site.
import { ofIncident } from "../session";

export const query = ofIncident("");
