/** Every bound of the service, with its arithmetic. A bound that is not here does not exist. */

const KIB = 1024;
const MIB = 1024 * KIB;

/** Request target in bytes; beyond it 414. 100 UUIDs as `roomId=<36>&` are 4.4 KB, so twice that fits. */
export const REQUEST_TARGET_BYTES_MAX: number = 8 * KIB;
/** Values of one query parameter. 100 lookups of a posting list cost about 0.1 ms. */
export const PARAMETER_VALUES_MAX = 100;
/** `limit` of one page. 10,000 events are about 3.8 MB of JSON. */
export const PAGE_LIMIT_MAX = 10_000;
/** UTF-16 units of a conflict's key in a cursor; of a longer key the cursor holds the beginning and a digest. */
export const CURSOR_KEY_UNITS_MAX = 256;
/**
 * Encoded cursor, in characters: 256 units are at most 1,536 bytes of escaped JSON (\u00XX each), with two instants and a
 * digest 1,620, in base64 2,160.
 */
export const CURSOR_CHARACTERS_MAX = 2304;
/** Faults listed in one problem: each repeats a parameter name of the 8 KiB target. */
export const PARAMETER_FAULTS_MAX = 100;
/** Unknown names in one query for which the nearest known one is looked for: 0.03 ms each. */
export const SUGGESTIONS_MAX = 10;

/** The credential, in bytes. Tokens with many claims reach 4 KB; Node takes 16 KiB of headers in all. */
export const TOKEN_BYTES_MAX: number = 8 * KIB;
/** Headers of good tokens that are known by how they are written, one per key of an issuer: of a few hundred bytes each. */
export const TOKEN_HEADERS_MAX = 32;
/** Verified tokens kept. About 0.7 KB each with a handful of claims: 14 MB when full. */
export const TOKEN_CACHE_ENTRIES_MAX = 20_000;
/** Longest that a verified token is trusted without verifying it again. */
export const TOKEN_CACHE_TTL_MS_MAX = 60_000;
/** Keys tried for one token that names none of them, or a name that many have. Each try costs about 0.1 ms. */
export const KEYS_TRIED_MAX = 8;
/**
 * Of these, keys of P-384, P-521 and RSA above 4,096 bits, of which a try costs 0.3 to 1.6 ms. Two are what there is while an issuer
 * changes its key.
 */
export const DEAR_KEYS_TRIED_MAX = 2;
/**
 * Keys that are being tried at a time, of each serving thread, for all tokens that were not verified before: more get 503 at once.
 * With RSA of 4,096 bits a try takes 0.2 ms of processor, half of it on the serving thread: so all are done in 0.1 s, which is
 * OVERLOAD_MS_DEFAULT, and what comes back of them within one turn takes 50 ms at the most. Tokens that name their key take one
 * each, 512 at a time and 5,000 a second; forged ones that name none KEYS_TRIED_MAX, so 64 at a time.
 */
export const KEY_TRIES_UNDER_WAY_MAX = 512;
/**
 * Tokens that wait for keys to be fetched, of each serving thread; further ones get 503 at once. As many as can be verified when
 * the keys have come, so that none of them has waited in vain; of 12 KB with their requests at the most, 6 MB.
 */
export const KEY_WAITS_MAX: number = KEY_TRIES_UNDER_WAY_MAX;
/** Bits of an RSA key. At 8,192 a verification takes about 0.6 ms, four times that of 4,096. */
export const RSA_MODULUS_BITS_MAX = 8192;
/** Bits of an RSA exponent. 65,537 is usual, and Go reads 31 bits. At 64 a verification takes 4 times as long. */
export const RSA_EXPONENT_BITS_MAX = 32;
/** Keys read of a key set from an address: more than any issuer has. RSA keys are imported in 4 ms, of P-521 in 0.1 s. */
export const KEY_SET_KEYS_MAX = 100;
/** Such a key set, in bytes: 100 RSA keys with their certificates are about 500 KB. */
export const KEY_SET_BYTES_MAX: number = 1 * MIB;
/**
 * What comes with it beyond twice its body, 0.1 s of chunks of one byte each. Headers are 16 KiB at most, and 128 KiB may have been read ahead.
 */
