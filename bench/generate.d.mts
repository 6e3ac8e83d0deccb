import type { Writable } from 'node:stream';
import type { TimetableEvent } from '../src/base/model/event.js';
import type { Room } from '../src/base/model/room.js';

export type GeneratedEvent = Readonly<TimetableEvent> & {
  readonly lecturerId: string | null;
  readonly roomName?: string;
  readonly courseName?: string;
};

export interface GenerateOptions {
  readonly events: number;
  /** Any safe integer. */
  readonly seed: number;
  /** Gives every event its own start, the worst case for an index over slots. Default false. */
  readonly distinctSlots?: boolean;
  /** Gives rooms and courses names. Default false. */
  readonly names?: boolean;
}

export function generateEvents(options: GenerateOptions): Generator<GeneratedEvent, void, undefined>;
export function generateRooms(options: GenerateOptions): readonly Room[];
export function generateFile(file: string, options: GenerateOptions): Promise<void>;
/** Ends the stream. */
export function writeNdjson(records: Iterable<object>, stream: Writable): Promise<void>;
