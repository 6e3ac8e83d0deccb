/** All settings of `lectern serve`, flat, by the names of the table. What each means is said where the library takes it. */
import type { GateOptions } from '../refresh/gate.js';
import type { LOG_FORMATS, LOG_LEVELS } from './operating-settings.js';
import type { DefaultedByPlace } from './places.js';
import type { EmbeddedAuthOptions, ServeOptions } from './serve-options.js';
import type { TimetableOptions } from './timetable-options.js';

export type LogLevel = (typeof LOG_LEVELS)[number];

/** Only the source has no default; production also needs a key. */
export type ServiceOptions = Omit<TimetableOptions, 'source' | 'gate' | 'buildOn' | 'onProgress'> &
  GateOptions &
  Omit<ServeOptions, 'auth' | 'admin' | 'log'> &
  Omit<EmbeddedAuthOptions, 'jwks' | 'enrolments' | 'hs256Secret'> & {
    /** As the library has it; or several paths or addresses, which are merged, the later winning. */
    readonly source: TimetableOptions['source'] | readonly string[];
    readonly hs256Secret?: string | undefined;
    /** A path or an http(s) address. */
    readonly jwks?: string | undefined;
    readonly sourceHeaders?: Readonly<Record<string, string>> | undefined;
    readonly lecturerIdsFile?: string | undefined;
    readonly hs256SecretFile?: string | undefined;
    readonly enrolmentsFile?: string | undefined;
    readonly adminPort?: number | undefined;
    readonly adminHost?: string | undefined;
    readonly adminAllowedHosts?: readonly string[] | undefined;
    readonly adminTokenFile?: string | undefined;
    readonly drainSeconds?: number | undefined;
    readonly logLevel?: LogLevel | undefined;
    readonly logFormat?: (typeof LOG_FORMATS)[number] | undefined;
  };

type DefaultedName =
  | DefaultedByPlace['openTimetable' | 'gate' | 'serve' | 'auth']
  | 'adminHost'
  | 'drainSeconds';

/** The settings, checked, with defaults. */
export type ResolvedSettings = ServiceOptions & {
  readonly [Name in Exclude<DefaultedName, 'buildOn'>]-?: NonNullable<ServiceOptions[Name]>;
};
