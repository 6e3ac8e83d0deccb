import { EventEmitter } from 'node:events';

/**
 * The listeners of an embedding program. If a listener throws, the others are still called. If a listener
 * throws or rejects, the error goes to the `error` listeners. Without `error` listeners, or if one of these
 * throws, the error becomes a process warning.
 */
export class Listeners<Events extends { readonly [Name in keyof Events]: readonly unknown[] }> {
  readonly #emitter = new EventEmitter();

  add<Name extends keyof Events & string>(name: Name, listener: (...event: Events[Name]) => void): void {
    this.#emitter.on(name, listener);
  }

  remove<Name extends keyof Events & string>(name: Name, listener: (...event: Events[Name]) => void): void {
    this.#emitter.off(name, listener);
  }

  /** Calls every present listener. Never throws. */
  tell<Name extends keyof Events & string>(name: Name, ...event: Events[Name]): void {
    this.#tell(name, event);
  }

  /** Reports the rejection of a promise from another callback of the program, as for a listener. */
  heed(callback: string, returned: unknown): void {
    if (!(returned instanceof Promise)) return;
    returned.catch((thrown: unknown) => this.#report('', `${callback} failed`, thrown));
  }

  #tell(name: string, event: readonly unknown[]): void {
    const failed = (thrown: unknown): void => this.#report(name, `a listener of '${name}' threw`, thrown);
    for (const listener of this.#emitter.listeners(name)) {
      try {
        const returned: unknown = listener(...event);
        if (returned instanceof Promise) returned.catch(failed);
      } catch (thrown) {
        failed(thrown);
      }
    }
  }

  #report(name: string, problem: string, thrown: unknown): void {
    const message = `${problem}: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
    if (name !== 'error' && this.#emitter.listenerCount('error') > 0) {
      this.#tell('error', [new Error(message, { cause: thrown })]);
      return;
    }
    const detail = thrown instanceof Error && { detail: `${thrown.stack}` };
    process.emitWarning(message, { type: 'LecternWarning', ...detail });
  }
}
