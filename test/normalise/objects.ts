/** The normaliser for records as objects. */
import type {
  IdentifierMode,
  NormalisedEvent,
  RecordPosition,
  Rejection,
} from '../../src/base/model/event.js';
import { isRejection, Normaliser } from '../../src/normalise/normalise.js';
import { FieldTable } from '../../src/source/field-map.js';

export { isRejection };

export function createNormaliser(
  mode: IdentifierMode,
): (value: unknown, position: RecordPosition) => NormalisedEvent | Rejection {
  const normaliser = new Normaliser({ identifiers: mode });
  let result: NormalisedEvent | Rejection | undefined;
  const sink = {
    row(row: FieldTable['row']): void {
      result = normaliser.event(row);
    },
    fault(rejection: Rejection): void {
      result = rejection;
    },
  };
  // Records in memory have no steps besides the fields.
  const table = new FieldTable(sink, 'memory', { identifiers: 'uuid' });
  return (value, position) => {
    table.row.place(position);
    table.object(value);
    return result as NormalisedEvent | Rejection;
  };
}
