/** The part of autocannon that the tests use; it ships no types. */
declare module 'autocannon' {
  import type { EventEmitter } from 'node:events';

  export interface Options {
    readonly url: string;
    readonly connections: number;
    /** Seconds. */
    readonly duration: number;
    /** Requests a second over all connections. */
    readonly overallRate?: number;
    readonly headers?: Readonly<Record<string, string>>;
  }

  export interface Result {
    readonly requests: { readonly total: number };
    readonly errors: number;
    readonly timeouts: number;
    readonly resets: number;
    readonly non2xx: number;
  }

  export interface Instance extends EventEmitter, PromiseLike<Result> {
    stop(): void;
  }

  export default function autocannon(options: Options): Instance;
}
