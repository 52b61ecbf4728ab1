// SPDX-License-Identifier: Apache-2.0
//
// The name book of an incident, made once.
import type { Names } from "../data/incident";
import { NameBook } from "../data/names";

const books = new WeakMap<Names, NameBook>();

export function book(incident: { names: Names }): NameBook {
  let found = books.get(incident.names);
  if (found === undefined) {
    found = new NameBook(incident.names);
    books.set(incident.names, found);
  }
  return found;
}
