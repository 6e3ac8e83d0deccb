/**
 * Folder base/. What every other folder may import: events and times, structures, small files, counters, errors and
 * bounds. This file has every bound on the cost of clients, sources and files, with its arithmetic. Tuning constants are
 * where they are used.
 */

const KIB = 1024;
const MIB = 1024 * KIB;
/** Request target; longer ones get 414. 100 UUIDs as `roomId=<36>&` are 4.4 KB. */
export const REQUEST_TARGET_BYTES_MAX: number = 8 * KIB;
/** Characters of X-Request-Id in the access log. UUIDs have 36; no whole token fits. */
export const REQUEST_ID_CHARACTERS_MAX = 64;
/** Entries of a list in a header field that count. Browsers send 9 in Accept; 32 entries take 0.1 ms. */
export const LIST_ENTRIES_MAX = 32;
/** Values of one query parameter. Looking up 100 posting lists takes 0.1 ms. */
export const PARAMETER_VALUES_MAX = 100;
/** Days of one window: a year. */
export const DAYS_MAX = 366;
/** Weeks of one request for free time. Computing their local times takes 5 ms. */
export const WEEKS_MAX = 60;
/** The largest capacity of a room. */
export const CAPACITY_MAX = 999_999;
/** Rooms of a file. 20,000 × 0.2 KB, sorted in 30 ms. */
export const ROOMS_MAX = 20_000;
/** Time between two reads of the rooms of a database: 20,000 rows take 50 ms on a thread of their own. */
export const ROOMS_READ_EVERY_MS = 10_000;
/** A file of rooms: 20,000 × 0.3 KB. */
export const ROOMS_FILE_BYTES_MAX: number = 16 * MIB;
/** UTF-16 units of a room's name, and of its building. */
export const ROOM_TEXT_UNITS_MAX = 256;
/** Faults of a rooms file that are listed. All faults are counted. */
export const ROOM_FAULTS_MAX = 10;
/** Time zones chosen by clients, kept per thread: 64 × (0.1 MB + 1,024 offsets × 60 bytes) = 10 MB. */
export const ZONES_KEPT_MAX = 64;
export const ZONE_OFFSETS_KEPT_MAX = 1024;
/** Characters of a time zone's name. The longest has 32. */
export const ZONE_CHARACTERS_MAX = 64;
/** `limit` of one page. 10,000 events are 3.8 MB of JSON. */
export const PAGE_LIMIT_MAX = 10_000;
/** UTF-16 units of a text that filters, directories and conflicts use: every text but the title. Lists of 25 lecturers have 500. */
export const NAME_UNITS_MAX = 1024;
/** UTF-16 units of a lessonId, which a calendar has as UID. */
export const LESSON_ID_UNITS_MAX = 200;
/** Encoded cursor: a name has 3,072 bytes of UTF-8 at most; with two instants and an identifier 3,300; in base64 4,400. */
export const CURSOR_CHARACTERS_MAX = 4608;
/** UTF-16 units of `q` as it is searched. V8 searches a text of up to 250 units in linear time: 20 MB take 0.1 s at worst. */
export const SEARCHED_UNITS_MAX = 200;
/** Faults listed in one problem. Each repeats a name from the request target, so the names take at most 8 KiB together. */
export const PARAMETER_FAULTS_MAX = 100;
/** Unknown parameters of one query that get a suggestion, at 0.03 ms each. */
export const SUGGESTIONS_MAX = 10;

