/**
 * The timetable file: where events come from and how they are read, source by source. The table says what it may hold;
 * here it becomes a source, each part with its own rules.
 */
import { type BigIntStats, statSync } from 'node:fs';
import { dirname, isAbsolute, relative, resolve } from 'node:path';
import { LecternError } from '../base/errors.js';
import { lastStateOf } from '../base/files/file-calls.js';
import { readTextFile } from '../base/files/text-file.js';
import { TIMETABLE_FILE_BYTES_MAX } from '../base/limits.js';
import type { IdentifierMode } from '../base/model/event.js';
import type { FieldMap, ReadRules } from '../base/model/read-rules.js';
import { fieldMapFault } from '../source/field-map.js';
import { recordsFault } from '../source/formats/nested-json.js';
import { adviceOnSecrets, SECRET_NAME, secretParameters } from '../source/http/call.js';
import { preparePatterns } from '../source/map-value.js';
import type { RuleFault } from '../source/pattern/term.js';
import { patternFaults } from '../source/pattern/weekly-rows.js';
import { hidePassword, isPostgresAddress, POSTGRES_RULES } from '../source/postgres/postgres-address.js';
import type { RoomsSpec } from '../source/rooms-file.js';
import { parseSourceArgument, type SourceSpec } from '../source/spec.js';
import { isStoreAddress } from '../store/store-address.js';
import { isObject } from './kinds.js';
import type { SourceDescription, TimetableDescription } from './option-types.js';
import { checkShape, TimetableFaults, UNWRITTEN, type Written, within } from './timetable-check.js';
import { type Entry, TIMETABLE } from './timetable-table.js';
import { invalid, readYaml } from './timetable-yaml.js';

/** What a timetable file says, as the loads of a timetable take it. */
export interface TimetablePlan {
  readonly source: SourceSpec;
  /** The rules of the whole timetable. Each part of the source has its own besides. */
  readonly rules: Pick<ReadRules, 'identifiers' | 'timeZone'>;
  readonly rooms: RoomsSpec | undefined;
  /** Sentences on what is accepted, but is probably a mistake. */
  readonly warnings: readonly string[];
}

const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:\/\//;

/** @throws LecternError `source-unreadable`; `option-invalid` with all faults, each with line and column */
export async function readTimetableFile(path: string): Promise<TimetablePlan> {
  const name = `the timetable file ${path}`;
  const text = await readTextFile(path, {
    ...{ name, bytesMax: TIMETABLE_FILE_BYTES_MAX, code: 'source-unreadable', isRegular: true },
  });
  const read = await readYaml(text, path);
  const planning = new Planning(read, dirname(resolve(path)), resolve(path));
  planning.faults.found.push(...read.faults);
  await planning.checkExpressions(read.value);
  await planning.lookAtPaths(read.value);
  return planning.planOf(read.value);
}

/** The plan of a description in a program. Its paths are relative to the folder of the process. */
export function planTimetable(description: TimetableDescription): TimetablePlan {
  return new Planning(UNWRITTEN, process.cwd(), null).planOf(description);
}

const REFERENCE = /^(?:\S+ )?(?:env|file):/;

/** The kinds of sources whose entries differ. */
type SourceKind = NonNullable<Entry['of']> | 'path' | 'other';

class Planning {
  readonly faults: TimetableFaults;
  readonly warnings: string[] = [];
  readonly #written: Written;
  readonly #folder: string;
  /** The path of the file; null for an object of a program. */
  readonly #path: string | null;
  /** States of the sources' paths. Null before they were asked for, and if nobody can wait. */
  #states: ReadonlyMap<string, BigIntStats | null> | null = null;

  constructor(written: Written, folder: string, path: string | null) {
    this.faults = new TimetableFaults(written);
    this.#written = written;
    this.#folder = folder;
    this.#path = path;
  }

  /** Loads the engines of patterns and expressions, and checks the expressions. */
  async checkExpressions(given: unknown): Promise<void> {
    const { sources } = (given ?? {}) as { readonly sources?: unknown };
    for (const [n, source] of Array.isArray(sources) ? sources.entries() : []) {
      const { fields, when, records } = (source ?? {}) as Pick<
        SourceDescription,
        'fields' | 'when' | 'records'
      >;
      await preparePatterns({ fieldMap: fields as FieldMap | undefined, when });
      if (typeof records !== 'string') continue;
      const fault = await recordsFault(records);
      if (fault !== null) this.faults.add(`sources[${n}].records`, fault);
    }
  }