export const KEY_SET_FRAMING_BYTES_MAX: number = 256 * KIB;
/** One fetch of it, redirects included; requests that need it wait no longer than that. */
export const KEY_SET_FETCH_MS_MAX = 5000;
/** Values that one token or one enrolment may select on, over all fields. */
export const IDENTITY_VALUES_MAX = 1000;
/** Key file (JWKS or secret) and enrolment map. 100,000 users with five groups are about 20 MB. */
export const KEY_FILE_BYTES_MAX: number = 1 * MIB;
export const ENROLMENT_FILE_BYTES_MAX: number = 256 * MIB;

/** One source record, in bytes; a longer one is rejected without ever being held whole. */
export const RECORD_BYTES_MAX: number = 1 * MIB;
/** Rejections kept with position and reason; all are counted. 1,000 × 0.3 KB. */
export const REJECTIONS_KEPT_MAX = 1000;
/** Of these, records that a later source overrides: no faults, so a sample is enough. */
export const OVERRIDES_KEPT_MAX = 100;
/**
 * Names of fields that are not served, kept with their counts, and UTF-16 units of one: 100 × 0.4 KB. Further ones are counted
 * together.
 */
export const UNSERVED_FIELDS_KEPT_MAX = 100;
export const UNSERVED_NAME_UNITS_MAX = 128;
/** Bytes read from a source at a time: 1,200 records of NDJSON, 4 ms, or 10 where each has to be decoded. */
export const READ_CHUNK_BYTES: number = 512 * KIB;
/**
 * Spellings remembered per field while a source is normalised, and values while a dictionary is built: 8,192 × 0.1 KB × 8 fields,
 * 7 MB each.
 */
export const VALUE_MEMO_ENTRIES_MAX = 8192;
/** UTF-16 units of one of them: names and titles are shorter. Of such ones alone, 8,192 × 0.6 KB × 8 fields are 40 MB. */
export const VALUE_MEMO_UNITS_MAX = 256;
/** Bytes of all rows: row offsets are 32-bit, and Node 20 has no longer Buffer than 4 GiB. About 10 million events. */
export const ROW_BYTES_MAX: number = 4 * 1024 * MIB - 64 * KIB;
/** Events: ordinals are 32-bit, with 0xFFFFFFFF kept as "none". The row bytes end earlier. */
export const EVENTS_MAX = 0xfffffffe;

/**
 * Memory of one load, where none is set: this share of what is left, when it begins, of the machine's memory and of the
 * container's limit. In a container of 512 MiB that uses 90: 3/4 of 422, 316 MiB, which are about 300,000 events. The rest is
 * for answers meanwhile, for the difference to what is served, up to 40 MB, and for what the estimate leaves out.
 */
export const LOAD_MEMORY_SHARE: number = 3 / 4;
/** What may be set, in MiB: the thread of a load alone takes LOAD_BASE_BYTES. */
export const LOAD_MEMORY_MB_MIN = 64;
export const LOAD_MEMORY_MB_MAX = 1_048_576;
/**
 * What a load takes before its first record: its thread 12 MiB; pieces of READ_CHUNK_BYTES, two that are read, two packed and three
 * unpacked, 4 MiB; one record of RECORD_BYTES_MAX, as bytes, text and value.
 */
export const LOAD_BASE_BYTES: number = 24 * MIB;
/**
 * Memory is looked at after so many pieces of the source, at most 4 MiB, or so many records that were decoded: one look takes
 * 0.03 ms, of the 30 ms that it takes to read so much.
 */
export const LOAD_LOOK_CHUNKS = 8;
export const LOAD_LOOK_RECORDS = 256;
/**
 * Memory of an image without its rows, by event: 87 in a timetable of a million events, of which a third clash with another, and up
 * to 13 more where codes take four bytes each.
 */
export const IMAGE_BYTES_PER_EVENT = 116;
/** What else is on the way to it, by event, most of it for the clusters. */
export const SCRATCH_BYTES_PER_EVENT = 128;
/** Beyond that, by distinct value, besides its text: its bytes as an object each, in order, with their place. */
export const FINISH_BYTES_PER_VALUE = 256;
/** A Map that is full is copied into one of twice the size: 28 bytes an entry, twice, and the list beside it. */
export const MAP_GROWTH_BYTES_PER_ENTRY = 72;
/** A set of fewer records is never refused for having grown: 1,000 are less than a megabyte, and a first entry is often a trial. */
export const GROWTH_RECORDS_MIN = 1000;
/** The most percent that a set may be let grow: ten million times. */
export const GROWTH_PERCENT_MAX = 1_000_000_000;

