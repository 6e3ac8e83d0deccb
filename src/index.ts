/** The public API of Lectern. Anything else may change without notice. */

export type { Explanation } from './answer/explain.js';
export type { ChangeCounts, PublicationState, TimetableStatus } from './answer/present.js';
export type { ChangesOptions, MissedChanges, TimetableChange } from './app/change-loop.js';
export type { CloseOptions, TimetableServer } from './app/open-servers.js';
export { type Publishing, publishTimetable } from './app/publishing.js';
export type * from './app/query-types.js';
export type { ServingCondition } from './app/serving.js';
export { openTimetable } from './app/timetable.js';
export type {
  LoadedEvent,
  PublishedEvent,
  RefusedEvent,
  TimetableEvents,
} from './app/timetable-events.js';
export type { Timetable } from './app/timetable-interface.js';
export type { IdentityValues } from './auth/identity.js';
export {
  LecternError,
  type LecternErrorCode,
  type ParameterFault,
  type ParameterFaultCode,
} from './base/errors.js';
export type {
  ConflictEntry,
  DirectoryEntry,
  Fault,
  FreeEntry,
  IdentifierMode,
  RecordPosition,
  Rejection,
  RejectionCode,
  TimetableEvent,
  TimetableRecord,
} from './base/model/event.js';
export type { ConflictBy, DirectoryName } from './base/model/fields.js';
export type { FormatName } from './base/model/format.js';
export type { DateOrder, FieldMap, FieldValue, Term, WeeklyPattern } from './base/model/read-rules.js';
export type { Room } from './base/model/room.js';
export type { SourcePart, SourceParts, SourceState } from './base/model/source-state.js';
export type { AmbiguousTimes } from './base/model/zone.js';
export { type Announcement, type Channel, type ChannelStatus, openChannel } from './fleet/channel.js';
export type { Floor, ReplicaReport } from './fleet/store-records.js';
export type { RequestHandler } from './http/handler.js';
export type { Logger } from './http/logger.js';
export type { ListenAddress } from './http/server/listen-address.js';
export type {
  AdminListenerOptions,
  EmbeddedAuthOptions,
  EmbeddedHandlerOptions,
  FeedServingOptions,
  PublishedTimetable,
  PublishingOptions,
  RoomsDescription,
  ServeOptions,
  SourceAuth,
  SourceDescription,
  TimetableDescription,
  TimetableOptions,
} from './options/option-types.js';
export type { GateOptions, Refusal, RefusalCode } from './refresh/gate.js';
export type { LoadOutcome, LoadResult } from './refresh/keeper.js';
export type { RefreshOptions } from './refresh/refresher.js';
export type { Origin, SnapshotSummary } from './snapshot/summary.js';
export type {
  RecordDelta,
  RecordLoad,
  RecordLoadOptions,
  RecordSource,
  Records,
  RecordWatch,
} from './source/memory-source.js';
export { MemorySource, type RecordChange } from './source/memory-source.js';
export type { LoadProgress } from './source/source.js';
export type { SourceSpec } from './source/spec.js';
