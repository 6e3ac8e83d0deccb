import { isIP } from 'node:net';

const HOST_AND_PORT = /^(\[[^\]]*\]|[^:]*)(?::\d*)?$/;
/** RFC 9112 section 3.2.2: a host in the target counts, and not the Host field. */
const AUTHORITY = /^https?:\/\/([^/?#]*)/i;

/**
 * Keeps out web pages that make their own name resolve to this machine (DNS rebinding): their requests have that name as Host.
 * Any IP address is allowed, since no name can have been rebound then. Probes ask by addresses that the process does not know.
 */
export class AllowedHosts {
  readonly #names: ReadonlySet<string>;

  /** @param names besides localhost */
  constructor(names: readonly string[]) {
    this.#names = new Set(['localhost', ...names.map((name) => name.toLowerCase())]);
  }

  /** @param host the Host field; null in HTTP/1.0, where there may be none: browsers always send it */
  allow(target: string, host: string | null): boolean {
    const authority = AUTHORITY.exec(target)?.[1];
    return (host === null || this.#allows(host)) && (authority === undefined || this.#allows(authority));
  }

  #allows(hostAndPort: string): boolean {
    const host = HOST_AND_PORT.exec(hostAndPort)?.[1];
    if (host === undefined) return false;
    if (host.startsWith('[')) return isIP(host.slice(1, -1)) === 6;
    // Browsers send a name with a dot at its end as it was typed.
    const name = host.replace(/\.$/, '').toLowerCase();
    return isIP(name) === 4 || this.#names.has(name);
  }
}