  /** Asks for the paths of sources: the plan is made on the main thread, where a call must not wait for a file system. */
  async lookAtPaths(given: unknown): Promise<void> {
    const { sources } = (given ?? {}) as { readonly sources?: unknown };
    const each = Array.isArray(sources) ? (sources as unknown[]) : [];
    const paths = each.flatMap((source) => {
      const { from } = (source ?? {}) as { readonly from?: unknown };
      return typeof from === 'string' && kindOf(from) === 'path' ? [this.#addressOf(from)] : [];
    });
    this.#states = new Map(
      await Promise.all(paths.map(async (path) => [path, await lastStateOf(path)] as const)),
    );
  }

  #addressOf(from: string): string {
    return resolve(this.#folder, from) + (from.endsWith('/') ? '/' : '');
  }

  planOf(given: unknown): TimetablePlan {
    const { faults } = this;
    const checked = checkShape(given, TIMETABLE, '', this.#written, faults);
    if (!isObject(checked) || !Array.isArray((checked as TimetableDescription).sources))
      throw invalid(faults.found);
    const timetable = checked as TimetableDescription;
    const good = timetable.sources.map((source) => (typeof source?.from === 'string' ? source : null));
    this.#addPatternFaults(patternFaults({ terms: timetable.terms }), '');
    const identifiers = this.#identifiersOf(timetable, good);
    const specs = good.map((source, n) => source && this.#specOf(source, `sources[${n}]`, timetable));
    this.#checkTogether(good);
    const rooms = this.#roomsOf(timetable, identifiers);
    const [first, ...others] = specs.filter((spec) => spec !== null);
    if (timetable.sources.length === 0)
      faults.add('sources', 'it is an empty list; expected at least one source');
    if (faults.found.length > 0 || first === undefined) throw invalid(faults.found);
    const source: SourceSpec = others.length === 0 ? first : { kind: 'merged', specs: [first, ...others] };
    const rules = { identifiers, timeZone: timetable.timeZone };
    return { source, rules, rooms, warnings: this.warnings };
  }

  /** The form of all identifiers. UUIDs are also identifiers of the other forms. */
  #identifiersOf(
    { identifiers = 'uuid' }: TimetableDescription,
    sources: readonly (SourceDescription | null)[],
  ): IdentifierMode {
    const modes = new Set(sources.map((source) => source?.identifiers ?? identifiers));
    if (modes.has('any') && modes.has('derived')) {
      const n = sources.findIndex((source) => (source?.identifiers ?? identifiers) === 'derived');
      const problem =
        'it cannot be derived beside a source with any, because a text of a query would mean two identifiers';
      this.faults.add(`sources[${n}].identifiers`, `${problem}; expected one of the two for all sources`);
    }
    if (modes.has('any')) return 'any';
    return modes.has('derived') ? 'derived' : identifiers;
  }

  /** Adds the faults of patterns and terms whose entries are good by themselves: of the others, only a part is left. */
  #addPatternFaults(found: readonly RuleFault[], path: string): void {
    const entryOf = (fault: RuleFault): string =>
      fault.path.slice(0, fault.path[0] === 'terms' ? 2 : 1).reduce(within, path);
    for (const fault of found.filter((each) => !this.faults.isAt(entryOf(each))))
      this.faults.add(fault.path.reduce(within, path), fault.message);
  }

