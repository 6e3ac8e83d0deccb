/** V8 hashes texts of up to ten digits as the number that they are, before its releases of 2026 without its seed. */
const DIGITS_MAX = 10;

/**
 * Remembers something for texts that come again and again: a Map that is emptied when it is full. Texts whose hash in V8
 * depends on no secret could be made to collide and are left out: short ones that begin with a digit, and long ones, which
 * V8 hashes by their length beyond 16,383 units.
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
