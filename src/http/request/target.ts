import type { IncomingMessage } from 'node:http';

/** The absolute form, which proxies send and every server must accept (RFC 9112 section 3.2.2). */
const ABSOLUTE_FORM = /^https?:\/\/[^/?#]*/i;

/** Path and query; the authority of the absolute form is dropped. */
export function splitTarget(target: string): { path: string; query: string } {
  let origin = target;
  if (target.charCodeAt(0) !== 0x2f) {
    const authority = ABSOLUTE_FORM.exec(target);
    if (authority !== null) {
      origin = target.slice(authority[0].length);
      if (origin.charCodeAt(0) !== 0x2f) origin = `/${origin}`;
    }
  }
  const mark = origin.indexOf('?');
  return mark < 0
    ? { path: origin, query: '' }
    : { path: origin.slice(0, mark), query: origin.slice(mark + 1) };
}

/**
 * The path under which a framework such as Express has mounted the handler; '' without a mount path. Links
 * show paths as clients know them.
 */
export function mountPathOf(req: IncomingMessage): string {
  const { originalUrl } = req as IncomingMessage & { readonly originalUrl?: unknown };
  const { url } = req;
  if (typeof originalUrl !== 'string' || url === undefined || originalUrl === url) return '';
  // Express leaves a slash if the mount path is the whole path.
  const rest = url === '/' && !originalUrl.endsWith('/') ? '' : url.replace(/^\/(?=\?)/, '');
  return originalUrl.endsWith(rest) ? originalUrl.slice(0, originalUrl.length - rest.length) : '';
}
