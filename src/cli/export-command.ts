import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type FileHandle, open, realpath, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, extname } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import type { Answer } from '../answer/answer.js';
import { invalidParameters } from '../answer/object-form.js';
import { type ParameterPairs, type ParseOptions, STRICT } from '../answer/parameters.js';
import { openTimetable } from '../app/timetable.js';
import type { Timetable } from '../app/timetable-interface.js';
import { LecternError, optionInvalid } from '../base/errors.js';
import { FORMATS, type FormatName } from '../base/model/format.js';
import { anyOf } from '../options/kinds.js';
import type { ReadingSettings } from '../options/option-types.js';
import { quoted, removeAbandoned } from '../snapshot/abandoned-files.js';
import { EXIT_FAILURE, isWriteFailure, writeError } from './faults.js';
import { readSource } from './named-source.js';
import { printable } from './printable.js';
import { readScheduleRequest } from './schedule-request.js';
import { COMMAND_SIGNALS, endBySignal, listenForSignals, type SignalListener } from './signals.js';
import {
  createProgressLine,
  describeRejections,
  formatBytes,
  formatCount,
  formatCountOf,
} from './wording.js';

/** Bytes between two checks for signals; each check also updates the progress line. */
const PIECE_BYTES = 1024 * 1024;

export interface ExportOptions {
  /** The format. By default, the name of the file decides. */
  readonly format: FormatName | undefined;
  /** The path of a file. Default: standard output. */
  readonly output: string | undefined;
}

type ProgressLine = ReturnType<typeof createProgressLine>;

/**
 * `lectern export` writes the events of one query. The command checks the query before it reads the source.
 *
 * @param request a query string of GET /schedule, or a path or address with one
 * @returns the exit code
 */
export async function exportEvents(
  source: string,
  request: string,
  reading: ReadingSettings,
  { format: given, output }: ExportOptions,
): Promise<number> {
  const format = given ?? formatOfName(output);
  const { name, rules, options: opening } = await readSource(source, reading);
  const { identifiers, timeZone } = rules;
  const options = { ...STRICT, timeZone };
  const { pairs } = readScheduleRequest(request, options, identifiers, 'exported', ['schedule']);
  if (pairs.some(([name]) => name === 'format')) {
    throw optionInvalid('the query names a format; give it as --format');
  }
  // Registered before the file is created, because a signal could otherwise leave the file behind.
  const signals = listenForSignals(COMMAND_SIGNALS);
  const file = output === undefined ? null : await openOutput(output);
  if (typeof file === 'number') {
    signals.stop();
    return file;
  }
  const progress = createProgressLine(name);
  const timetable = openTimetable({
    ...opening,
    watch: false,
    gate: false,
    onProgress: progress.update,
  });
  try {
    const summary = await Promise.race([timetable.ready, signals.first]);
    if (typeof summary === 'string') return EXIT_FAILURE;
    progress.clear();
    for (const line of describeRejections(summary)) writeError(line);
    const answer = answerOf(timetable, pairs, options, format);
    const bytes = await write(answer, file, signals, progress);
    if (bytes === null) return EXIT_FAILURE;
    await file?.finish();
    progress.clear();
    if (output !== undefined) writeError(describe(answer, bytes, output));
    return 0;
  } catch (error) {
    progress.clear();
    if (output === undefined && isWriteFailure(error)) return 0;
    if (output === undefined || !isSystemError(error)) throw error;
    return tellUnwritten(output, error);
  } finally {
    progress.clear();
    signals.stop();
    await file?.abandon();
    await timetable.close();
    if (signals.received !== null) endBySignal(signals.received);
  }
}

const FORMAT_NAMES: readonly FormatName[] = FORMATS.map(({ name }) => name);

function formatOfName(output = ''): FormatName {
  const ending = extname(output).slice(1).toLowerCase();
  const format = FORMAT_NAMES.find((name) => name === ending);
  if (format !== undefined) return format;
  throw optionInvalid(
    `the format is not known: give --format ${anyOf(FORMAT_NAMES)}, or an --output file with such an ending`,
  );
}