/** A credential. Tokens with many claims reach 4 KB; Node accepts 16 KiB of header fields together. */
export const TOKEN_BYTES_MAX: number = 8 * KIB;
/** Token headers remembered: one per key of an issuer, some hundred bytes each. */
export const TOKEN_HEADERS_MAX = 32;
/** Verified tokens kept: 0.7 KB each with a handful of values, 14 MB when full. With 1,000 values, a token counts as up to 50. */
export const TOKEN_CACHE_ENTRIES_MAX = 20_000;
/** Memory of the values of a usual token. */
export const TOKEN_ENTRY_BYTES = 700;
/** Longest time until a cached token is verified again. */
export const TOKEN_CACHE_TTL_MS_MAX = 60_000;
/** Keys tried for a token without `kid`, or whose `kid` several keys have: 0.1 ms each. */
export const KEYS_TRIED_MAX = 8;
/** Slow keys tried for a token (P-384, P-521, RSA over 4,096 bits): 0.3 to 1.6 ms each. Rotations need 2. */
export const DEAR_KEYS_TRIED_MAX = 2;
/** Keys being tried per serving thread; further requests get 503. 512 × 0.2 ms (RSA of 4,096 bits) = OVERLOAD_MS_DEFAULT. */
export const KEY_TRIES_UNDER_WAY_MAX = 512;
/** Tokens per serving thread that wait for a key fetch; requests with further tokens get 503. 512 × 12 KB = 6 MB. */
export const KEY_WAITS_MAX: number = KEY_TRIES_UNDER_WAY_MAX;
/** Bits of an RSA key. Verifying with 8,192 takes 0.6 ms, four times as long as with 4,096. */
export const RSA_MODULUS_BITS_MAX = 8192;
/** Bits of an RSA exponent. 65,537 is usual. With 64 bits, verifying takes four times as long. */
export const RSA_EXPONENT_BITS_MAX = 32;
/** Keys read from a fetched key set. Importing 100 RSA keys takes 4 ms; 100 of P-521 take 0.1 s. */
export const KEY_SET_KEYS_MAX = 100;
/** Size of a fetched key set. 100 RSA keys with their certificates have 500 KB. */
export const KEY_SET_BYTES_MAX: number = 1 * MIB;
/** Bytes of a key server's answer beyond twice its body: 16 KiB of headers, 128 KiB read ahead, and chunks of one byte for 0.1 s. */
export const KEY_SET_FRAMING_BYTES_MAX: number = 256 * KIB;
/** Duration of one fetch of a key set, redirects included. Requests that wait for keys wait at most this long. */
export const KEY_SET_FETCH_MS_MAX = 5000;
/** Shortest time between two fetches of a key set, if it is not fetched more often anyway. */
export const KEY_SET_COOLDOWN_MS = 30_000;
/** How long fetched keys are used while fetching fails: a day is enough to repair an issuer, and ends a withdrawn key. */
export const KEY_SET_STALE_MS = 86_400_000;
/** Values that one token or enrolment may select on, in all fields together. */
export const IDENTITY_VALUES_MAX = 1000;
/** A JWKS or secret file. A key set of 100 keys is 500 KB. */
export const KEY_FILE_BYTES_MAX: number = 1 * MIB;
/** An enrolment map. 100,000 users with five groups are 20 MB. */
export const ENROLMENT_FILE_BYTES_MAX: number = 256 * MIB;
/** Lifetime of a feed address in days: ten years. */
export const FEED_DAYS_MAX = 3660;
/** Verified feed addresses kept per serving thread, in two halves of 13,000: 200 characters and 1 KB each. */
export const FEED_CACHE_BYTES_MAX: number = 32 * MIB;
/** The revocations of feeds. 100,000 subjects are 6 MB. */
export const FEED_REVOCATIONS_BYTES_MAX: number = 16 * MIB;

/** One source record. A longer record is rejected and never held whole. */
export const RECORD_BYTES_MAX: number = 1 * MIB;
/** Columns of a CSV source. A record of 1,000 texts takes 64 KB. */
export const CSV_COLUMNS_MAX = 1000;
/** Lines above the header of a CSV source lie within HEAD_BYTES. */
export const HEADER_LINE_MAX = 100;
/** First bytes of a source from which its format is found, and the delimiter of CSV: 300 rows. */
export const HEAD_BYTES: number = 64 * KIB;
/** Bytes of CSV read again after unclosed quotes, as a multiple of the source: a crafted source takes five times as long. */
export const CSV_REREAD_TIMES_MAX = 4;
/** Served changes of records in memory, kept until they are merged into the list of all records: 1,024 × 0.1 KB. */
export const MEMORY_OVERLAY_ENTRIES_MIN = 1024;
/** Rejections kept with position and reason: 1,000 × 0.3 KB. All rejections are counted. */
export const REJECTIONS_KEPT_MAX = 1000;
/** UTF-16 units of a property's name. V8 hashes longer texts by their length, so distinct names of equal length take quadratic time. */
export const PROPERTY_NAME_UNITS_MAX = 16_383;
/** UTF-16 units of an id kept with a rejection. */
export const REJECTED_ID_UNITS_MAX = 64;
/** Records, and their columns, that `inspect` samples: at most 100 MB of text. */
export const LOOK_RECORDS_MAX = 1000;
export const LOOK_COLUMNS_MAX = 1000;
/** Rejections of each code that are always kept and shown. */
export const REJECTION_SAMPLES = 3;
/** Overridden records among the kept rejections. Overrides are no faults, so a sample is enough. */
export const OVERRIDES_KEPT_MAX = 100;
/** Unserved fields counted by name, and UTF-16 units of a name: 100 × 0.4 KB. */
export const UNSERVED_FIELDS_KEPT_MAX = 100;
export const UNSERVED_NAME_UNITS_MAX = 128;
/** Names of columns kept for the message about a wrong field map: 1,000 × 0.1 KB. */
export const COLUMN_NAMES_KEPT_MAX = 1000;
/** Bytes read from a source at a time: 1,200 records of NDJSON take 4 ms, or 10 ms if each must be decoded. */
export const READ_CHUNK_BYTES: number = 512 * KIB;
/** Values remembered per field by normaliser and builder: 8,192 × 0.1 KB × 8 fields = 7 MB each. */
export const VALUE_MEMO_ENTRIES_MAX = 8192;
/** UTF-16 units of a remembered value. At most 8,192 × 0.6 KB × 8 fields = 40 MB. */
export const VALUE_MEMO_UNITS_MAX = 256;
/** Rows of one record with several values. 25 lecturers of 40 groups are 1,000; a record of 1 MiB could have 10¹¹. */
export const ROWS_PER_RECORD_MAX = 1000;
/** UTF-16 units of a pattern of a field map. Its program has about as many steps, or 1,000 times as many with repeats. */
export const PATTERN_UNITS_MAX = 1000;
/** UTF-16 units of a text that a pattern is tried on: at most 4,096 × 10⁶ steps of the engine, for a pattern that is made to be slow. */
export const MATCHED_UNITS_MAX = 4096;
/** Bytes of all rows, about 10 million events. Offsets have 32 bits, and a Buffer of Node 20 has at most 4 GiB. */
export const ROW_BYTES_MAX: number = 4 * 1024 * MIB - 64 * KIB;
/** Ordinals have 32 bits, and 0xFFFFFFFF means "none". */
export const EVENTS_MAX = 0xfffffffe;
/**
 * Removed and added events, as a share of all events, up to which a whole load patches the served image. Beyond it a
 * build can begin at once, and needs no objects: 1 % of 10,000,000 events are 150 MB of them.
 */
