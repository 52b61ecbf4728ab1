// SPDX-License-Identifier: Apache-2.0
//
// A file of the repository as a text, put in when the page is built.
declare module "*?raw" {
  const text: string;
  export default text;
}
