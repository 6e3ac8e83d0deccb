/** Before 2026 V8 hashed texts of up to ten digits without its seed. */
const DIGITS_MAX = 10;

/**
 * A Map that is emptied when full. Texts that V8 hashes without a secret could be made to collide, so they
 * are left out: short texts that begin with a digit, and texts over 16,383 units, which V8 hashes by length.
 */
export class TextMemo<Value> {
  readonly #entriesMax: number;
  readonly #unitsMax: number;
  readonly #known = new Map<string, Value>();

  /** @param unitsMax UTF-16 units of one text, at most 16,383 */
  constructor(entriesMax: number, unitsMax: number) {
    this.#entriesMax = entriesMax;
    this.#unitsMax = unitsMax;
  }

  get(text: string): Value | undefined {
    return this.#takes(text) ? this.#known.get(text) : undefined;
  }

  set(text: string, value: Value): void {
    if (!this.#takes(text)) return;
    if (this.#known.size >= this.#entriesMax) this.#known.clear();
    this.#known.set(text, value);
  }

  #takes(text: string): boolean {
    if (text.length > DIGITS_MAX) return text.length <= this.#unitsMax;
    const unit = text.charCodeAt(0);
    return !(unit >= 0x30 && unit <= 0x39);
  }
}