export const BUILD_PATCH_SHARE_MAX = 0.01;
/** A whole load with up to this many removed and added events always patches, which takes milliseconds. */
export const PATCH_EVENTS_MIN = 1000;

/** Weeks of a term: two years. A pattern has one event in each at most. */
export const TERM_WEEKS_MAX = 106;
/** Meetings of one record: a lesson on each day of the week, four times a day. */
export const MEETINGS_MAX = 28;
/** Records kept until the data tells the meaning of their weekdays: 20,000 × 1 KB. */
export const UNTOLD_RECORDS_MAX = 20_000;
/** Occurrences of one event of a calendar within the window: a lesson on each day of 27 years. */
export const OCCURRENCES_MAX = 10_000;
/** Days, periods, times of day and occurrences visited for the rules of one event: 400,000 × 80 ns = 32 ms. */
export const EVENT_STEPS_MAX = 400_000;
/** Steps for the rules of all events and time zones of a source: 40 s, or 150,000 weekly events over three years. */
export const CALENDAR_STEPS_MAX = 500_000_000;
/** Bytes of recurring events and their changed occurrences, kept until the whole source has been read: 150,000 × 0.9 KB. */
export const CALENDAR_KEPT_BYTES_MAX: number = 128 * MIB;
/** Components within components. RFC 5545 needs three. */
export const CALENDAR_DEPTH_MAX = 16;
/** UTF-16 units of a UID; a digest replaces a longer one. Real ones have at most 130. */
export const CALENDAR_UID_UNITS_MAX = 1024;
/** Different properties of one event of a calendar; exporters write at most 40. Counting them takes 3 µs for each of its occurrences. */
export const CALENDAR_PROPERTIES_MAX = 256;
/** UTF-16 units of a TZID, which is kept with each date of an event. Real names have at most 100. */
export const ZONE_NAME_UNITS_MAX = 256;
/** Clock changes of one VTIMEZONE: four times as many as two a year from 1601, where the zones of Outlook begin, to 2100. */
export const ZONE_CHANGES_MAX = 4000;

/** Memory of one load: this share of the free memory. If 90 of 512 MiB are in use, a load has 316 MiB, for about 300,000 events. */
export const LOAD_MEMORY_SHARE: number = 3 / 4;
/** Least memory of a load, in MiB: LOAD_BASE_BYTES and some events. */
export const LOAD_MEMORY_MB_MIN = 64;
/** Memory of a load before its first record: thread 12 MiB, 7 × READ_CHUNK_BYTES, one record as bytes, text and value. */
export const LOAD_BASE_BYTES: number = 24 * MIB;
/** Memory of a patch as a multiple of the new image. */
export const PATCH_IMAGE_SHARE = 1.2;
/** Memory of a patch for each byte of its records: 250 bytes become an event of 1.5 KB. */
export const PATCH_BYTES_PER_BYTE = 6;
/** Pieces, or decoded records, between two memory checks: 4 MiB, read in 30 ms. A check takes 0.03 ms. */
export const LOAD_LOOK_CHUNKS = 8;
export const LOAD_LOOK_RECORDS = 256;
/** Extra memory per distinct value at the end of a build: an object for its bytes, its order and its place. */
export const FINISH_BYTES_PER_VALUE = 256;

