interface Entry<Value> {
  readonly value: Value;
  readonly bytes: number;
}

/**
 * A cache with a bound in bytes, in two generations. New entries go into the young one; once it holds half of the bound it
 * becomes the old one, and the old one is dropped whole. A hit in the old generation moves the entry to the young one.
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
    // The hash of a new key is most of the cost of a look-up.
    if (this.bytes === 0) return undefined;
    const young = this.#young.get(key);
    if (young !== undefined) return young.value;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old.value, old.bytes);
    return old?.value;
  }

  /** Keeps a value of at least one byte, in place of the key's last one. A value of more than half of the bound is not kept. */
  set(key: string, value: Value, bytes: number): void {
    this.#youngBytes -= this.#young.get(key)?.bytes ?? 0;
    this.#oldBytes -= this.#old.get(key)?.bytes ?? 0;
    this.#young.delete(key);
    this.#old.delete(key);
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

  clear(): void {
    this.#young = new Map();
    this.#old = new Map();
    this.#youngBytes = 0;
    this.#oldBytes = 0;
  }
}
