import { statSync } from 'node:fs';
import type { SourceSpec } from '../source/spec.js';

/**
 * The source with its pipes marked: a pipe is read only where it stood at its path when the timetable was opened, as with
 * `lectern serve <(command)`. One that takes the place of a file later on is a mistake.
 */
export function withPipes(spec: SourceSpec): SourceSpec {
  switch (spec.kind) {
    case 'file':
      return { ...spec, isPipe: spec.isPipe ?? isPipe(spec.path) };
    case 'merged':
      return { ...spec, specs: spec.specs.map(withPipes) };
    default:
      return spec;
  }
}

export function isPipe(path: string): boolean {
  try {
    return path !== '-' && statSync(path).isFIFO();
  } catch {
    return false;
  }
}