/** Serving threads. Each has its own tokens, interval trees and part of the caches. */
export const SERVING_THREADS_MAX = 128;
/** Cached rows are kept after a patch of at most this many changed events: 1,000 × 5 fields × 0.5 µs. */
export const CARRIED_CHANGES_MAX = 1000;
/** Bodies up to this size are made in one turn: 700 rows of MessagePack take 1.2 ms. */
export const BODY_WHOLE_BYTES_MAX: number = 256 * KIB;
/** A larger body is made in slices, one per turn: 0.5 ms of MessagePack. 500 clients that do not read hold 31 MiB. */
export const BODY_SLICE_BYTES: number = 64 * KIB;
/** Sent slices kept for reuse, per thread: 32 × 64 KiB = 2 MiB. */
export const BODY_SLICES_KEPT_MAX = 32;
/** Slices that readers of one answer share, per snapshot and thread: 8 MiB, more than socket buffers hold. */
export const BODY_SLICES_SHARED_MAX = 128;
/** All caches of one timetable: 38 MB of rows for 100,000 events, and 1/8 for answers. */
export const CACHE_MB_DEFAULT = 256;
export const CACHE_BYTES_DEFAULT: number = CACHE_MB_DEFAULT * MIB;
/** The part of the caches for whole answers: 32 MiB are 5,000 of 6 KB. */
export const ANSWER_CACHE_SHARE: number = 1 / 8;
/** Largest cached answer. Caching larger ones gains little. */
export const ANSWER_CACHE_ENTRY_BYTES_MAX: number = 64 * KIB;
/** Shortest compressed body. Shorter bodies fit into one packet. */
export const COMPRESSION_BYTES_MIN: number = 1 * KIB;
/** Digests of answers made only once: 8,192 × 8 bytes = 64 KB. */
export const ANSWERS_SEEN_ENTRIES = 8192;
/** Rows of one posting list that are cached together: 1,400 events. Gathering them takes 1 ms for JSON and 5 ms for MessagePack. */
export const KEY_ROWS_BYTES_MAX: number = 512 * KIB;
/** Rows read ahead of a copy, beyond the last row: half of a second-level cache of 1 MiB, so that they stay there. */
export const READ_AHEAD_BYTES_MAX: number = 512 * KIB;
/** Accept headers remembered with their media type: 256 × 0.2 KB. */
export const ACCEPT_MEMO_ENTRIES_MAX = 256;
/** Paths remembered with their route: 64 × 0.3 KB. */
export const ROUTE_MEMO_ENTRIES_MAX = 64;
/** Intervals of one interval-tree-1d tree: 1,024 take 2 ms to build, and a request waits for at most one tree. */
export const INTERVALS_PER_TREE_MAX = 1024;
/** Trees kept by one interval index: 256 × 1,024 intervals × 100 bytes = 26 MB. */
export const INTERVAL_TREES_MAX = 256;
/** Scans before a tree is built: 12 µs each; a search in a tree takes 8 µs, its build 2 ms. Counted in a byte. */
export const INTERVAL_SCANS_MAX = 255;
/** Requests of one connection in progress. Browsers with pipelining used six. */
export const REQUESTS_IN_FLIGHT_MAX = 8;
/** Further requests of a connection that wait: 128 × 3 KB. Clients that send more without reading are cut off. */
export const PIPELINED_WAITING_MAX = 128;
/** Bytes of waiting answers of one connection, besides three answers of BODY_WHOLE_BYTES_MAX. 300 answers of 5 MB would be 1.5 GB. */
export const PIPELINED_BYTES_MAX: number = 256 * KIB;
/** A waiting reader must take READER_BYTES_MIN in this time. With 2 MB in its own buffers, a client at 100 KB/s takes nothing for 20 s. */
export const READER_WINDOW_MS = 30_000;
/** Bytes that a waiting reader must take in READER_WINDOW_MS: 8 KiB/s × 30 s. */
export const READER_BYTES_MIN: number = 240 * KIB;
/** This many readers cut off within seconds halve the window. Freed buffers let other sockets take more, which looks like reading. */
export const READERS_CUT_OFF_MANY = 16;
/** Event streams of a server. 10,000 idle ones × 20 KB = 200 MB. */
export const EVENT_STREAMS_MAX_DEFAULT = 10_000;
/** Bytes of one publication's messages, one message for each snapshot that clients have: 20 of the largest. */
export const CHANGE_MESSAGES_BYTES_MAX: number = 4 * MIB;
/** Bytes of one publication's changes in a message. For more bytes, the message says to read everything again. */
export const CHANGE_MESSAGE_BYTES_MAX: number = 192 * KIB;
/** Time between two heartbeats of an idle stream. Common proxies give up after 20 to 60 s. */
export const EVENT_STREAM_HEARTBEAT_MS = 10_000;
/** Longest duration of an event stream. After its end the client reconnects, and its token is verified again. */
export const EVENT_STREAM_MS_MAX: number = 3600 * 1000;
/** Requests of one thread that wait for a version: 1,024 × 12 KB = 12 MB. */
export const VERSION_WAITS_MAX = 1024;
/** The longest wait of a request for a version. */
export const VERSION_WAIT_MS_MAX = 1000;
/** Changes that a loop over changes() has not taken: 16 × CHANGE_MESSAGE_BYTES_MAX = 3 MB, shared by all loops. */
export const CHANGES_WAITING_MAX = 16;
/** Snapshots with unfinished answers per thread. A reader of 38 MB at 8 KiB/s holds one for 79 min. */
export const SNAPSHOTS_SENT_MAX = 3;
/** Idle time of a connection. Node's own limit of 75 + 10 s is shorter, but does not apply after an empty line. */
export const CONNECTION_IDLE_MS_MAX = 90_000;
/** How long bytes are still read after the last answer of a connection. */
export const LINGER_MS_MAX = 1000;
/** Connections of one serving thread. 16,384 idle ones × 10 KiB = 160 MiB. */
export const CONNECTIONS_MAX_DEFAULT = 16_384;
/** Longest wait of a request for the CPU: 64 connections × 1 ms = 64 ms, 1,600 × 60 µs = 96 ms. */
export const OVERLOAD_MS_DEFAULT = 100;
/** A turn under overload. Two turns and a garbage collection: 2 × 2.5 + 5 = 10 ms until an answer. */
export const OVERLOAD_TURN_MS_MAX = 2.5;
/** Retry-After of a refusal: the time that recovery takes. */
export const OVERLOAD_RETRY_AFTER_SECONDS = 1;
/** Part of the machine's or container's memory that a snapshot file may take. Serving needs the rest. */
export const IMAGE_MEMORY_SHARE_MAX = 0.75;
/** Events kept of one publication's difference: 100,000 × 0.2 KB = 20 MB. A larger difference is only counted. */
export const SNAPSHOT_DELTA_ENTRIES_MAX = 100_000;
/** Time between two checks of a watched file: some system calls, 0.1 ms. */
export const FILE_POLL_MS = 1000;
/** Longest time of one such check. A file system that takes longer is down, also on a busy machine. */
export const LOOK_MS_MAX = 10_000;
/** How long a file must stay unchanged before an incomplete last record counts as a fault of the data. */
export const FILE_CUT_REST_MS = 2000;
/** Longest pause between two pieces of a file, for example on a network file system. */
export const FILE_IDLE_MS_MAX = 30_000;
/** Longest time to read a file: 9 GB at 10 MB/s. */
export const FILE_TOTAL_MS_MAX: number = 15 * 60_000;
/** Shortest and longest pause before something that failed is tried again. Pauses double in between. */
export const RETRY_MS_MIN = 1000;
export const RETRY_MS_MAX = 60_000;

