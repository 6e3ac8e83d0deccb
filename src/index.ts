/** The public API of Lectern. What is not exported here may change without notice. */
export {
  LecternError,
  type LecternErrorCode,
  type ParameterFault,
  type ParameterFaultCode,
} from './errors.js';
export type {
  ConflictEntry,
  IdentifierMode,
  RecordPosition,
  Rejection,
  RejectionCode,
  TimetableEvent,
} from './model/event.js';
export type { ConflictBy } from './model/fields.js';
export type { Explanation } from './query/explain.js';
export type { SnapshotSummary } from './snapshot/summary.js';
export type {
  LoadOptions,
  LoadProgress,
  LoadSummary,
  RecordSink,
  Source,
  SourceFormat,
} from './source/source.js';
export {
  type ConflictPage,
  type ConflictQuery,
  type EventPage,
  openTimetable,
  type PageQuery,
  type ScheduleQuery,
  type Timetable,
  type TimetableOptions,
} from './timetable.js';
export type { SourceState } from './view/view-source.js';