/**
 * Serving threads. What is bounded per thread besides the snapshot: caches of rows and answers, of which each has its part
 * only; tokens and interval trees, of which each has its own.
 */
export const SERVING_THREADS_MAX = 128;
/**
 * Semi-spaces of all serving threads together where there are more than two, in MB, so that the young generations, three semi-spaces
 * each, take 96: what those of two threads are left. Each is a power of two and at least 2 MB.
 */
export const SERVING_SEMI_SPACES_MB_MAX = 32;
/** Bodies up to this size are gathered into one buffer and written with the headers at once, where they go by node's response. */
export const BODY_GATHER_BYTES_MAX: number = 64 * KIB;
/**
 * Room that is kept before a small body for its head: 440 bytes are usual, 620 for a page of elsewhere. Longer heads are written
 * apart from the body.
 */
export const DIRECT_HEAD_BYTES_MAX = 1024;
/**
 * Bodies up to this size are made at once, as MessagePack (700 rows of 1.7 µs) in 1.2 ms; what is larger is made while it is sent, see
 * BODY_SLICE_BYTES.
 */
export const BODY_WHOLE_BYTES_MAX: number = 256 * KIB;
/**
 * A large body is made in slices of about this size, with a turn of the event loop after each: 0.5 ms as MessagePack. A client
 * that does not read keeps one of them: 500 that all asked for something else are 31 MiB.
 */
export const BODY_SLICE_BYTES: number = 64 * KIB;
/** Slices that were sent and are kept for the next, of each thread: 2 MiB. */
export const BODY_SLICES_KEPT_MAX = 32;
/**
 * Slices that are kept for others who ask for the same, of each snapshot and thread: 8 MiB. Clients that do not read get as far as
 * the system's buffers go, 2 to 6 MB each: so 500 of them have that made once, and wait for the same 100 slices.
 */
export const BODY_SLICES_SHARED_MAX = 128;
/**
 * Bytes of all caches of one timetable. 100,000 events have 38 MB of rows, each in five posting lists: laid side by side
 * they nearly all fit beside an eighth for whole answers.
 */
export const CACHE_MB_DEFAULT = 256;
export const CACHE_BYTES_DEFAULT: number = CACHE_MB_DEFAULT * MIB;
/** The most that they may be set to, in MiB: a TiB. */
export const CACHE_MB_MAX = 1_048_576;
/** The part of the caches that is for whole answers: 5,000 of 6 KB. The rest is for rows that are laid side by side. */
export const ANSWER_CACHE_SHARE: number = 1 / 8;
/** One answer that is kept whole. Larger ones are not that much cheaper for it. */
export const ANSWER_CACHE_ENTRY_BYTES_MAX: number = 64 * KIB;
/** Tags of answers that were made once: 8,192 of 60 bytes. */
export const ANSWERS_SEEN_ENTRIES = 8192;
/** One posting list laid out: 1,400 events. It is laid out in one turn, in 1 ms, as MessagePack in 5. */
export const KEY_ROWS_BYTES_MAX: number = 512 * KIB;
/** Different Accept headers remembered with what they negotiate to: 256 × 0.2 KB. */
export const ACCEPT_MEMO_ENTRIES_MAX = 256;
/** Spellings of paths remembered with their route: 64 × 0.3 KB. */
export const ROUTE_MEMO_ENTRIES_MAX = 64;
/** Intervals per interval-tree-1d tree: 1,024 take about 2 ms to build, and a request waits for one at most. */
export const INTERVALS_PER_TREE_MAX = 1024;
/** Trees kept by one interval index: 256 × 1,024 intervals at about 100 bytes are 26 MB. */
export const INTERVAL_TREES_MAX = 256;
/**
 * As often as this, so many intervals are scanned before a tree is built of them: 12 µs a scan against 8 from the tree, which
 * takes 2 ms to build. At most 255.
 */
export const INTERVAL_SCANS_MAX = 255;
/** Requests of one connection that are being answered at a time; browsers had at most six where they pipelined at all. */
export const REQUESTS_IN_FLIGHT_MAX = 8;
/** Requests that wait for these, 3 KB each. Whoever sends more of them without reading an answer is cut off. */
export const PIPELINED_WAITING_MAX = 128;
/**
 * Bytes of answers that wait behind an earlier one; beyond it the next request waits, too. So a connection whose client does
 * not read holds this and three bodies of BODY_WHOLE_BYTES_MAX at most: one sent past node, one that has the socket behind it, and the
 * one that exceeds. 300 answers of 5 MB each would be 1.5 GB, as node:http
 * handles everything that has arrived.
 */
