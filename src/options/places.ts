/** The option types of each place, and what is left of them once defaults are filled in. */
import type { GateOptions } from '../refresh/gate.js';
import type {
  AdminListenerOptions,
  EmbeddedAuthOptions,
  EmbeddedHandlerOptions,
  ServeOptions,
} from './serve-options.js';
import type { Place } from './setting.js';
import type { TimetableOptions } from './timetable-options.js';

interface OptionsByPlace {
  readonly openTimetable: TimetableOptions;
  readonly gate: GateOptions;
  readonly serve: ServeOptions;
  readonly handler: EmbeddedHandlerOptions;
  readonly auth: EmbeddedAuthOptions;
  readonly admin: AdminListenerOptions;
}

/** The options of each place that have a default in the table. */
export interface DefaultedByPlace {
  readonly openTimetable:
    | 'identifiers'
    | 'unknownParameters'
    | 'cacheMb'
    | 'buildOn'
    | 'refreshSeconds'
    | 'watch'
    | 'snapshotFilesKept';
  readonly gate: 'shrinkPercentMax' | 'rejectPercentMax' | 'growthPercentMax' | 'allowEmpty';
  readonly serve:
    | 'port'
    | 'host'
    | 'workers'
    | 'connectionsMax'
    | 'overloadMs'
    | 'basePath'
    | 'mode'
    | 'accessLog';
  readonly handler: 'basePath';
  readonly auth: 'jwksRefreshSeconds' | 'jwksCooldownSeconds' | 'jwksStaleSecondsMax' | 'tokenType';
  readonly admin: 'host';
}

type Filled<T, Names extends keyof T> = Omit<T, Names> & {
  readonly [Name in Names]-?: NonNullable<T[Name]>;
};

/** The options of a place, checked, with defaults. */
export type Resolved<P extends Place> = Filled<
  OptionsByPlace[P],
  DefaultedByPlace[P] & keyof OptionsByPlace[P]
>;
