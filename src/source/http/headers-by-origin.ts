/**
 * Header fields from a command line. Each field goes to the origin that it names, or to the only origin if it
 * names none.
 */
import { LecternError } from '../../base/errors.js';
import type { HeaderFields, HeaderFile } from './credentials.js';
import { isName } from './headers.js';

/** `env:NAME` or `file:PATH`, also after a scheme: `Bearer env:UPSTREAM_TOKEN`. */
const REFERENCE = /^(?:(\S+) )?(?:env:([A-Za-z_][A-Za-z0-9_]*)|file:(\S.*))$/;

/**
 * @param given values by name, or by origin and name: `https://host Authorization`
 * @param origins of the sources
 * @param environment variables for `env:NAME`; undefined: `env:NAME` and `file:PATH` stay unchanged
 * @returns a function that gives the fields for an origin; undefined if the origin has none
 * @throws LecternError `option-invalid`
 */
export function headersByOrigin(
  given: Readonly<Record<string, string>>,
  origins: readonly string[],
  environment: NodeJS.ProcessEnv | undefined,
): (origin: string) => HeaderFields | undefined {
  const fields = Object.entries(given).map(([key, value], n) => {
    const { origin, name } = splitKey(key);
    const label = isName(name) ? `header ${name}` : `header field ${n + 1}`;
    if (origin !== null && !origins.includes(origin)) {
      const expected = origins.length === 0 ? 'an address among the sources' : `one of ${origins.join(', ')}`;
      throw invalid(`${label} is for ${origin}, but no source has this origin; expected ${expected}`);
    }
    if (origins.length === 0) throw invalid(`${label} has no effect, as no source is an http(s) address`);
    if (origin === null && origins.length > 1) {
      const several = `sources are on several origins: ${origins.join(', ')}`;
      const example = `'${origins[0]} ${isName(name) ? name : 'Name'}: …'`;
      throw invalid(
        `${label} names no origin, and ${several}; expected an origin in front of the name, as in ${example}`,
      );
    }
    return { origin, name, value: environment === undefined ? value : resolve(value, label, environment) };
  });
  return (at) => {
    const own = fields.filter(({ origin }) => origin === null || origin === at);
    return own.length === 0 ? undefined : Object.fromEntries(own.map(({ name, value }) => [name, value]));
  };
}

function splitKey(key: string): { readonly origin: string | null; readonly name: string } {
  const [, address, name = key] = /^(https?:\/\/\S+) +(.*)$/i.exec(key) ?? [];
  if (address === undefined) return { origin: null, name };
  const url = URL.canParse(address) ? new URL(address) : null;
  const isOrigin = url !== null && url.href === `${url.origin}/`;
  if (!isOrigin)
    throw invalid(
      'the address in front of a header field is not an origin; expected https://host or https://host:port',
    );
  return { origin: url.origin, name };
}

function resolve(value: string, label: string, environment: NodeJS.ProcessEnv): string | HeaderFile {
  const [reference, scheme, variable, file] = REFERENCE.exec(value) ?? [];
  if (reference === undefined) return value;
  if (file !== undefined) return { file, scheme };
  const secret = environment[variable as string]?.trim();
  if (secret === undefined || secret === '') {
    throw invalid(`${label} of the source: the environment variable ${variable} is not set`);
  }
  return scheme === undefined ? secret : `${scheme} ${secret}`;
}

function invalid(problem: string): LecternError {
  return new LecternError('option-invalid', problem);
}
