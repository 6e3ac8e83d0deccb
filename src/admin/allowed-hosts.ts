import { isIP } from 'node:net';

const HOST_AND_PORT = /^(\[[^\]]*\]|[^:]*)(?::\d*)?$/;
/** RFC 9112 section 3.2.2: what stands in the absolute form of a target counts, and not the Host field. */
const AUTHORITY = /^https?:\/\/([^/?#]*)/i;

/**
 * Whether a request may have been meant for the admin listener. A web page that makes its own name resolve to this machine (DNS
 * rebinding) could otherwise read every answer, as browsers take both for one origin. Its requests have its own name as Host.
 *
 * Any IP address is allowed, be it one of this machine or not: browsers connect to just that address, so no name was resolved and
 * none can have been rebound. Probes and Prometheus in Kubernetes ask by the address of the pod, and behind a published port of a
 * container the address is one that the container does not know.
 */
export class AllowedHosts {
  readonly #names: ReadonlySet<string>;

  /** @param names besides localhost: the host that was listened on, and those that are allowed by name */
  constructor(names: readonly string[]) {
    this.#names = new Set(['localhost', ...names.map((name) => name.toLowerCase())]);
  }

  /**
   * @param target of the request
   * @param host the Host field; null in HTTP/1.0, where there may be none: browsers always send it
   */
  allow(target: string, host: string | null): boolean {
    const authority = AUTHORITY.exec(target)?.[1];
    return (host === null || this.#allows(host)) && (authority === undefined || this.#allows(authority));
  }

  #allows(hostAndPort: string): boolean {
    const host = HOST_AND_PORT.exec(hostAndPort)?.[1];
    if (host === undefined) return false;
    if (host.startsWith('[')) return isIP(host.slice(1, -1)) === 6;
    // Browsers ask for a name with a dot at its end as it is given.
    const name = host.replace(/\.$/, '').toLowerCase();
    return isIP(name) === 4 || this.#names.has(name);
  }
}