/** The pause after this many failures in a row, from 1: it doubles from `msMin` to `msMax`. */
export function retryPauseMs(
  failures: number,
  msMax: number = RETRY_MS_MAX,
  msMin: number = RETRY_MS_MIN,
): number {
  return Math.min(msMin * 2 ** (failures - 1), msMax);
}
/** Longest time to read one configuration file. */
export const TEXT_FILE_MS_MAX = 30_000;
/** Longest wait for the end of a thread. A slower thread waits for the system and cannot be aborted. */
export const THREAD_END_MS_MAX = 2000;
/** File system clocks tick every 1 to 10 ms: a younger file could change again within the same tick. */
export const FILE_AGE_MS_MIN = 20;

/** Files that one folder or glob may have: checking one takes 20 µs. */
export const FOUND_FILES_MAX = 10_000;
/** Folders that one glob may read: 0.1 ms each. */
export const FOUND_FOLDERS_MAX = 10_000;
/** Sources that are read at a time. Each holds a file or a connection, and two pieces. */
export const PARTS_AT_ONCE = 8;
/** Sources listed by /health and the library. Failing sources come first; all are counted. */
export const PARTS_LISTED_MAX = 1000;
/** One batch of a copy: 4,096 records are compressed in 10 ms. */
export const COPY_BATCH_RECORDS = 4096;
export const COPY_BATCH_BYTES_MAX: number = 2 * MIB;
/** An unpacked batch: 2 MiB and one record take 18 MiB at six bytes a character. */
export const COPY_BATCH_UNPACKED_BYTES_MAX: number = 64 * MIB;
/** Part of a load's memory for copies of records of several sources. A copy takes 60 of the 1,300 bytes of an event. */
export const COPY_MEMORY_SHARE: number = 1 / 4;

