import { EventEmitter } from 'node:events';

/**
 * The listeners of an embedding program. They are its code, so they may throw: the others are told all the same, and
 * whoever announces goes on. What a listener throws, or a promise of its rejects with, is told to the listeners of
 * `error`; where there are none, or one of them threw it, it becomes a warning of the process.
 */
export class Listeners<Events extends { readonly [Name in keyof Events]: readonly unknown[] }> {
  readonly #emitter = new EventEmitter();

  /** A listener that is added twice is told twice. */
  add<Name extends keyof Events & string>(name: Name, listener: (...event: Events[Name]) => void): void {
    this.#emitter.on(name, listener);
  }

  remove<Name extends keyof Events & string>(name: Name, listener: (...event: Events[Name]) => void): void {
    this.#emitter.off(name, listener);
  }

  /** Tells everybody who listens at this moment. Never throws. */
  tell<Name extends keyof Events & string>(name: Name, ...event: Events[Name]): void {
    this.#tell(name, event);
  }

  /**
   * For another callback of the program, which may be asynchronous though nobody waits for it: what its promise rejects
   * with is told as if it came from a listener.
   *
   * @param returned what it returned
   */
  heed(callback: string, returned: unknown): void {
    if (returned instanceof Promise) {
      returned.catch((thrown: unknown) => this.#report('', `${callback} failed`, thrown));
    }
  }

  #tell(name: string, event: readonly unknown[]): void {
    for (const listener of this.#emitter.listeners(name)) {
      try {
        const returned: unknown = listener(...event);
        if (returned instanceof Promise) returned.catch((thrown: unknown) => this.#failed(name, thrown));
      } catch (thrown) {
        this.#failed(name, thrown);
      }
    }
  }

  #failed(name: string, thrown: unknown): void {
    this.#report(name, `a listener of '${name}' threw`, thrown);
  }

  #report(name: string, problem: string, thrown: unknown): void {
    const message = `${problem}: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
    if (name !== 'error' && this.#emitter.listenerCount('error') > 0) {
      this.#tell('error', [new Error(message, { cause: thrown })]);
      return;
    }
    const detail = thrown instanceof Error ? thrown.stack : undefined;
    process.emitWarning(message, { type: 'LecternWarning', ...(detail === undefined ? {} : { detail }) });
  }
}
