import type { ServiceOptions } from '../options/option-types.js';
import { variableOf } from '../options/setting.js';
import { SETTINGS } from '../options/table.js';
import { suggest } from '../structures/suggest.js';

const PREFIX = 'LECTERN_';
/** Kubernetes puts them into every container beside a Service whose name begins with "lectern". */
const SERVICE_LINK = /_SERVICE_(?:HOST|PORT)(?:_|$)|_PORT_\d+_(?:TCP|UDP)/;

/**
 * One sentence for each variable that is named like a setting and is none: it may be misspelt, or somebody else's. Nothing of
 * its value is repeated.
 */
export function unknownVariables(
  environment: Readonly<Record<string, string | undefined>>,
  { sourceHeaders = {} }: Pick<ServiceOptions, 'sourceHeaders'>,
): readonly string[] {
  const known = SETTINGS.map(variableOf).filter((name) => name !== undefined);
  const texts = Object.values(sourceHeaders).join(' ');
  const referred = new Set([...texts.matchAll(/env:(\w+)/g)].map(([, name]) => name));
  return Object.keys(environment)
    .filter((name) => name.startsWith(PREFIX) && !known.includes(name) && !SERVICE_LINK.test(name))
    .filter((name) => !referred.has(name))
    .sort()
    .map((name) => {
      const near = suggest(name, known);
      return `the variable ${JSON.stringify(name)} is not one of Lectern's, and has no effect${near === null ? '' : `: did you mean ${near}?`}`;
    });
}