/** Longest time until an upstream's headers arrive, connecting included, and longest time between two pieces of its answer. */
export const UPSTREAM_HEADERS_MS_MAX = 60_000;
export const UPSTREAM_IDLE_MS_MAX = 30_000;
/** Longest load from an upstream, all pages: 380 MB of 1,000,000 events take seven minutes at 1 MB/s. */
export const UPSTREAM_TOTAL_MS_MAX: number = 15 * 60_000;
/** Redirects in a row, as RFC 1945 recommended. */
export const UPSTREAM_REDIRECTS_MAX = 5;
/** Interim answers (1xx) to one request. 100 and 103 come once each. */
export const UPSTREAM_INTERIM_ANSWERS_MAX = 8;
/** Size and duration of a token endpoint's answer. Tokens have 8 KiB at most. */
export const CLIENT_TOKEN_BYTES_MAX: number = 64 * KIB;
export const CLIENT_TOKEN_FETCH_MS_MAX = 10_000;
/** A token is renewed this long before it expires: three times the longest fetch. */
export const CLIENT_TOKEN_MARGIN_MS_MAX: number = 3 * CLIENT_TOKEN_FETCH_MS_MAX;
/** The longest pause between two failed fetches. */
export const CLIENT_TOKEN_BACK_OFF_MS_MAX = 60_000;
/** A file with the value of a header field: 8 KiB and some white space. */
export const HEADER_FILE_BYTES_MAX: number = 16 * KIB;
/** Pages of one load: 1,000,000 events at 100 a page. Page addresses take 10,000 × 0.2 KB = 2 MB. */
export const UPSTREAM_PAGES_MAX = 10_000;
/** Bytes of one load over the network, all pages. No snapshot has more than ROW_BYTES_MAX. */
export const UPSTREAM_BYTES_MAX: number = 2 * ROW_BYTES_MAX;
/** Longest Retry-After that is honoured: a day. */
export const RETRY_AFTER_MS_MAX: number = 24 * 3600 * 1000;
/** A JSON document whose records an expression gives: 200,000 records of 300 bytes. It is parsed as a whole. */
export const RECORDS_BYTES_MAX: number = 64 * MIB;
/** Longest time of an expression, which keeps its thread busy: below the 33 s after which a silent thread is ended. */
export const RECORDS_EXPRESSION_MS_MAX = 20_000;
/** Levels of calls of an expression: each takes about ten frames of the stack. */
export const RECORDS_DEPTH_MAX = 200;
/** Records of one document: 64 MiB hold a million of 64 bytes. */
export const RECORDS_MAX = 1_000_000;
/** A text that a function of an expression makes. Some functions of JSONata take 8 bytes a character: at most 8 MB a step. */
export const RECORDS_TEXT_UNITS_MAX = 1_000_000;
/** Names of a document that a message lists. */
export const RECORDS_SHOWN_MAX = 10;
/** A timetable file: 100 sources of 2 KB. Parsing 256 KiB of YAML takes 0.2 s, once for each change. */
export const TIMETABLE_FILE_BYTES_MAX: number = 256 * KIB;
/** Values of a timetable file, those that its aliases repeat included: one for each two bytes of a line of 13. */
export const TIMETABLE_VALUES_MAX = 50_000;
/** Faults of a timetable file that a message lists. */
export const TIMETABLE_FAULTS_MAX = 50;
/** Levels of a timetable file; the deepest entry is on level 8. */
export const TIMETABLE_DEPTH_MAX = 16;
/** A password file of libpq, or certificates: the roots of all public authorities have 250 KB. */
export const DATABASE_FILE_BYTES_MAX: number = 1024 * KIB;
/** A row or a change that a database sends as one message: in pieces, joined, and as text, 32 MiB take 96 MiB. */
export const DATABASE_ROW_BYTES_MAX: number = 32 * MIB;
/** Any other message of a database: 1,664 columns with names of 63 bytes are 135 KB. */
export const DATABASE_MESSAGE_BYTES_MAX: number = 1 * MIB;
/** Rows of one statement, COPY excepted: 1,000 changed rows of 64 KiB. */
export const DATABASE_ANSWER_BYTES_MAX: number = 64 * MIB;
/** Bytes of an error that are read, and UTF-16 units of each of its texts: messages have some hundred. */
export const DATABASE_ERROR_BYTES_MAX: number = 16 * KIB;
export const DATABASE_ERROR_TEXT_UNITS_MAX = 1000;
/**
 * Heap of the thread that follows and listens: 100,000 keys at 0.3 KB, one answer of 64 MiB as objects, one row of 32 MiB
 * as text.
 */
