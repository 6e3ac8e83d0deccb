import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { LecternError } from '../../errors.js';
import { readTextFile } from '../../files/text-file.js';
import { DATABASE_FILE_BYTES_MAX } from '../../limits.js';
import type { PostgresAddress, PostgresHost } from './postgres-address.js';

/** The permission bits of the group and other users, which must not read a password file. */
const OPEN_TO_OTHERS = 0o077;

/**
 * The password for one host: from a file with only the password, from the address, or from a libpq password
 * file. Files are read at each connection, so a new password needs no restart. Undefined if there is no
 * password.
 *
 * @throws LecternError `source-unreadable` if a named file cannot be read
 */
export async function passwordFor(
  address: PostgresAddress,
  place: PostgresHost,
  passwordFile: string | undefined,
): Promise<string | undefined> {
  if (passwordFile !== undefined) {
    const [line = ''] = (await readSecretFile(passwordFile, false)).split(/\r?\n/);
    if (line === '') throw unreadable(passwordFile, 'its first line is empty; expected the password');
    return line;
  }
  const { password, passfile } = address;
  if (password?.startsWith('file:')) return passwordFor(address, place, password.slice('file:'.length));
  if (password !== null) return password;
  const path = passfile ?? join(homedir(), '.pgpass');
  if (passfile === null && !existsSync(path)) return undefined;
  return passwordIn(await readSecretFile(path, true), address, place);
}

/** @param isOfUser whether this is a libpq file, which only its owner may read */
async function readSecretFile(path: string, isOfUser: boolean): Promise<string> {
  const text = await readTextFile(path, {
    name: `the password file ${path}`,
    bytesMax: DATABASE_FILE_BYTES_MAX,
    code: 'source-unreadable',
    isRegular: true,
  });
  if (isOfUser && process.platform !== 'win32' && ((await stat(path)).mode & OPEN_TO_OTHERS) !== 0) {
    throw unreadable(path, 'other users may read it; run chmod 600 on it');
  }
  return text;
}

function unreadable(path: string, problem: string): LecternError {
  return new LecternError('source-unreadable', `the password file ${path} cannot be used: ${problem}`);
}

/** The first line `host:port:database:user:password` that matches. `*` matches everything, `\` escapes `:` and itself. */
export function passwordIn(
  text: string,
  { database, user }: Pick<PostgresAddress, 'database' | 'user'>,
  { host, port }: PostgresHost,
): string | undefined {
  // libpq uses this name for sockets in any folder, too.
  const hosts = host.startsWith('/') ? [host, 'localhost'] : [host];
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('#')) continue;
    const cells = [...line.matchAll(/((?:[^:\\]|\\.)*)(?::|$)/g)].map(([, cell = '']) =>
      cell.replace(/\\(.)/g, '$1'),
    );
    const [ofHost = '', ofPort, ofDatabase, ofUser, password] = cells;
    if (password === undefined || password === '') continue;
    const isHost = ofHost === '*' || hosts.includes(ofHost);
    const isIt = (cell: string | undefined, value: string): boolean => cell === '*' || cell === value;
    if (isHost && isIt(ofPort, String(port)) && isIt(ofDatabase, database) && isIt(ofUser, user))
      return password;
  }
  return undefined;
}
