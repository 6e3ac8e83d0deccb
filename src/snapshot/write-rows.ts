import { InstantTexts } from '../base/model/instant-texts.js';
import { isPlainJsonText } from '../base/model/text.js';
import { formatInstant } from '../base/model/time.js';
import { copyText, viewOf } from '../base/structures/byte-strings.js';
import type { DictionaryBuilder } from '../base/structures/dictionary.js';
import { shared } from '../base/structures/slabs.js';
import { CODED_FIELDS, type OrderedEvents } from './columns.js';
import type { RowsImage } from './image.js';
import {
  checkSize,
  jsonByteLength,
  PACKED_ROW_FRAME_BYTES,
  packedByteLength,
  packedTextLength,
  ROW_FRAME,
} from './rows.js';

const CLOSING_BRACKET = 0x5d;
/** The id and the times come first and have no column. */
const COLUMNS_FROM = 3;
const OUTPUT_COLUMNS = CODED_FIELDS.filter((field) => field.output);
const INSTANT = formatInstant(0);
const ID_FRAME: DataView = viewOf(Buffer.from(`${ROW_FRAME[0]}"`));

/** Writes all rows to one array, from pieces made once per distinct value. @throws LecternError `source-too-large` */
export function writeRows(events: OrderedEvents): RowsImage {
  const { order, slotOf, slots, ids } = events;
  const columns = OUTPUT_COLUMNS.map(({ name }, n) => {
    const { dictionary, codes } = events.columns[name];
    const behind = n + 1 === OUTPUT_COLUMNS.length ? `${ROW_FRAME[COLUMNS_FROM + n + 1]},` : '';
    return { codes, pieces: piecesOf(dictionary, String(ROW_FRAME[COLUMNS_FROM + n]), behind) };
  });
  const { start, packedStart } = measure(events, columns);
  const bytes = shared.uint8(Math.max('[]'.length, start[order.length]!));
  const target = viewOf(bytes);
  bytes.set(Buffer.from('['));
  let at = 1;
  const texts = new InstantTexts();
  let slot = -1;
  let times = ID_FRAME;
  for (let ordinal = 0; ordinal < order.length; ordinal++) {
    const arrival = order[ordinal]!;
    if (slotOf[ordinal] !== slot) {
      slot = slotOf[ordinal]!;
      times = timesBytes(texts.of(slots.startMs[slot]!), texts.of(slots.endMs[slot]!));
    }
    at = put(ID_FRAME, 0, ID_FRAME.byteLength, target, at);
    const idStart = ids.startOf(arrival);
    const idEnd = ids.startOf(arrival + 1);
    if (isPlainJsonText(ids.bytes, idStart, idEnd)) at = put(ids.view, idStart, idEnd, target, at);
    else {
      const escaped = viewOf(Buffer.from(JSON.stringify(ids.textOf(arrival)).slice(1, -1), 'utf8'));
      at = put(escaped, 0, escaped.byteLength, target, at);
    }
    at = put(times, 0, times.byteLength, target, at);
    for (let n = 0; n < columns.length; n++) {
      const { codes, pieces } = columns[n]!;
      const code = Math.min(codes[ordinal]!, pieces.packedLength.length - 1);
      at = put(pieces.view, pieces.start[code]!, pieces.start[code + 1]!, target, at);
    }
    if (at !== start[ordinal + 1]) {
      throw new Error(`row ${ordinal} ends at ${at}, not at the measured end`);
    }
  }
  bytes[bytes.length - 1] = CLOSING_BRACKET;
  return { bytes, start, packedStart };
}

function put(source: DataView, from: number, to: number, target: DataView, offset: number): number {
  copyText(source, from, to, target, offset);
  return offset + to - from;
}

/** The bytes that each distinct value adds to a row, by code. The last piece is for null. */
interface Pieces {
  /** Piece c is bytes [start[c], start[c + 1]): the JSON with its frame. */
  readonly view: DataView;
  readonly start: Uint32Array;
  readonly packedLength: Uint32Array;
}

function piecesOf(dictionary: DictionaryBuilder, before: string, behind: string): Pieces {
  const frameBytes = before.length + behind.length;
  const count = dictionary.size + 1;
  const start = new Uint32Array(count + 1);
  const packedLength = new Uint32Array(count);
  for (let code = 0; code < count; code++) {
    const value = dictionary.valueOf(code);
    start[code + 1] = start[code]! + frameBytes + jsonByteLength(value);
    packedLength[code] = packedByteLength(value);
  }
  const bytes = Buffer.allocUnsafe(start[count]!);
  for (let code = 0; code < count; code++) {
    bytes.write(before + JSON.stringify(dictionary.valueOf(code)) + behind, start[code]!, 'utf8');
  }
  return { view: viewOf(bytes), start, packedLength };
}

function measure(
  { order, ids }: OrderedEvents,
  columns: readonly { readonly codes: Uint32Array; readonly pieces: Pieces }[],
): Pick<RowsImage, 'start' | 'packedStart'> {
  const fixed = ID_FRAME.byteLength + timesBytes(INSTANT, INSTANT).byteLength;
  const packedFixed = PACKED_ROW_FRAME_BYTES + 2 * packedByteLength(INSTANT);
  const start = shared.uint32(order.length + 1);
  const packedStart = shared.uint32(order.length + 1);
  let at = 1;
  let packedAt = 0;
  start[0] = at;
  for (let ordinal = 0; ordinal < order.length; ordinal++) {
    const arrival = order[ordinal]!;
    const idStart = ids.startOf(arrival);
    const idEnd = ids.startOf(arrival + 1);
    at += fixed;
    at += isPlainJsonText(ids.bytes, idStart, idEnd)
      ? idEnd - idStart
      : jsonByteLength(ids.textOf(arrival)) - 2;
    packedAt += packedFixed + packedTextLength(idEnd - idStart);
    for (let n = 0; n < columns.length; n++) {
      const { codes, pieces } = columns[n]!;
      const code = Math.min(codes[ordinal]!, pieces.packedLength.length - 1);
      at += pieces.start[code + 1]! - pieces.start[code]!;
      packedAt += pieces.packedLength[code]!;
    }
    start[ordinal + 1] = at;
    packedStart[ordinal + 1] = packedAt;
  }
  checkSize(order.length, at);
  return { start, packedStart };
}

/** The bytes of a row from the closing quote of the id to the closing quote of the end time. */
function timesBytes(time: string, endTime: string): DataView {
  return viewOf(Buffer.from(`"${ROW_FRAME[1]}"${time}"${ROW_FRAME[2]}"${endTime}"`));
}
