import { readFileSync } from 'node:fs';

/**
 * IANA zones by the names of Windows, in lower case, as Outlook and Exchange write them (Unicode CLDR).
 * scripts/finish-build.mjs inserts the table, because a bundled program has no file beside it.
 */
export const WINDOWS_ZONES: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(new URL('windows-zones.json', import.meta.url), 'utf8'),
) as Record<string, string>;
