import { LecternError } from '../errors.js';
import type { TimetableOptions } from '../options/option-types.js';
import type { AnySource } from '../refresh/loader.js';
import { MemorySource, type Records } from '../source/records.js';
import { parseSourceArgument } from '../source/spec.js';

/** @throws LecternError `option-invalid` */
export function sourceOf(source: TimetableOptions['source']): AnySource {
  if (typeof source === 'string') return parseSourceArgument(source);
  if (typeof source === 'object' && source !== null) {
    if ('kind' in source) return source;
    if ('load' in source) {
      if (typeof source.load === 'function') return source;
      throw new LecternError('option-invalid', 'source.load is no function');
    }
    if (Symbol.iterator in source || Symbol.asyncIterator in source)
      return new MemorySource(source as Records);
  }
  throw new LecternError(
    'option-invalid',
    'source must be a path, an address, a source or an iterable of records',
  );
}
