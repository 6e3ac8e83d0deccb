import type { TimetableEvent } from '../model/event.js';
import { type FieldName, OUTPUT_FIELDS } from '../model/fields.js';
import { isPlainJsonText } from '../model/text.js';
import { formatInstant } from '../model/time.js';
import { type ByteStrings, viewOf } from '../structures/byte-strings.js';
import type { DictionaryBuilder } from '../structures/dictionary.js';
import { scratch } from '../structures/slabs.js';
import { jsonByteLength, packedByteLength, packedTextLength } from './byte-lengths.js';
import type { RowsImage, SlotsImage } from './image.js';
import { PACKED_ROW_FRAME_BYTES, ROW_FRAME, ROW_FRAME_END, RowWriter } from './rows.js';
import { type ValueBytes, valueBytesOf } from './value-bytes.js';

/** What rows are made of. */
export interface RowsInput {
  /** For each ordinal the number of arrival, and its slot. */
  readonly order: Uint32Array;
  readonly slotOf: Uint32Array;
  readonly slots: Pick<SlotsImage, 'startMs' | 'endMs'>;
  /** By number of arrival. */
  readonly ids: ByteStrings;
  /** Codes by ordinal; of all fields but the id and the times, in any order. */
  readonly columns: readonly {
    readonly name: FieldName;
    readonly dictionary: DictionaryBuilder;
    readonly codes: Uint32Array;
  }[];
}

interface OutputColumn {
  readonly name: FieldName;
  readonly dictionary: DictionaryBuilder;
  readonly codes: Uint32Array;
  readonly values: ValueBytes;
}

const QUOTE = '"';
/** Before the id, its opening quote included, with what separates the row from the one before. */
const FIRST_ID_FRAME: DataView = viewOf(Buffer.from(`[${ROW_FRAME[0]}${QUOTE}`));
const ID_FRAME: DataView = viewOf(Buffer.from(`,${ROW_FRAME[0]}${QUOTE}`));
const ID_FRAME_BYTES: number = ID_FRAME.byteLength;
const INSTANT: string = formatInstant(0);
/** The fields that come first in a row and have no column. */
const COLUMNS_FROM = 3;

/** Serialises every event in order. Lengths come first, so that the arena is allocated once and never copied. */
export function writeRows(input: RowsInput): RowsImage {
  const { order, slotOf, slots, ids } = input;
  const columns: OutputColumn[] = OUTPUT_FIELDS.slice(COLUMNS_FROM).map(({ name }, n, { length }) => {
    const column = input.columns.find((each) => each.name === name);
    if (column === undefined) throw new Error(`${name} has no column`);
    const behind = n + 1 === length ? ROW_FRAME_END : '';
    return {
      ...column,
      values: valueBytesOf(column.dictionary, String(ROW_FRAME[COLUMNS_FROM + n]), behind),
    };
  });
  const { rowBytes, packedBytes } = measure(order, ids, columns);
  const writer = new RowWriter(rowBytes, packedBytes);
  const event = (ordinal: number): TimetableEvent => eventOf(input, columns, ordinal);
  let slot = -1;
  let times = ID_FRAME;
  let timesLength = 0;
  for (let ordinal = 0; ordinal < order.length; ordinal++) {
    const arrival = order[ordinal]!;
    if (slotOf[ordinal] !== slot) {
      slot = slotOf[ordinal]!;
      times = timesBytes(slots.startMs[slot]!, slots.endMs[slot]!);
      timesLength = times.byteLength;
    }
    writer.write(ordinal === 0 ? FIRST_ID_FRAME : ID_FRAME, 0, ID_FRAME_BYTES);
    const idStart = ids.startOf(arrival);
    const idEnd = ids.startOf(arrival + 1);
    if (isPlainJsonText(ids.bytes, idStart, idEnd)) writer.write(ids.view, idStart, idEnd);
    else {
      const escaped = Buffer.from(JSON.stringify(ids.textOf(arrival)).slice(1, -1), 'utf8');
      writer.write(viewOf(escaped), 0, escaped.length);
    }
    writer.write(times, 0, timesLength);
    for (let n = 0; n < columns.length; n++) {
      const { codes, values } = columns[n]!;
      const code = Math.min(codes[ordinal]!, values.packedLength.length - 1);
      writer.write(values.view, values.start[code]!, values.start[code + 1]!);
    }
    writer.end(event);
  }
  return writer.finish();
}

function measure(
  order: Uint32Array,
  ids: ByteStrings,
  columns: readonly OutputColumn[],
): { rowBytes: Uint32Array; packedBytes: Uint32Array } {
  const fixed = ID_FRAME_BYTES - 1 + timesBytes(0, 0).byteLength;
  const packedFixed = PACKED_ROW_FRAME_BYTES + 2 * packedByteLength(INSTANT);
  const rowBytes = scratch.uint32(order.length);
  const packedBytes = scratch.uint32(order.length);
  for (let ordinal = 0; ordinal < order.length; ordinal++) {
    const arrival = order[ordinal]!;
    const idStart = ids.startOf(arrival);
    const idEnd = ids.startOf(arrival + 1);
    let length = fixed + idEnd - idStart;
    if (!isPlainJsonText(ids.bytes, idStart, idEnd)) {
      length = fixed + jsonByteLength(ids.textOf(arrival)) - 2;
    }
    let packedLength = packedFixed + packedTextLength(idEnd - idStart);
    for (let n = 0; n < columns.length; n++) {
      const { codes, values } = columns[n]!;
      const code = Math.min(codes[ordinal]!, values.packedLength.length - 1);
      length += values.start[code + 1]! - values.start[code]!;
      packedLength += values.packedLength[code]!;
    }
    rowBytes[ordinal] = length;
    packedBytes[ordinal] = packedLength;
  }
  return { rowBytes, packedBytes };
}

/** From the closing quote of the id to that of the end. */
function timesBytes(startMs: number, endMs: number): DataView {
  const [time, endTime] = [startMs, endMs].map((instantMs) => `"${formatInstant(instantMs)}"`);
  return viewOf(Buffer.from(`${QUOTE}${ROW_FRAME[1]}${time}${ROW_FRAME[2]}${endTime}`, 'latin1'));
}

function eventOf(input: RowsInput, columns: readonly OutputColumn[], ordinal: number): TimetableEvent {
  const arrival = input.order[ordinal]!;
  const slot = input.slotOf[ordinal]!;
  const texts = columns.map(({ name, dictionary, codes }) => [name, dictionary.valueOf(codes[ordinal]!)]);
  return {
    ...(Object.fromEntries(texts) as Omit<TimetableEvent, 'id' | 'time' | 'endTime'>),
    id: input.ids.textOf(arrival),
    time: formatInstant(input.slots.startMs[slot]!),
    endTime: formatInstant(input.slots.endMs[slot]!),
  };
}
