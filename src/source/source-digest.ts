import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { addressDigest, parseAddress } from '../upstream/address.js';
import type { RecordSource } from './records.js';
import type { SourceSpec } from './spec.js';

/**
 * Tells whether two sources are the same, and shows neither: 22 base64url characters. Header fields, users and passwords,
 * which are replaced now and then, make no other source, nor does a map of lecturers.
 *
 * @param name of a source of the embedding program, which has nothing else that could be compared
 */
export function sourceDigest(source: SourceSpec | RecordSource, name: string): string {
  const parts = 'load' in source ? [`records ${name}`] : partsOf(source);
  return createHash('sha256').update(JSON.stringify(parts)).digest().subarray(0, 16).toString('base64url');
}

function partsOf(spec: SourceSpec): readonly string[] {
  switch (spec.kind) {
    case 'file':
      return [spec.path === '-' ? 'standard input' : `file ${resolve(spec.path)}`];
    case 'http':
      return [`address ${addressDigest(parseAddress(spec.url))}`];
    case 'merged':
      return spec.specs.flatMap(partsOf);
  }
}
