import { statSync } from 'node:fs';
import type { HttpSpec } from '../source/http.js';
import type { FileSpec, MergedSpec, SourceSpec } from '../source/spec.js';
import type { TimeLimits } from './patience.js';

type Part = Exclude<SourceSpec, MergedSpec>;

function mapParts(spec: SourceSpec, change: (part: Part) => SourceSpec): SourceSpec {
  return spec.kind === 'merged'
    ? { ...spec, specs: spec.specs.map((each) => mapParts(each, change)) }
    : change(spec);
}

/** The source with these limits, where it has none of its own. */
export function withTimeLimits(spec: SourceSpec, limits: TimeLimits): SourceSpec {
  const { headersMsMax, ...ofFiles } = limits;
  return mapParts(spec, (part) => {
    const own = Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined));
    return part.kind === 'http'
      ? { ...limits, ...(own as unknown as HttpSpec) }
      : { ...ofFiles, ...(own as unknown as FileSpec) };
  });
}

/**
 * The source with its pipes marked: a pipe is read only where it stood at its path when the timetable was opened, as with
 * `lectern serve <(command)`. A pipe that takes the place of a file later on is a mistake.
 */
export function withPipes(spec: SourceSpec): SourceSpec {
  return mapParts(spec, (part) =>
    part.kind === 'file' ? { ...part, isPipe: part.isPipe ?? isPipe(part.path) } : part,
  );
}

export function isPipe(path: string): boolean {
  try {
    return path !== '-' && statSync(path).isFIFO();
  } catch {
    return false;
  }
}