export const PIPELINED_BYTES_MAX: number = 256 * KIB;
/**
 * While an answer waits to be read: bytes that have to be taken in any window of this length. 8 KiB a second are less than any
 * network in use gives. The window has to be longer than the pauses that buffers of the system make of a steady reader: 2 MB at
 * 100 KB a second are 20 s.
 */
export const READER_WINDOW_MS = 30_000;
export const READER_BYTES_MIN: number = 240 * KIB;
/**
 * Where so many are cut off within a few seconds, the window is half as long for all others, too. It takes some GB of the system's buffers that
 * many do not read, and when some are cut off the others' buffers grow: that would look as if they read.
 */
export const READERS_CUT_OFF_MANY = 16;
/**
 * Snapshots that one serving thread sends answers from at a time. A reader at the rate above takes 79 minutes for the 38 MB of
 * 100,000 events, and all of its snapshot, 60 MB, stays in memory as long: with a publication a minute, and somebody who reads each
 * so slowly, 79 of them. So whoever reads from the oldest is cut off when there is a fourth: two publications have passed since
 * it was the present one.
 */
export const SNAPSHOTS_SENT_MAX = 3;
/**
 * A connection without any request for longer than this is closed, whatever else arrives on it: node's own timeouts, 75 and 10
 * s, do not run after an empty line.
 */
export const CONNECTION_IDLE_MS_MAX = 90_000;
/** How long what a client still sends is read after the last answer of its connection. */
export const LINGER_MS_MAX = 1000;
/** Connections at a time, of one serving thread. One that is idle takes 10 KiB: 160 MiB. */
export const CONNECTIONS_MAX_DEFAULT = 16_384;
/** The most that this may be set to: as many as Linux gives descriptors to one process. */
export const CONNECTIONS_MAX_MAX = 1_048_576;
/**
 * Requests that have waited longer than this within one turn of the event loop wait for the processor and not for the network:
 * 64 connections that each ask for something of 1 ms are done in 64 ms, 1,600 for something of 60 µs in 96.
 */
export const OVERLOAD_MS_DEFAULT = 100;
/** The most that this may be set to: longer than clients wait. */
export const OVERLOAD_MS_MAX = 10_000;
/**
 * How long a turn lasts while the service is overloaded: requests are admitted for what refusing the others leaves of it. Whoever
 * comes during one turn is answered at the end of the next at the latest, and a collection may come in between: 2 × 2.5 + 5 = 10 ms.
 * Shorter turns would cost more than they answer.
 */
export const OVERLOAD_TURN_MS_MAX = 2.5;
/** The share of it that refusing may take. Where it would take more, turns are longer, and some requests are still answered. */
export const OVERLOAD_REFUSING_SHARE_MAX = 0.5;
/** A turn may last so many times as long where other processes have the processor meanwhile: 4 × 2.5 ms. */
export const OVERLOAD_PAUSED_TIMES_MAX = 4;
/** It takes so many late turns, over so long, without idleness: a pause, and what has piled up in it, is no overload. */
export const OVERLOAD_SUSTAINED_MS = 200;
export const OVERLOAD_TURNS_MIN = 3;
/** Where clients or the network have little of a busy machine, the thread waits for them between late turns, too. */
export const OVERLOAD_BUSY_MIN = 0.8;
/**
 * Every so many requests it is looked how long their turn lasts. A turn with fewer is late for what they cost, or for what else
 * the machine does, and not for their number: to refuse some of so few would help nobody. At 1 ms each, ten times what common
 * ones take, they are done in 32 ms.
 */
export const OVERLOAD_REQUESTS_MIN = 32;
/**
 * Connections that one look at the network gives at most (libuv's EVENTS_SIZE). While every look gives as many, up to 48 of them
 * follow each other before a timer has its turn: with 60 µs a request that is 3 s in which no turn ends.
 */
