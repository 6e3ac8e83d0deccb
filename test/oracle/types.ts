/** The slow version of GET /schedule/types. */
import type { NormalisedEvent } from '../../src/base/model/event.js';
import { compareText } from './events.js';

/** The distinct non-null types, in code point order. */
export function typesOracle(events: readonly NormalisedEvent[]): string[] {
  const types = new Set<string>();
  for (const event of events) if (event.type !== null) types.add(event.type);
  return [...types].sort(compareText);
}