/**
 * Opens the file before the load, so that no load is wasted on an unwritable file. @returns the exit code if
 * it cannot be opened
 */
async function openOutput(path: string): Promise<OutputFile | number> {
  try {
    return await OutputFile.open(path);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return tellUnwritten(path, error);
  }
}

function answerOf(
  timetable: Timetable,
  pairs: ParameterPairs,
  options: ParseOptions,
  format: FormatName,
): Answer {
  const { view } = timetable;
  if (view === null) throw new LecternError('not-ready', 'the timetable is not loaded');
  const result = view.schedule(pairs, options);
  if ('faults' in result) throw invalidParameters(result.faults);
  if (!('read' in result)) throw new Error('lists of events always exist');
  return result.read.execute(format);
}

/** @returns the bytes, or null after a signal */
async function write(
  { body }: Answer,
  file: OutputFile | null,
  signals: SignalListener,
  progress: ProgressLine,
): Promise<number | null> {
  let written = 0;
  const decoder = process.stdout.isTTY ? new StringDecoder() : null;
  for (const chunk of body.makeChunks()) {
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      const piece = chunk.subarray(at, at + PIECE_BYTES);
      if (file !== null) await file.write(piece);
      else if (!process.stdout.write(decoder === null ? piece : printable(decoder.write(piece))))
        await Promise.race([once(process.stdout, 'drain'), signals.first]);
      if (signals.received !== null) return null;
      written += piece.length;
      progress.show(() => `Writing: ${formatBytes(written)}`);
    }
  }
  return written;
}

function describe({ count, total }: Answer, bytes: number, output: string): string {
  const events =
    count === total
      ? formatCountOf(total, 'event')
      : `${formatCount(count)} of ${formatCountOf(total, 'event')}`;
  return `${events}, ${formatBytes(bytes)}, to ${output}`;
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}

function tellUnwritten(path: string, { code, message }: NodeJS.ErrnoException): number {
  const reasons: Readonly<Record<string, string>> = {
    EACCES: 'permission denied',
    EISDIR: 'it is a folder',
    ENOENT: 'there is no such folder',
    ENOSPC: 'no space is left on the device',
    EROFS: 'the file system is read-only',
  };
  writeError(`error: cannot write ${path}: ${reasons[code ?? ''] ?? message}`);
  return EXIT_FAILURE;
}

/** Replaces a file once the new content is complete. Devices and pipes are written directly. */
class OutputFile {
  readonly #path: string;
  readonly #file: FileHandle;
  /** The temporary name until the file is complete; null for devices and pipes. */
  readonly #unfinished: string | null;

  private constructor(path: string, file: FileHandle, unfinished: string | null) {
    this.#path = path;
    this.#file = file;
    this.#unfinished = unfinished;
  }

  static async open(named: string): Promise<OutputFile> {
    // The target of a link is replaced, not the link.
    const path = await realpath(named).catch(() => named);
    const present = await stat(path).catch(() => null);
    if (present?.isDirectory())
      throw Object.assign(new Error('it is a folder'), { code: 'EISDIR', syscall: 'open' });
    if (present !== null && !present.isFile()) return new OutputFile(path, await open(path, 'w'), null);
    removeAbandoned(dirname(path), new RegExp(`^${quoted(basename(path))}\\.[0-9a-f]{16}\\.unfinished$`));
    const unfinished = `${path}.${randomBytes(8).toString('hex')}.unfinished`;
    const file = await open(unfinished, 'wx', present?.mode);
    return new OutputFile(path, file, unfinished);
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await this.#file.write(bytes, at);
      at += bytesWritten;
    }
  }

  async finish(): Promise<void> {
    if (this.#unfinished !== null) await this.#file.sync();
    await this.#file.close();
    if (this.#unfinished !== null) await rename(this.#unfinished, this.#path);
  }

  /** Gives up the new content, so that the file to replace stays unchanged. */
  async abandon(): Promise<void> {
    await this.#file.close().catch(() => {});
    if (this.#unfinished !== null) await unlink(this.#unfinished).catch(() => {});
  }
}
