import { isIP } from 'node:net';

const HOST_AND_PORT = /^(\[[^\]]*\]|[^:]*)(?::\d*)?$/;
/** RFC 9112 section 3.2.2: the request target may name a host, too. */
const AUTHORITY = /^https?:\/\/([^/?#]*)/i;

/**
 * Keeps out web pages whose own name resolves to this machine (DNS rebinding): the Host of their requests is
 * the page's own name. All IP addresses are allowed, because probes use addresses that the process does not
 * know.
 */
export class AllowedHosts {
  readonly #names: ReadonlySet<string>;

  constructor(names: readonly string[]) {
    this.#names = new Set(['localhost', ...names.map((name) => name.toLowerCase())]);
  }

  /** @param host null for HTTP/1.0 without a Host, which no browser sends */
  allow(target: string, host: string | null): boolean {
    const authority = AUTHORITY.exec(target)?.[1];
    return (host === null || this.#allows(host)) && (authority === undefined || this.#allows(authority));
  }

  #allows(hostAndPort: string): boolean {
    const host = HOST_AND_PORT.exec(hostAndPort)?.[1];
    if (host === undefined) return false;
    if (host.startsWith('[')) return isIP(host.slice(1, -1)) === 6;
    // Browsers keep a dot at the end of a name.
    const name = host.replace(/\.$/, '').toLowerCase();
    return isIP(name) === 4 || this.#names.has(name);
  }
}