export const OVERLOAD_SLICE_REQUESTS_MAX = 1024;
/** How often the event loop's delay is looked at while turns are timed. Otherwise nothing wakes the thread: that costs 0.2 ms. */
export const OVERLOAD_LOOK_MS = 20;
/** After a long turn or a late look each turn is timed for so long, which costs a request 0.05 µs. */
export const OVERLOAD_WATCH_MS = 1000;
/** The service has recovered when its thread was idle for more than a twentieth of such a time, within 1 s, and refused hardly any. */
export const OVERLOAD_RECOVERY_MS = 500;
export const OVERLOAD_UTILISATION_MIN = 0.95;
/** At 1.1 times the capacity a tenth is refused; below the capacity only what comes in bursts. */
export const OVERLOAD_REFUSED_SHARE_MAX = 0.1;
/** Seconds after which who was refused is told to ask again: recovery takes as long. */
export const OVERLOAD_RETRY_AFTER_SECONDS = 1;
/** Longest time between a signal and the port's closing; systems that stop services wait 30 to 90 s, and rarely an hour. */
export const DRAIN_SECONDS_MAX = 3600;
/** How often connections without a request since the last time are closed meanwhile, so after 0.5 to 1 s. */
export const DRAIN_SWEEP_MS = 500;
/** Header of a snapshot file: the summary with 1,000 rejections of 0.5 KB, and 60 arrays of 0.1 KB. */
export const IMAGE_HEADER_BYTES_MAX: number = 16 * MIB;
/** Part of the memory of the machine or container that a snapshot file may take: serving needs the rest. */
export const IMAGE_MEMORY_SHARE_MAX = 0.75;
/** Why a snapshot file cannot be used: the longest of our own reasons has 90 characters. */
export const IMAGE_REASON_CHARACTERS_MAX = 240;
/**
 * Slots that one look-up of an id may look at. Half of them are free, so among 4,000,000,000 ids the longest run is about 120. Each
 * slot takes 0.2 µs, so the longest look-up in a crafted table takes 0.2 ms.
 */
export const ID_PROBES_MAX = 1024;
/** Events of one publication's difference that are kept, 0.2 KB each: 20 MB. A larger one is told as counts only. */
export const SNAPSHOT_DELTA_ENTRIES_MAX = 100_000;
/** Longest that the serving thread turns records of an embedding program into text before it takes other work. */
export const STREAM_CHUNK_MS_MAX = 4;

/** A first load that has got nothing for so long says so in the log. */
export const SOURCE_SILENT_MS = 3000;
/** How often a watched file is looked at, in milliseconds. One look is a few system calls, about 0.1 ms. */
export const FILE_POLL_MS = 1000;
/** How long a changed file must stay as it is before it is taken. Writers flush more often than that. */
export const FILE_SETTLE_MS = 200;
/** How long a file must have rested whose last record looks cut, before that is taken for a fault of the data. */
export const FILE_CUT_REST_MS = 2000;
/** Between two pieces of a file: a network file system that answers no more is given up. */
export const FILE_IDLE_MS_MAX = 30_000;
/** One load of a file: at 10 MB/s, 9 GB. */
export const FILE_TOTAL_MS_MAX: number = 15 * 60_000;
/** Until a file of the service's own configuration has been read. */
export const TEXT_FILE_MS_MAX = 30_000;
/** How long a thread that was told to end may take; longer, and it waits for the system, which nothing can call off. */
export const THREAD_END_MS_MAX = 2000;
/** Clocks of file systems tick every 1 to 10 ms: what is younger could be written again without its time changing. */
export const FILE_AGE_MS_MIN = 20;

/** Until an upstream's status line and headers have come, connecting included. Slow systems think before they answer. */
export const UPSTREAM_HEADERS_MS_MAX = 60_000;
/** Between two pieces of an upstream's answer. */
export const UPSTREAM_IDLE_MS_MAX = 30_000;
/** One load from an upstream, all pages: 1,000,000 events are 380 MB, at 1 MB/s seven minutes. */
export const UPSTREAM_TOTAL_MS_MAX: number = 15 * 60_000;
/**
 * Where an upstream is asked regularly, it gets the interval for all that, or twice what it ever took, but no less than
 * this: with the pause of a second after it, a hang is over within an interval and five seconds.
 */
