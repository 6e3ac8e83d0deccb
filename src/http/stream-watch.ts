/** What is watched of a stream. */
export interface Watched {
  /** By `Date.now`. */
  readonly endsAtMs: number;
  /** By `performance.now`. Set by {@link StreamWatch.wrote}. */
  wroteAtMs: number;
}

/** Keeps streams in the orders in which they need something, so that a look visits no others. Methods may be called during a walk. */
export class StreamWatch<Stream extends Watched> {
  readonly #stepMs: number;
  /** The longest silent first. */
  readonly #byWrite = new Set<Stream>();
  readonly #unsure = new Set<Stream>();
  /** By the number of the step in which they end. */
  readonly #ending = new Map<number, Set<Stream>>();

  /** @param stepMs the time between two looks */
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

  /** Something was written to it, of which its client may have taken nothing yet. */
  wrote(stream: Stream, nowMs: number): void {
    stream.wroteAtMs = nowMs;
    this.#byWrite.delete(stream);
    this.#byWrite.add(stream);
    this.#unsure.add(stream);
  }

  /** Its client has taken everything. */
  taken(stream: Stream): void {
    this.#unsure.delete(stream);
  }

  /** Streams of which it is not known that everything was taken. */
  unsure(): Iterable<Stream> {
    return this.#unsure;
  }

  /** Streams to which nothing was written after `sinceMs`. */
  *silent(sinceMs: number): Generator<Stream> {
    for (const stream of this.#byWrite) {
      if (stream.wroteAtMs > sinceMs) return;
      yield stream;
    }
  }

  /** @param clockMs by `Date.now` */
  *ended(clockMs: number): Generator<Stream> {
    const present = Math.floor(clockMs / this.#stepMs);
    for (const [step, streams] of this.#ending) if (step <= present) yield* streams;
  }

  /** The first step whose look comes after it. */
  #stepOf(endsAtMs: number): number {
    return Math.ceil(endsAtMs / this.#stepMs);
  }
}
