/** The times that decide when a stream needs attention. */
export interface Watched {
  /** The end of the stream, on the clock of `Date.now`. */
  readonly endsAtMs: number;
  /** The last write, on the clock of `performance.now`. {@link StreamWatch.wrote} sets it. */
  wroteAtMs: number;
}

/**
 * Keeps streams sorted by the time at which they need attention, so that a regular check visits only streams
 * that need it now. Methods may be called during an iteration.
 */
export class StreamWatch<Stream extends Watched> {
  readonly #stepMs: number;
  /** The stream with the longest silence first. */
  readonly #byWrite = new Set<Stream>();
  readonly #unsure = new Set<Stream>();
  /** Streams by the check that will end them. */
  readonly #ending = new Map<number, Set<Stream>>();

  /** @param stepMs the time between two checks */
  constructor(stepMs: number) {
    this.#stepMs = stepMs;
  }

  add(stream: Stream): void {
    const step = this.#stepOf(stream.endsAtMs);
    const others = this.#ending.get(step);
    if (others === undefined) this.#ending.set(step, new Set([stream]));
    else others.add(stream);
    this.#byWrite.add(stream);
  }

  delete(stream: Stream): void {
    const step = this.#stepOf(stream.endsAtMs);
    const others = this.#ending.get(step);
    others?.delete(stream);
    if (others?.size === 0) this.#ending.delete(step);
    this.#byWrite.delete(stream);
    this.#unsure.delete(stream);
  }

  /** Call this when bytes were written to a stream. The client may not have taken the bytes yet. */
  wrote(stream: Stream, nowMs: number): void {
    stream.wroteAtMs = nowMs;
    this.#byWrite.delete(stream);
    this.#byWrite.add(stream);
    this.#unsure.add(stream);
  }

  /** Call this when the client has taken all bytes. */
  taken(stream: Stream): void {
    this.#unsure.delete(stream);
  }

  /** Streams whose client may not have taken all bytes. */
  unsure(): Iterable<Stream> {
    return this.#unsure;
  }

  /** Streams without a write after `sinceMs`. */
  *silent(sinceMs: number): Generator<Stream> {
    for (const stream of this.#byWrite) {
      if (stream.wroteAtMs > sinceMs) return;
      yield stream;
    }
  }

  /** @param clockMs the present time of `Date.now` */
  *ended(clockMs: number): Generator<Stream> {
    const present = Math.floor(clockMs / this.#stepMs);
    for (const [step, streams] of this.#ending) if (step <= present) yield* streams;
  }

  /** The number of the first check at or after this time. */
  #stepOf(endsAtMs: number): number {
    return Math.ceil(endsAtMs / this.#stepMs);
  }
}
