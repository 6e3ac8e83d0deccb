/** `empty`, `shrunk` and `rejected` are said of a whole set, the others of a load that was given up before its end. */
export type RefusalCode = 'empty' | 'shrunk' | 'rejected' | 'grown' | 'events' | 'memory';

/** Why a snapshot was not published. */
export interface Refusal {
  /** Why, for programs. */
  readonly code: RefusalCode;
  /** One sentence with the numbers. */
  readonly detail: string;
}

/** Ends a load that is refused before its end. It passes through sources as anything that a sink throws. */
export class RefusedLoad extends Error {
  override readonly name = 'RefusedLoad';
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.detail);
    this.refusal = refusal;
  }
}
