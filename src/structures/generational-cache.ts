/**
 * A cache with a bound in bytes. Two generations of a Map: new entries go into the young one; when it holds half of the
 * bound it becomes the old one, and the old one is dropped whole. A hit in the old generation moves the entry to the young
 * one. Close to least-recently-used, with no list to maintain and nothing to scan.
 */
export class GenerationalCache<Value> {
  readonly #generationBytesMax: number;
  #young = new Map<string, { readonly value: Value; readonly bytes: number }>();
  #old = this.#young;
  #youngBytes = 0;
  #oldBytes = 0;

  /** @param bytesMax of everything that is kept, as `set` is told */
  constructor(bytesMax: number) {
    this.#generationBytesMax = Math.floor(bytesMax / 2);
    this.#old = new Map();
  }

  get bytes(): number {
    return this.#youngBytes + this.#oldBytes;
  }

  get(key: string): Value | undefined {
    // To look for a key that was never seen costs its hash, which is most of a look-up.
    if (this.#youngBytes === 0 && this.#oldBytes === 0) return undefined;
    const young = this.#young.get(key);
    if (young !== undefined) return young.value;
    const old = this.#old.get(key);
    if (old === undefined) return undefined;
    this.set(key, old.value, old.bytes);
    return old.value;
  }

  /** Keeps a value of at least one byte, in place of the one that the key had. One of more than half of the bound is not taken. */
  set(key: string, value: Value, bytes: number): void {
    this.#delete(key);
    if (bytes > this.#generationBytesMax) return;
    if (this.#youngBytes + bytes > this.#generationBytesMax) {
      this.#old = this.#young;
      this.#oldBytes = this.#youngBytes;
      this.#young = new Map();
      this.#youngBytes = 0;
    }
    this.#young.set(key, { value, bytes });
    this.#youngBytes += bytes;
  }

  #delete(key: string): void {
    const young = this.#young.get(key);
    const old = this.#old.get(key);
    if (young !== undefined) this.#youngBytes -= young.bytes;
    if (old !== undefined) this.#oldBytes -= old.bytes;
    this.#young.delete(key);
    this.#old.delete(key);
  }

  clear(): void {
    this.#young = new Map();
    this.#old = new Map();
    this.#youngBytes = 0;
    this.#oldBytes = 0;
  }
}
