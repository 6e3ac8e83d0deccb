import { type GenerateOptions, generateEvents } from '../generate/events.js';
import { writeNdjson } from '../generate/write.js';
import { isWriteFailure } from './output.js';

/** `lectern generate`: NDJSON on standard output, as fast as its reader takes it. */
export async function generate(options: GenerateOptions): Promise<void> {
  try {
    await writeNdjson(generateEvents(options), process.stdout);
  } catch (error) {
    if (!isWriteFailure(error)) throw error;
  }
}
