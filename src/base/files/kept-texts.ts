import { createHash } from 'node:crypto';
import { isNotRegular } from './file-calls.js';
import type { FileKind, KeptFile, Take } from './kept-files.js';
import { readTextFile, readTextFileNow, type TextFileOptions } from './text-file.js';

/** A text file: its path, its name in messages, its largest size, and the code of its faults. */
export interface KeptText extends TextFileOptions {
  readonly path: string;
}

/** Text files that are read together. `check` gets their texts in order and throws a LecternError for bad ones. */
export function keptTexts(
  kind: FileKind,
  files: readonly KeptText[],
  check: (texts: readonly string[]) => Take,
): KeptFile {
  /** Texts of pipes, which can be read only once. */
  const pipes = new Map<string, string>();
  let taken: string | null = null;

  async function read(file: KeptText): Promise<string> {
    const known = pipes.get(file.path);
    if (known !== undefined) return known;
    // Pipes are given at the start.
    const isPipe = taken === null && isNotRegular(file.path);
    const text = await readTextFile(file.path, file);
    if (isPipe) pipes.set(file.path, text);
    return text;
  }

  function takeOf(texts: readonly string[]): Take | null {
    const hash = createHash('sha256');
    for (const text of texts) hash.update(`${text.length}:`).update(text);
    const digest = hash.digest('base64url');
    if (digest === taken) return null;
    const take = check(texts);
    return () => {
      take();
      taken = digest;
    };
  }

  return {
    kind,
    paths: files.map(({ path }) => path),
    read: async () => takeOf(await Promise.all(files.map(read))),
    readNow: () => takeOf(files.map((file) => readTextFileNow(file.path, file))),
  };
}
