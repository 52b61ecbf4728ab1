// SPDX-License-Identifier: Apache-2.0
//
// The incident that the page carries to learn with. The rule: it is opened by the same way as any page's parts, and is marked as made up.
import parts from "../../lesson/incident.json";
import type { Incident } from "../data/incident";
import { openIncident } from "../data/open";

export async function lessonIncident(): Promise<Incident> {
  return (await openIncident(new Map(Object.entries(parts)))).rest();
}
