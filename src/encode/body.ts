/**
 * The body of an answer: one or more byte chunks to be written in order. Chunks may be views of the snapshot's shared
 * memory and must not be changed.
 */
export interface Body {
  readonly byteLength: number;
  readonly chunks: readonly Uint8Array[];
}