  #specOf(source: SourceDescription, path: string, timetable: TimetableDescription): SourceSpec | null {
    const { faults } = this;
    const kind = kindOf(source.from);
    this.#checkEntries(source, kind, path);
    this.#checkPlace(source.from, within(path, 'from'));
    for (const [field, value] of Object.entries(source.fields ?? {})) {
      const entry = within(within(path, 'fields'), field);
      if (value === undefined || faults.isAt(entry)) continue;
      const fault = fieldMapFault({ [field]: value } as FieldMap);
      if (fault !== null) faults.add(entry, fault);
    }
    const rules = rulesOf(source, timetable);
    if (!faults.isAt('terms'))
      this.#addPatternFaults(
        patternFaults(rules).filter((fault) => fault.path[0] === 'when'),
        path,
      );
    if (faults.isAt(path)) return null;
    const { name, prefix, refreshSeconds, lecturerIds } = source;
    const { table, query, versionQuery, follow, followTables } = source;
    const isPath = kind === 'path';
    const address = isPath ? this.#addressOf(source.from) : source.from;
    const states = this.#states;
    try {
      const spec = parseSourceArgument(address, {
        ...(states && { stateOfPath: (path: string) => states.get(path) ?? null }),
        environment: process.env,
        postgres: { table, query, versionQuery, follow, followTables },
        ...(source.headers && { headers: this.#headersOf(source.headers, within(path, 'headers')) }),
        ...(source.auth && { clientCredentials: this.#authOf(source.auth, within(path, 'auth')) }),
        lecturerIds: typeof lecturerIds === 'string' ? resolve(this.#folder, lecturerIds) : lecturerIds,
      });
      const shown = isPath && this.#path !== null ? source.from : undefined;
      const named = this.#path === null ? rules : { ...rules, places: this.#placesIn(path) };
      return { ...spec, rules: named, name: name ?? shown, prefix, refreshSeconds };
    } catch (error) {
      if (!(error instanceof LecternError)) throw error;
      faults.add(within(path, 'from'), error.message);
      return null;
    }
  }

  /** Where the rules of a source stand that only its records can prove wrong. */
  #placesIn(path: string): Record<string, string> {
    return Object.fromEntries(
      [...this.#written.places]
        .map(([at, place]) => [at.slice(path.length + 1), place, at.startsWith(`${path}.`)] as const)
        .filter(([at, , isWithin]) => isWithin && /^(?:fields|when|records|header)\b/.test(at)),
    );
  }

  /** Entries that the kind of the source does not have, and entries beside others. */
  #checkEntries(source: SourceDescription, kind: SourceKind, path: string): void {
    const { faults } = this;
    for (const { name, of } of SOURCE_ENTRIES) {
      if (of === undefined || of === kind || source[name as keyof SourceDescription] === undefined) continue;
      const expected = of === 'http' ? 'an http(s) or webcal address' : 'a PostgreSQL address (postgres://…)';
      faults.add(within(path, name), `it has no effect, as the source is not ${expected}`);
    }
    const { calendarFrom, calendarTo, follow = false, prefix, lecturerIds } = source;
    if (calendarFrom !== undefined && calendarTo !== undefined && calendarFrom >= calendarTo)
      faults.add(within(path, 'calendarTo'), 'it must be after calendarFrom');
    if (kind !== 'postgres' || faults.isAt(path)) return;
    for (const [problem, isBroken] of Object.entries(POSTGRES_RULES))
      if (isBroken(source)) faults.add(path, problem.replaceAll(/[{}]/g, ''));
    if (follow && (prefix ?? lecturerIds) !== undefined)
      faults.add(within(path, 'follow'), 'it does not work with prefix or lecturerIds');
  }

  #checkTogether(sources: readonly (SourceDescription | null)[]): void {
    const { faults } = this;
    const names = new Map<string, number>();
    for (const [n, source] of sources.entries()) {
      if (source === null) continue;
      const { name, follow, from } = source;
      const path = `sources[${n}]`;
      if (follow === true && sources.length > 1) {
        const problem = 'a followed database must be the only source; give refreshSeconds instead';
        faults.add(within(path, 'follow'), problem);
      }
      if (from === '-' && sources.findIndex((each) => each?.from === '-') < n)
        faults.add(within(path, 'from'), 'standard input is given twice, and can be read once only');
      if (name === undefined) continue;
      const first = names.get(name);
      if (first !== undefined)
        faults.add(within(path, 'name'), `sources[${first}] has this name already; expected different names`);
      names.set(name, n);
    }
  }

  #checkPlace(from: string, path: string): void {
    const { faults } = this;
    if (/^file:/i.test(from)) {
      faults.add(
        path,
        'it is a file: address; expected the path of the file, relative to this file or absolute',
      );
      return;
    }
    if (isStoreAddress(from)) {
      faults.add(
        path,
        'it is a store, whose publisher reads the records; expected lectern serve with the store alone',
      );
      return;
    }
    if (
      kindOf(from) === 'path' &&
      this.#path !== null &&
      isFolderAround(resolve(this.#folder, from), this.#path)
    ) {
      const problem = 'it is a folder above this file, so that the file would be among its own sources';
      faults.add(path, `${problem}; expected a folder beside or below it, or a glob such as lessons/*.csv`);
    }
    if (hidePassword(from) !== from || (URL.canParse(from) && new URL(from).password !== '')) {
      const remedy = isPostgresAddress(from)
        ? 'PGPASSFILE or ~/.pgpass'
        : 'headers: { Authorization: "Basic file:PATH" }';
      this.#warnOfSecret(path, `the address holds a password; give it in ${remedy}`);
    }
    const secrets = secretParameters(from);
    if (secrets.length > 0) this.#warnOfSecret(path, adviceOnSecrets(secrets));
  }

  #headersOf(headers: Readonly<Record<string, string>>, path: string): Record<string, string> {
    return Object.fromEntries(
      Object.entries(headers).map(([name, value]) => {
        if (SECRET_NAME.test(name) && !REFERENCE.test(value)) {
          const scheme = /^(\S+) \S/.exec(value)?.[1];
          const example = [scheme, 'file:PATH'].filter(Boolean).join(' ');
          this.#warnOfSecret(
            within(path, name),
            `the file holds a secret; refer to it as "${example}", or with env:NAME`,
          );
        }
        return [name, this.#referenceOf(value)];
      }),
    );
  }

  #authOf({ clientSecret, ...auth }: NonNullable<SourceDescription['auth']>, path: string) {
    const [, kind, rest = ''] = /^(env|file):(.*)$/s.exec(clientSecret) ?? [];
    if (kind === 'file') return { ...auth, clientSecret: { file: resolve(this.#folder, rest) } };
    if (kind === undefined) {
      this.#warnOfSecret(
        within(path, 'clientSecret'),
        'the file holds a secret; refer to it as file:PATH or env:NAME',
      );
      return { ...auth, clientSecret };
    }
    const secret = process.env[rest]?.trim() ?? '';
    if (secret === '')
      this.faults.add(within(path, 'clientSecret'), `the environment variable ${rest} is not set`);
    return { ...auth, clientSecret: secret };
  }

  /** The value with the path of its file relative to the folder of the timetable file. */
  #referenceOf(value: string): string {
    return value.replace(
      /^((?:\S+ )?file:)(\S.*)$/s,
      (_, begin: string, file: string) => begin + resolve(this.#folder, file),
    );
  }

  #warnOfSecret(path: string, sentence: string): void {
    this.warnings.push(this.faults.at(path, `${path}: ${sentence}`));
  }

  #roomsOf({ rooms }: TimetableDescription, identifiers: IdentifierMode): RoomsSpec | undefined {
    if (rooms === undefined) return undefined;
    const { from, fields, table, query, ...csv } = typeof rooms === 'string' ? { from: rooms } : rooms;
    // A fault was found already.
    if (typeof from !== 'string') return undefined;
    const rules = { identifiers, fieldMap: fields, ...csv };
    if (kindOf(from) === 'postgres') {
      const spec = { kind: 'postgres', url: from, table, query } as const;
      for (const [problem, isBroken] of Object.entries(POSTGRES_RULES))
        if (isBroken(spec)) this.faults.add('rooms', problem.replaceAll(/[{}]/g, ''));
      return { source: spec, rules };
    }
    if (table !== undefined || query !== undefined)
      this.faults.add('rooms', 'table and query need a PostgreSQL address (postgres://…) in from');
    return { source: resolve(this.#folder, from), rules };
  }
}

const SOURCE_ENTRIES: readonly Entry[] = TIMETABLE.entries.flatMap(({ shape }) =>
  shape.is === 'list' && shape.of.is === 'entries' ? shape.of.entries : [],
);

function kindOf(from: string): SourceKind {
  if (isPostgresAddress(from)) return 'postgres';
  if (/^(?:https?|webcals?):\/\//i.test(from)) return 'http';
  return from === '-' || SCHEME.test(from) ? 'other' : 'path';
}

function isFolderAround(folder: string, path: string): boolean {
  const inside = relative(folder, dirname(path));
  const isAbove = !inside.startsWith('..') && !isAbsolute(inside) && inside !== '';
  // The folder of the file itself is read without YAML, but with JSON.
  return (
    (isAbove || (inside === '' && /\.json$/i.test(path))) &&
    (statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false)
  );
}

function rulesOf(source: SourceDescription, timetable: TimetableDescription): Partial<ReadRules> {
  const { fields, when, calendarFrom, calendarTo, encoding, delimiter, header, records } = source;
  return {
    identifiers: source.identifiers ?? timetable.identifiers ?? 'uuid',
    dateOrder: source.dateOrder ?? timetable.dateOrder,
    timeZone: source.timeZone ?? timetable.timeZone,
    ...(fields && { fieldMap: fields as FieldMap }),
    ...(when && { when: when, terms: timetable.terms ?? {} }),
    ...{ encoding, delimiter, header, records, from: calendarFrom, to: calendarTo },
  };
}
