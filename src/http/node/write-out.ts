import type { Socket } from 'node:net';

/** What is sent at once: a text of ISO 8859-1, bytes, or several pieces that are none the less one for the system. */
export type Outgoing = string | Uint8Array | readonly Uint8Array[];

/** @returns whether the kernel has taken everything: then nobody looks at the bytes any more */
export function writeOut(socket: Socket, what: Outgoing): boolean {
  if (typeof what === 'string') socket.write(what, 'latin1');
  else if (what instanceof Uint8Array) socket.write(what);
  else {
    socket.cork();
    for (const piece of what) socket.write(piece);
    socket.uncork();
  }
  return socket.writableLength === 0;
}
