type Entry<Value> = { readonly value: Value; readonly bytes: number };

/**
 * A cache bounded in bytes. A full young generation replaces the old generation; hits in the old generation
 * move to the young one.
 */
export class GenerationalCache<Value> {
  readonly #generationBytesMax: number;
  #young = new Map<string, Entry<Value>>();
  #old = new Map<string, Entry<Value>>();
  #youngBytes = 0;
  #oldBytes = 0;

  constructor(bytesMax: number) {
    this.#generationBytesMax = Math.floor(bytesMax / 2);
  }

  get bytes(): number {
    return this.#youngBytes + this.#oldBytes;
  }

  get(key: string): Value | undefined {
    // An empty cache is not searched, because hashing a new key is most of the cost of a look-up.
    if (this.bytes === 0) return undefined;
    const young = this.#young.get(key);
    if (young !== undefined) return young.value;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old.value, old.bytes);
    return old?.value;
  }

  /** `bytes` is at least 1. Values larger than half of the bound are not kept. @returns whether the value is kept */
  set(key: string, value: Value, bytes: number): boolean {
    this.delete(key);
    if (bytes > this.#generationBytesMax) return false;
    if (this.#youngBytes + bytes > this.#generationBytesMax) {
      this.#old = this.#young;
      this.#oldBytes = this.#youngBytes;
      this.#young = new Map();
      this.#youngBytes = 0;
    }
    this.#young.set(key, { value, bytes });
    this.#youngBytes += bytes;
    return true;
  }

  delete(key: string): void {
    this.#youngBytes -= this.#young.get(key)?.bytes ?? 0;
    this.#oldBytes -= this.#old.get(key)?.bytes ?? 0;
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