export const DATABASE_HEAP_MIB = 256;
/** Time between two heartbeats of a thread, and the number of missed ones that ends it: 33 s. Reading never keeps a thread busy for a second. */
export const THREAD_PULSE_MS = 3000;
export const THREAD_PULSES_MISSED_MAX = 10;
/** Tables that `inspect` looks at to propose a query: 500 × 40 columns of 60 bytes are 1.2 MB. */
export const CATALOGUED_TABLES_MAX = 500;
/** Changed rows of a followed table before it is read whole again: 100,000 × 0.3 KB = 30 MB. */
export const FOLLOWED_CHANGES_MAX = 100_000;
/** Changed rows that one statement reads: parsing 1,000 × 0.4 KB takes 5 ms. */
export const FOLLOWED_ROWS_AT_ONCE = 1000;
/** Bytes of changed rows before the table is read whole, which needs less memory. */
export const FOLLOWED_BYTES_MAX: number = 64 * MIB;
/** Silence after which a connection counts as broken, so that a dead network is noticed within 15 s. */
export const FOLLOWED_SILENT_MS_MAX = 10_000;
/** Time between two heartbeats of an idle connection. */
export const DATABASE_HEARTBEAT_MS = 4000;
/** Idle time before TCP probes a connection. Node sends ten probes, one a second, so a dead one ends after 14 s. */
export const DATABASE_KEEPALIVE_MS = 4000;
/** A map of lecturer names to identifiers: 100,000 × 80 bytes = 8 MB. */
export const LECTURER_IDS_BYTES_MAX: number = 16 * MIB;
/** Heap to parse a map of lecturers: 21 bytes for each byte of `{},{},…`. */
export const LECTURER_IDS_HEAP_BYTES: number = 24 * LECTURER_IDS_BYTES_MAX;
/** Past snapshots known to /schedule/changes: with a patch every 0.33 s, 256 reach back 84 s. 16 may be large: 16 × 200,000 × 4 bytes = 13 MB. */
export const SNAPSHOTS_KEPT_MAX = 256;
export const SNAPSHOTS_KEPT_MIN = 16;
/** Entries of all differences, if more than 16 snapshots are kept: 100 patches with 20 changes each. A patch makes them in 10 ms. */
export const SNAPSHOT_DIFFERENCES_ENTRIES_MAX = 100_000;
/** Entries of all differences between consecutive kept snapshots: 200,000 × 0.2 KB = 40 MB. */
export const SNAPSHOT_HISTORY_ENTRIES_MAX = 200_000;
/** Earlier rows kept with a change, for people who read what changed: 256 snapshots × 64 KiB = 16 MiB, if all are large. */
export const EARLIER_ROWS_BYTES_MAX: number = 64 * KIB;
/** More rows than this have more bytes than that: a row has at least 128 bytes. */
export const EARLIER_ROWS_MAX: number = EARLIER_ROWS_BYTES_MAX / 128;
/** Memory of a history entry during its creation: 300 bytes for the comparison and as much for the history. */
export const DIFFERENCE_BYTES_PER_ENTRY = 640;
/** Most bytes that V8 counts for a snapshot: above the 64 MiB that start a collection; two snapshots are less than half of the heap. */
export const SNAPSHOT_WEIGHT_BYTES_MAX: number = 96 * MIB;

/** Connections of the admin listener: a few probes, scrapers and people. */
export const ADMIN_CONNECTIONS_MAX = 64;
export const ADMIN_TOKEN_FILE_BYTES_MAX: number = 64 * KIB;
/** Fewest characters of the admin token: 128 bits are 22 in base64url, 32 in hexadecimal. */
export const ADMIN_TOKEN_CHARACTERS_MIN = 22;

/** Log lines that wait for standard error: 7,000 × 150 bytes. Later lines are dropped and counted. */
export const LOG_BYTES_MAX: number = 1 * MIB;
/** Lines of one kind that are logged at once in a minute. People who edit a file see each load; 20 changes a second do not fill a log. */
export const LOGGED_LINES_MAX = 20;
/** Reasons of one failure that are logged until it ends. Some reasons hold a number that changes with each attempt. */
export const LOGGED_REASONS_MAX = 5;
/** Log lines of one thread in transit to the main thread: 4,096 × 0.5 KB = 2 MB, taken in 50 ms. */
export const LOG_MESSAGES_MAX = 4096;

/** Longest time for the header fields of a request, and for the whole request. */
export const HEADERS_TIMEOUT_MS = 10_000;
export const REQUEST_TIMEOUT_MS = 15_000;
/** Idle time before a connection is closed. Load balancers close first, commonly after 60 s. */
export const KEEP_ALIVE_TIMEOUT_MS = 75_000;
/** Time between two checks of time limits. Node's default of 30 s would make the limits 30 s late. */
export const CONNECTIONS_CHECKING_INTERVAL_MS = 1000;
/** Header fields of a request; more get 431. Browsers behind proxies send 40. Node silently drops fields after the 2,000th. */
export const HEADER_FIELDS_MAX = 100;
/** Request line and header fields together; more bytes get 431. */
export const HEADERS_BYTES_MAX: number = 16 * KIB;
/** Bytes of a record in a store: a signed head has 1 KB, a replica's report 2 KB. NATS takes 1 MiB. */
export const STORE_RECORD_BYTES_MAX: number = 64 * KIB;
/** Files in a folder of a store: 1,000 reports, 1,000 announced heads, and as many images and patches; ten times that. */
export const STORE_FILES_MAX = 30_000;
/** Files of one record in a folder store, which keeps 8 and a few of writers at work. */
export const STORE_REVISIONS_LISTED_MAX = 200;
/** Longest silence of a store; after that, a call or a read fails. */
export const STORE_SILENT_MS_MAX = 5000;
/** Longest time that a closing publisher or replica waits for the store: each makes two or three calls. */
export const STORE_LEAVE_MS_MAX = 1000;
/** Time between two checks of the store by a replica, unless --refresh-seconds is given; changes are announced at once. */
export const REPLICA_POLL_SECONDS = 2;
/** A leader whose lease did not change for this long is replaced one round later: within 10 s. */
export const LEASE_MS_MAX = 7000;
/** A replica without a report for this long may have ended: five reports. */
export const REPLICA_SILENT_MS = 10_000;
/** A replica without a report for this long has ended: its record is removed. */
export const REPLICA_GONE_MS = 60_000;
/** Records of announced heads that are read: ten times what a store keeps. */
export const ANNOUNCED_MAX = 1000;
/** Reports of replicas that are read: ten times the 100 replicas that docs/many-machines.md calculates with. */
export const REPORTS_MAX = 1000;
/**
 * A reported sequence this much ahead of the publisher's clock is false. Sequences are milliseconds of a clock, and the clock of
 * another publisher may be wrong by hours, such as by its time zone.
 */
