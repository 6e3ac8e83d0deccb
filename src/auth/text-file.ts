import { open } from 'node:fs/promises';
import { LecternError, type LecternErrorCode } from '../errors.js';

/** What {@link readTextFile} reads, and how it complains. */
export interface TextFileOptions {
  /** For messages: `key set /etc/keys.json`. */
  readonly name: string;
  readonly bytesMax: number;
  readonly code: LecternErrorCode;
}

/**
 * A small UTF-8 file of the service's configuration, read whole. A byte order mark is dropped.
 *
 * @throws LecternError with the given code and one line for people
 */
export async function readTextFile(path: string, options: TextFileOptions): Promise<string> {
  const { name, bytesMax, code } = options;
  try {
    const file = await open(path);
    try {
      const { size } = await file.stat();
      if (size > bytesMax) {
        throw new LecternError(code, `${name} has ${size} bytes; at most ${bytesMax} are read`);
      }
      const bytes = await file.readFile();
      return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    } finally {
      await file.close();
    }
  } catch (cause) {
    if (cause instanceof LecternError) throw cause;
    throw new LecternError(code, `${name} cannot be read: ${describeCause(cause)}`, { cause });
  }
}

function describeCause(cause: unknown): string {
  const code = (cause as NodeJS.ErrnoException).code;
  switch (code) {
    case 'ENOENT':
      return 'there is no such file';
    case 'EISDIR':
      return 'it is a directory';
    case 'EACCES':
      return 'permission denied';
    case 'ERR_ENCODING_INVALID_ENCODED_DATA':
      return 'it is not UTF-8 text';
    default:
      return code ?? String(cause);
  }
}
