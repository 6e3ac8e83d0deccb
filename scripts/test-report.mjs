/** Reports tests without control codes: a line for each finished file or test, then skips, failures and counts. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Parser } from 'tap-parser';

/** Differences of large values are cut, because their beginning is the most useful. */
const DETAIL_LINES_MAX = 40;
/** Tests whose times are printed. */
const SLOWEST = Number(process.env.SLOWEST ?? 10);

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** A position in a compiled test, or in a module of the build. */
const COMPILED = /(?:\.tests|dist)\/[\w./-]+\.js/;
const INLINE_MAP = /^\/\/# sourceMappingURL=data:application\/json;base64,(.*)$/m;

/** The outcome of a run of tests. */
export class Report {
  #write;
  #failures = [];
  #notRun = [];
  /** The tests of all files, with their times. */
  #timed = [];
  #passed = 0;
  #files = 0;
  #processorSeconds = 0;
  #beganMs = performance.now();

  /** @param {(text: string) => void} write */
  constructor(write) {
    this.#write = write;
  }

  get failed() {
    return this.#failures.length;
  }

  /**
   * Reads the TAP of a started test program until the program has ended.
   *
   * @param {import('node:child_process').ChildProcess} child
   * @param {string} file the name of its file or folder
   * @param {{ tellsTests: boolean, used?: Promise<number> }} options whether each of its tests gets a line, or only
   * the file; the seconds of processor time that it used, known when it has ended
   */
  async read(child, file, { tellsTests, used }) {
    const beganMs = performance.now();
    const ended = once(child, 'close');
    const parser = new Parser();
    const total = this.#follow(parser, [file], tellsTests);
    const completed = new Promise((resolve) => parser.once('complete', resolve));
    for await (const chunk of child.stdout) parser.write(chunk);
    parser.end();
    const { count, ok, failures } = await completed;
    const [code, signal] = await ended;
    if (count === 0) this.#fail(file, 'no test ran', total);
    // A wrong plan, or incomplete output.
    else if (!ok && total.failed === 0)
      this.#fail(file, failures[0]?.tapError ?? 'its output is broken', total);
    if (code !== 0 && total.failed === 0) this.#fail(file, `ended with ${code ?? signal}`, total);
    this.#passed += total.passed;
    this.#files++;
    if (tellsTests) return;
    const seconds = (await used) ?? Number.NaN;
    this.#processorSeconds += seconds;
    this.#tell(file, { time: performance.now() - beganMs, seconds }, total);
  }

  #fail(file, name, total) {
    total.failed++;
    this.#failures.push({ path: [file, name], details: [] });
  }

  /** Prints the failures, the skipped tests, and the counts in the last line. */
  finish() {
    if (this.#notRun.length > 0) this.#write('\nNot run here:\n');
    for (const { path, reason } of this.#notRun) this.#write(`  ${path[0]}: ${reason}\n`);
    if (this.#failures.length > 0) this.#write('\nFailed:\n');
    for (const { path, at, details } of this.#failures) {
      const [program, ...names] = path;
      const file = at?.endsWith('.test.ts') ? at : program;
      const title = names.join(' > ');
      const lines = details.map((line) => `      ${line}\n`);
      this.#write(`  ${title === '' ? file : `${file}: ${title}`}\n${lines.join('')}`);
    }
    if (this.#timed.length > SLOWEST) {
      this.#write('\nThe slowest tests:\n');
      for (const { path, ms } of this.#timed.sort((a, b) => b.ms - a.ms).slice(0, SLOWEST))
        this.#write(`  ${(ms / 1000).toFixed(1)} s  ${path.join(': ')}\n`);
    }
    const files = `${this.#files} ${this.#files === 1 ? 'file' : 'files'}`;
    const seconds = ((performance.now() - this.#beganMs) / 1000).toFixed(1);
    const notRun = this.#notRun.length === 0 ? '' : `, ${this.#notRun.length} not run`;
    const used =
      this.#processorSeconds > 0 ? ` (${this.#processorSeconds.toFixed(0)} s of processor time)` : '';
    this.#write(
      `\n${files} in ${seconds} s${used}: ${this.#passed} passed, ${this.failed} failed${notRun}\n`,
    );
  }

  /**
   * @param {boolean} isTold whether each result is printed at once
   * @returns {{ passed: number, failed: number }} filled by the parser
   */
  #follow(parser, path, isTold) {
    const total = { passed: 0, failed: 0 };
    /** Counts of the last group; the next line says how the group ended. */
    let group = null;
    parser.on('child', (child) => {
      group = this.#follow(child, [...path, child.name.trim()], false);
    });
    parser.on('assert', (result) => {
      const counts = group ?? { passed: 0, failed: 0 };
      const name = result.name.trim();
      if (result.skip) this.#notRun.push({ path: [...path, name], reason: reasonOf(result, name) });
      // If a group failed but none of its parts did, the cause is its time limit, its plan, or the end of its process.
      else if (!result.ok && !result.todo && counts.failed === 0) {
        const diag = result.diag ?? {};
        this.#failures.push({
          path: [...path, name],
          at: positionOf(diag.at)?.fileName,
          details: detailsOf(diag),
        });
        counts.failed++;
      } else if (result.ok && group === null) counts.passed++;
      group = null;
      if (path.length === 1) this.#timed.push({ path: [...path, name], ms: result.time ?? 0 });
      total.passed += counts.passed;
      total.failed += counts.failed;
      if (isTold) this.#tell(name, result, counts);
    });
    return total;
  }

  #tell(name, { skip, time, seconds = Number.NaN }, { passed, failed }) {
    if (skip) {
      this.#write(`not run  ${name}\n`);
      return;
    }
    const counts = failed > 0 ? `${passed} passed, ${failed} failed` : `${passed} passed`;
    const took = typeof time === 'number' ? `, ${(time / 1000).toFixed(1)} s` : '';
    const used = Number.isNaN(seconds) ? '' : `, ${seconds.toFixed(1)} s of processor time`;
    this.#write(`${failed > 0 ? 'FAILED ' : 'ok     '}  ${name} (${counts}${took}${used})\n`);
  }
}