export const REPORTED_AHEAD_MS_MAX = 86_400_000;
/** Characters of a text in a report or a lease: a name, or the reason of a failure. */
export const RECORD_TEXT_MAX = 1000;
/** Newest images kept in a store. The pinned image and the last one of each minute, hour and day are kept, too. */
export const IMAGES_KEPT = 5;
/** Bytes of the images that are kept in a store, IMAGES_KEPT excepted: 41 images of 50 MB, or 4 of a million events. */
export const IMAGES_KEPT_BYTES_MAX: number = 2048 * MIB;
/** Images that are kept for ten minutes after their last use: at three changes a second one is stored each 43 s, and a slow replica fetches 30 MB in 285 s. */
export const IMAGES_UNUSED = 8;
/** The bytes of these images and their patches lie between these bounds: 64 MiB hold ten minutes of small ones, 2 GiB four images of a million events. */
export const IMAGES_UNUSED_BYTES_MIN: number = 64 * MIB;
export const IMAGES_UNUSED_BYTES_MAX: number = 2048 * MIB;
/** Bytes of a NATS message. A link is alive if it carries one within STORE_SILENT_MS_MAX, which is 105 KB/s. */
export const STORE_CHUNK_BYTES: number = 512 * KIB;
/** A line of a NATS server: INFO names each server of a cluster in 50 bytes. */
export const STORE_LINE_BYTES_MAX: number = 64 * KIB;
/** A message of a NATS server: a chunk has 512 KiB, the names of 100,000 records 8 MB. Parsing 32 MiB takes 0.3 s. */
export const STORE_MESSAGE_BYTES_MAX: number = 32 * MIB;
/**
 * Messages of a NATS server in a second, at 5 µs each. 1 GB/s comes in 2,000 chunks. A listing asks for each object and gets
 * 6,000 answers a second at 150 µs each; 50,000 are out of its reach on any machine. A control line counts as 500.
 */
export const STORE_OPERATIONS_MAX = 50_000;
/** A temporary file that was not written for this long belongs to a killed process: 4.5 GB at 10 MB/s take 7.5 minutes. */
export const ABANDONED_MS: number = 15 * 60_000;
/** Bytes of an image in memory during transfer. */
export const IMAGE_CHUNK_BYTES: number = 1 * MIB;
/** Changes of a head, and changes after which an image is stored whole again: 128 × 130 bytes take 22 KB in a head. */
export const STORED_CHANGES_MAX = 128;
/** Share of an image's length that the changes after it may have, in a store or a file: unpacking takes eight times as long as copying bytes. */
export const STORED_CHANGES_SHARE_MAX: number = 1 / 8;
/** A change up to this length stands in the head itself, so that replicas need not ask for it. Encoded in Base64 twice, it takes 29 KB. */
export const CHANGE_INLINE_BYTES_MAX: number = 16 * KIB;
/** Bytes of a stored history: 200,000 entries of 250 bytes. If ids are UUIDs, 200,000 entries take 10 MB. */
export const HISTORY_BYTES_MAX: number = 50 * MIB;
/** Threads for patches warm up with images up to this size, because a warm-up takes as much memory again for a moment. */
export const WARM_UP_IMAGE_BYTES_MAX: number = 64 * MIB;
/** Time from the first load to the warm-up. Programs that end soon, such as tests, need no warm-up. */
export const WARM_UP_DELAY_MS = 1000;
/** Patches of a warm-up: V8 optimises the code of patches after a few runs. */
export const WARM_UP_ROUNDS = 3;
/** Share of changed events at which applying a change takes about as long as reading the image. Such a change has no edit. */
export const CHANGE_EVENTS_SHARE_MAX = 0.01;
/** Changes of up to this many events always have an edit, because change and image take milliseconds. */
export const CHANGE_EVENTS_MIN = 100;
/** Most events of an edit: 10,000 of 250 bytes are 2.5 MB. */
export const CHANGE_EVENTS_MAX = 10_000;
/** Bytes of an edit: 10,000 events of 400 bytes, and rejections. */
export const CHANGE_BYTES_MAX: number = 4 * MIB;
/** Hashes of unusable images that a replica remembers. */
export const QUARANTINED_MAX = 32;
