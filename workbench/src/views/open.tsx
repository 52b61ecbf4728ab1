// SPDX-License-Identifier: Apache-2.0
//
// Opening files: a button, a key, or dropping them anywhere on the page. The rule: nothing leaves the page; a file is looked at by its ends, read
// as a whole only when the page shows it, and answered with a command line when another program does.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { look, pairsOf, type Choice, type Look } from "./open_file";
import { counted } from "../parts/units";
import { opened } from "../session";
import { Command } from "./common";
import { problemText } from "./opening";
import "./open.css";

const kFilesAtOnce = 8;

const looks = signal<Look[] | null>(null); // null: nothing was asked for
const leftOut = signal(0); // files that were given and not looked at
const looking = signal(false);
const hovering = signal(false);

async function take(files: File[]): Promise<void> {
  if (files.length === 0) return; // what was dropped is no file, such as a folder of some browsers
  looking.value = true;
  leftOut.value = Math.max(0, files.length - kFilesAtOnce);
  const found: Look[] = [];
  for (const file of files.slice(0, kFilesAtOnce)) found.push(await look(file));
  looking.value = false;
  const [only] = found;
  // Where nothing is open there is nothing to choose.
  if (found.length === 1 && opened.value === null && only.choices.length > 0) await choose(only.choices[0], only);
  else looks.value = found;
}

async function choose(choice: Choice, from: Look): Promise<void> {
  try {
    await choice.run();
    looks.value = null;
  } catch (error) {
    looks.value = [{ ...from, facts: [problemText(error)], choices: [], pair: null, failed: true }];
  }
}

export function OpenButton({ label = "open" }: { label?: string }) {
  const input = useRef<HTMLInputElement>(null);
  const picked = async () => {
    const files = [...(input.current!.files ?? [])];
    input.current!.value = ""; // the same file may be chosen again
    await take(files);
  };
  return (
    <>
      <input ref={input} type="file" multiple hidden aria-hidden="true" tabIndex={-1} onChange={picked} />
      <button type="button" class="small open-button" aria-busy={looking.value} onClick={() => input.current!.click()}>
        {label}
      </button>
    </>
  );
}

// The key that keys.tsx lists.
export function pressOpen(): void {
  document.querySelector<HTMLElement>(".open-button")?.click();
}

function LookCard({ found }: { found: Look }) {
  return (
    <section class="card stack">
      <h3 class="wrap">{found.name}</h3>
      <p class={found.failed ? "notice" : ""}>{found.what}</p>
      {found.facts.length > 0 && (
        <ul>
          {found.facts.map((fact) => (
            <li>{fact}</li>
          ))}
        </ul>
      )}
      {found.command !== null && (
        <>
          <p class="quiet small">In the folder where the file lies, run</p>
          <Command text={found.command} />
        </>
      )}
      {found.choices.length > 0 && (
        <div class="row">
          {found.choices.map((choice) => (
            <button type="button" onClick={() => choose(choice, found)}>
              {choice.label}
            </button>
          ))}
        </div>
      )}
    </section>
  );
}

function Pairs({ found }: { found: Look[] }) {
  const choices = pairsOf(found);
  if (choices.length === 0) return null;
  return (
    <div class="stack">
      {choices.map((choice) => (
        <button type="button" class="wrap" onClick={() => choose(choice, found[0])}>
          {choice.label}
        </button>
      ))}
    </div>
  );
}

function carriesFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

export function DropTarget() {
  const dialog = useRef<HTMLDialogElement>(null);
  const shown = looks.value !== null;
  useEffect(() => {
    if (shown) dialog.current?.showModal();
    else dialog.current?.close();
  }, [shown]);
  useEffect(() => {
    const over = (event: DragEvent) => {
      if (!carriesFiles(event)) return;
      event.preventDefault(); // or the browser opens the file in place of this page
      hovering.value = true;
    };
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) hovering.value = false;
    };
    const drop = (event: DragEvent) => {
      if (!carriesFiles(event)) return;
      event.preventDefault();
      hovering.value = false;
      void take([...(event.dataTransfer?.files ?? [])]);
    };
    addEventListener("dragover", over);
    addEventListener("dragleave", leave);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("dragleave", leave);
      removeEventListener("drop", drop);
    };
  }, []);
  return (
    <>
      {hovering.value && (
        <div class="drop" aria-hidden="true">
          <p>Drop it here: a page, a receipt or a comparison opens; of anything else you are told what reads it. Nothing leaves this page.</p>
        </div>
      )}
      <dialog
        ref={dialog}
        class="opening stack"
        aria-labelledby="opening-title"
        onClose={() => {
          looks.value = null;
        }}
      >
        <div class="row between">
          <h2 id="opening-title">{(looks.value?.length ?? 0) > 1 ? "What these files are" : "What this file is"}</h2>
          <button
            type="button"
            onClick={() => {
              looks.value = null;
            }}
          >
            close
          </button>
        </div>
        <Pairs found={looks.value ?? []} />
        {(looks.value ?? []).map((found) => (
          <LookCard found={found} />
        ))}
        {leftOut.value > 0 && (
          <p class="notice">
            {counted(leftOut.value, "more file")} not looked at: {kFilesAtOnce} are at once.
          </p>
        )}
        <p class="quiet small">Files are read in this page only: it has no network, and its policy allows none.</p>
      </dialog>
    </>
  );
}
