import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { READ_CHUNK_BYTES } from '../../limits.js';
import { malformed } from './reader.js';

/**
 * Unpacks gzip data (RFC 1952), one member or several. What is behind the last member must be zeros.
 *
 * @throws LecternError `source-malformed` where the data is corrupt or ends early; what `chunks` throws comes through
 */
export async function* gunzip(sourceName: string, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let given = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      given += chunk.length;
      yield chunk;
    }
  }
  const packed = Readable.from(counted(), { objectMode: false, highWaterMark: READ_CHUNK_BYTES });
  const plain = createGunzip({ chunkSize: READ_CHUNK_BYTES });
  // A failure of either end comes out of the iteration below, so the callback has nothing to tell.
  pipeline(packed, plain, () => {});
  try {
    for await (const chunk of plain) yield chunk as Buffer;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code === 'Z_BUF_ERROR') {
      const problem = `the gzip data ends early, after ${given} bytes; expected the rest of it`;
      throw malformed(sourceName, problem, error);
    }
    if (typeof code === 'string' && code.startsWith('Z_')) {
      const problem = `the gzip data is corrupt within its first ${given} bytes (${(error as Error).message})`;
      throw malformed(sourceName, problem, error);
    }
    throw error;
  }
}
