import { isIP, type Socket } from 'node:net';
import type { Exchange } from './exchange.js';

/** The fault of the address under which clients reach the service; null if it is valid. */
export function publicUrlFault(text: string): string | null {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return 'it must be an address, such as https://timetable.example.org';
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'it must begin with https:// or http://';
  const isPlain = url.username === '' && url.password === '' && !/[?#]/.test(text);
  return isPlain ? null : 'it must not have a user, a query or a fragment';
}

/**
 * The public address up to the mount path, without a final slash. Without `publicUrl`, the address comes from
 * the Host header, which must be exactly the address and port of this connection. Any other Host could be
 * forged, or name an https proxy.
 *
 * @returns null if the address is not known
 */
export function publicAddress({ req, headers }: Exchange, publicUrl: string | undefined): string | null {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '');
  const socket: Socket & { readonly encrypted?: boolean } = req.socket;
  const scheme = socket.encrypted === true ? 'https' : 'http';
  const [, host = '', port] = /^(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::(\d{1,5}))?$/i.exec(headers.host) ?? [];
  const usualPort = scheme === 'https' ? 443 : 80;
  const isHere = host.toLowerCase() === 'localhost' ? isLoopbackSocket(socket) : isLocal(host, socket);
  if (!isHere || Number(port ?? usualPort) !== socket.localPort) return null;
  return `${scheme}://${headers.host}`;
}

/** The local address of a connection. Sockets for both families show IPv4 as `::ffff:127.0.0.1`. */
function localAddressOf({ localAddress = '' }: Socket): string {
  return localAddress.replace(/^::ffff:(?=\d+\.)/, '');
}

function isLoopbackSocket(socket: Socket): boolean {
  const address = localAddressOf(socket);
  return address === '::1' || address.startsWith('127.');
}

function isLocal(host: string, socket: Socket): boolean {
  const address = host.replace(/^\[|\]$/g, '');
  return isIP(address) !== 0 && address === localAddressOf(socket);
}