export const UPSTREAM_QUICK_MS_MIN = 4000;
/** Redirects in a row; RFC 1945 recommended five, and nobody means more. */
export const UPSTREAM_REDIRECTS_MAX = 5;
/** Interim answers (1xx) to one request. 100 and 103 come once each; without an end they take the thread. */
export const UPSTREAM_INTERIM_ANSWERS_MAX = 8;
/** Pages of one load. 100 events each are 1,000,000 events; the addresses seen, 0.2 KB each, are 2 MB. */
export const UPSTREAM_PAGES_MAX = 10_000;
/** Bytes of one load as they come over the wire, all pages: twice ROW_BYTES_MAX, beyond which no snapshot can be built. */
export const UPSTREAM_BYTES_MAX: number = 2 * ROW_BYTES_MAX;
/** Longest Retry-After that is believed: a day. */
export const RETRY_AFTER_MS_MAX: number = 24 * 3600 * 1000;
/** A file of names and lecturer identifiers. 100,000 entries of 80 bytes are 8 MB. */
export const LECTURER_IDS_BYTES_MAX: number = 16 * MIB;
/** Heap that parsing it takes at most: 21 bytes for each of text, where that is `{},` over and over. */
export const LECTURER_IDS_HEAP_BYTES: number = 24 * LECTURER_IDS_BYTES_MAX;
/**
 * Past snapshots that /schedule/changes knows, and the entries of all steps between them: 0.2 KB each, 40 MB. The net
 * differences take 4 bytes an event for each snapshot, 16 × 200,000 × 4 = 13 MB at most, and 85 bytes for each UUID of an
 * event that is gone, 17 MB at most.
 */
export const SNAPSHOTS_KEPT_MAX = 16;
export const SNAPSHOT_HISTORY_ENTRIES_MAX = 200_000;
/** Memory of one such entry while it is made: about 300 bytes for the comparison and as much for the history. */
export const DIFFERENCE_BYTES_PER_ENTRY = 640;
/**
 * What one snapshot counts with the garbage collector. V8 begins to collect after 64 MiB and does so at once, without
 * small steps, beyond half of the heap limit: this is more than the one and, with two snapshots, less than the other.
 */
export const SNAPSHOT_WEIGHT_BYTES_MAX: number = 96 * MIB;

/** How often a thread looks up what it does not count as it happens: some 0.05 ms each time. */
export const METRICS_SAMPLE_MS = 1000;
/** Of the timer that the event loop's delay is measured by: 50 ticks a second of 2 µs. */
export const EVENT_LOOP_DELAY_RESOLUTION_MS = 20;
/** Connections of the admin listener at a time: a few probes, scrapers and people. */
export const ADMIN_CONNECTIONS_MAX = 64;
/** Names that its Host may have: those of a few probes and scrapers. */
export const ADMIN_ALLOWED_HOSTS_MAX = 100;
/** Bytes of the file with the token of the admin listener. */
export const ADMIN_TOKEN_FILE_BYTES_MAX: number = 64 * KIB;
/** Characters of that token: 128 bits take 22 as base64url, 32 in hexadecimal digits. */
export const ADMIN_TOKEN_CHARACTERS_MIN = 22;
/** Origins that may be allowed by name; each has about 1 KB of header fields. */
export const CORS_ORIGINS_MAX = 100;

/** Log lines that wait for standard error to take them: 7,000 of 150 bytes. What comes then is dropped and counted. */
export const LOG_BYTES_MAX: number = 1 * MIB;
/**
 * Log lines of one serving thread that are on their way to the main thread, 0.5 KB each: 2 MB. A second of 4,000 requests that
 * are all logged, which the main thread takes 50 ms for.
 */
export const LOG_MESSAGES_MAX = 4096;

/** Time for all header fields of a request to arrive. */
export const HEADERS_TIMEOUT_MS = 10_000;
/** Time for a whole request to arrive. */
export const REQUEST_TIMEOUT_MS = 15_000;
/** An idle connection is kept this long: longer than the minute of common load balancers, so that they close first. */
export const KEEP_ALIVE_TIMEOUT_MS = 75_000;
/** How often the timeouts are looked at: with node's default of 30 s they would be met up to 30 s late. */
export const CONNECTIONS_CHECKING_INTERVAL_MS = 1000;
/**
 * Header fields of one request; beyond it 431. Browsers behind a few proxies send about 40. Node by itself would drop
 * every field after the 2,000th without a word, be it Authorization.
 */
export const HEADER_FIELDS_MAX = 100;
/** Request line and header fields together; beyond it 431. */
export const HEADERS_BYTES_MAX: number = 16 * KIB;
/** Most events of one generated timetable: 84 terms, or 42 years. Identifiers stay distinct up to 2^32. */
export const GENERATED_EVENTS_MAX = 10_000_000;
