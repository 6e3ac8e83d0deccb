/** Hides one Node internal from all code except Node's own, on every later server and connection. */
import { EventEmitter } from 'node:events';
import { Server } from 'node:http';
import type { Internal } from '../../../../src/http/node/internals.js';

export interface Taken {
  part: Internal | null;
  /** The value found instead. */
  instead: unknown;
}

/** Whether Node itself read the accessor. */
function isAskedByNode(): boolean {
  const { prepareStackTrace } = Error;
  // Tests may omit Node's own frames from stacks.
  Error.prepareStackTrace = (_error, sites) => sites;
  const sites = new Error().stack as unknown as readonly NodeJS.CallSite[];
  Error.prepareStackTrace = prepareStackTrace;
  return sites[2]?.getFileName()?.startsWith('node:') ?? false;
}

/** Node reuses parsers, so each accessor is made once. */
const hidden = new WeakMap<object, Set<string>>();

function hide(object: unknown, part: string, taken: Taken): void {
  if (typeof object !== 'object' || object === null) return;
  const names = hidden.get(object) ?? new Set();
  hidden.set(object, names);
  const name = part.split('.')[1] ?? '';
  if (names.has(name)) return;
  names.add(name);
  const prototype = Object.getPrototypeOf(object) as object;
  let isOwn = Object.hasOwn(object, name);
  let own: unknown = isOwn ? Reflect.get(object, name) : undefined;
  Object.defineProperty(object, name, {
    configurable: true,
    get() {
      if (taken.part === part && !isAskedByNode()) return taken.instead;
      return isOwn ? own : Reflect.get(prototype, name, this);
    },
    set(value: unknown) {
      isOwn = true;
      own = value;
    },
  });
}

/** @returns the function that hides the part */
export function startTakingAway(): Taken {
  const taken: Taken = { part: null, instead: undefined };
  const { emit } = EventEmitter.prototype;
  const hideFrom = (owner: string, object: unknown): void => {
    if (taken.part?.startsWith(`${owner}.`)) hide(object, taken.part, taken);
  };
  // Requests are seen before node emits them.
  const hideFromRequests = (parser: { onIncoming: (...given: unknown[]) => unknown }): void => {
    if (!taken.part?.startsWith('request.')) return;
    const { onIncoming } = parser;
    parser.onIncoming = (req, ...more) => {
      hideFrom('request', req);
      return onIncoming.call(parser, req, ...more);
    };
  };
  EventEmitter.prototype.emit = function (this: EventEmitter, event: string | symbol, ...given: unknown[]) {
    if (taken.part === null || !(this instanceof Server)) return emit.call(this, event, ...given);
    const [first, second] = given as [Record<string, unknown>, unknown];
    if (event === 'listening') {
      hideFrom('server', this);
      hideFrom('listener', (this as unknown as { readonly _handle: unknown })._handle);
    }
    if (event === 'request') hideFrom('response', second);
    if (event === 'clientError') hideFrom('error', first);
    if (event !== 'connection') return emit.call(this, event, ...given);
    // The first listener belongs to Node and makes the parser.
    const [ofNode, ...others] = this.rawListeners(event);
    ofNode?.apply(this, given);
    hideFrom('parser', first.parser);
    hideFrom('handle', first._handle);
    hideFrom('socket', first);
    for (const each of others) each.apply(this, given);
    hideFromRequests(first.parser as { onIncoming: (...given: unknown[]) => unknown });
    return true;
  };
  return taken;
}
