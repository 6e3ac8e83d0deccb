import { isUtf8 } from 'node:buffer';
import { LecternError } from '../errors.js';
import { TEXT_FILE_MS_MAX } from '../limits.js';
import { describeJsonFault } from '../model/json-fault.js';
import { FilePatience, FilePieces, fileUnreadable } from './open-file.js';

/**
 * @param name for messages
 * @param form of the object, such as `{"name": "identifier"}`
 * @throws LecternError `source-unreadable`; `source-malformed` for another value
 */
export async function readJsonObject(
  path: string,
  { name, form, bytesMax }: { name: string; form: string; bytesMax: number },
): Promise<Readonly<Record<string, unknown>>> {
  let value: unknown;
  try {
    const bytes = await readBytes(path, name, bytesMax);
    if (!isUtf8(bytes)) throw new Error('it is not UTF-8 text');
    const text = bytes.toString('utf8').replace(/^\ufeff/, '');
    try {
      value = JSON.parse(text);
    } catch (cause) {
      throw new Error(`it is not JSON: ${describeJsonFault(text)}`, { cause });
    }
  } catch (error) {
    throw error instanceof LecternError ? error : fileUnreadable(name, error);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new LecternError('source-malformed', `${name}: expected an object of the form ${form}`);
}

async function readBytes(path: string, name: string, bytesMax: number): Promise<Buffer> {
  const patience = new FilePatience(path, { totalMsMax: TEXT_FILE_MS_MAX }, name);
  return patience.use(async (handle) => {
    const { size } = await patience.wait(handle.stat());
    if (size > bytesMax) throw new Error(`it has ${size} bytes; expected at most ${bytesMax}`);
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of patience.pieces(new FilePieces(name, handle).read())) {
      length += chunk.length;
      if (length > bytesMax) throw new Error(`it has more than ${bytesMax} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks, length);
  });
}