const reasonOf = ({ skip }, name) => (typeof skip === 'string' && skip !== name ? `${name}: ${skip}` : name);

/**
 * Where a compiled position is in the source. Programs do not map it themselves (--enable-source-maps): each would read
 * the maps of all its modules, which takes a tenth of its processor time.
 */
function positionOf(at) {
  if (at?.fileName === undefined || !COMPILED.test(at.fileName)) return at;
  try {
    const text = readFileSync(join(ROOT, at.fileName), 'utf8');
    const inline = INLINE_MAP.exec(text)?.[1];
    const payload =
      inline === undefined
        ? readFileSync(join(ROOT, `${at.fileName}.map`), 'utf8')
        : Buffer.from(inline, 'base64').toString();
    const { originalSource, originalLine } = new SourceMap(JSON.parse(payload)).findEntry(
      at.lineNumber - 1,
      (at.columnNumber ?? 1) - 1,
    );
    const fileName = join(at.fileName, '..', originalSource);
    return { fileName, lineNumber: originalLine + 1 };
  } catch {
    return at;
  }
}

/** A line of a stack, with positions in the source. */
const mappedLine = (line) =>
  line.replace(new RegExp(`(${COMPILED.source}):(\\d+):(\\d+)`), (_, fileName, lineNumber, columnNumber) => {
    const at = positionOf({ fileName, lineNumber: Number(lineNumber), columnNumber: Number(columnNumber) });
    return `${at.fileName}:${at.lineNumber}`;
  });

/** The position of a failure, with the expected and the actual value. */
function detailsOf({
  at: compiledAt,
  diff,
  found,
  wanted,
  error,
  stack,
  exitCode,
  signal,
  timeout,
  message,
}) {
  const at = positionOf(compiledAt);
  const lines = [];
  if (at?.fileName !== undefined) lines.push(`at ${at.fileName}:${at.lineNumber}`);
  if (diff !== undefined) lines.push(...diff.trimEnd().split('\n'));
  else if (found !== undefined || wanted !== undefined) {
    lines.push(`found ${JSON.stringify(found)}, wanted ${JSON.stringify(wanted)}`);
  }
  const cause = message ?? error;
  if (cause !== undefined) lines.push(...String(cause?.message ?? cause).split('\n'));
  if (timeout !== undefined) lines.push(`timed out after ${timeout} ms`);
  if (exitCode !== undefined) lines.push(`its process ended with ${exitCode}`);
  if (signal) lines.push(`its process ended by ${signal}`);
  if (at?.fileName === undefined && typeof stack === 'string')
    lines.push(...stack.trimEnd().split('\n').map(mappedLine));
  if (lines.length <= DETAIL_LINES_MAX) return lines;
  return [...lines.slice(0, DETAIL_LINES_MAX), `… ${lines.length - DETAIL_LINES_MAX} more lines`];
}
