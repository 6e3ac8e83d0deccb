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

/** The credential, in bytes. Tokens with many claims reach 4 KB; Node takes 16 KiB of headers in all. */
export const TOKEN_BYTES_MAX: number = 8 * KIB;
/** Verified tokens kept. About 0.7 KB each with a handful of claims: 14 MB when full. */
export const TOKEN_CACHE_ENTRIES_MAX = 20_000;
/** Longest that a verified token is trusted without verifying it again. */
export const TOKEN_CACHE_TTL_MS_MAX = 60_000;
/** Keys tried for one token that names none of them. Each try costs about 0.1 ms. */
export const KEYS_TRIED_MAX = 8;
/** Values that one token or one enrolment may select on, over all fields. */
export const IDENTITY_VALUES_MAX = 1000;
/** Key file (JWKS or secret) and enrolment map. 100,000 users with five groups are about 20 MB. */
export const KEY_FILE_BYTES_MAX: number = 1 * MIB;
export const ENROLMENT_FILE_BYTES_MAX: number = 256 * MIB;

/** One source record, in bytes; a longer one is rejected without ever being held whole. */
export const RECORD_BYTES_MAX: number = 1 * MIB;
/** Rejections kept with position and reason; all are counted. 1,000 × 0.3 KB. */
export const REJECTIONS_KEPT_MAX = 1000;
/** Bytes read from a source at a time. */
export const READ_CHUNK_BYTES: number = 256 * KIB;
/** Spellings remembered per field while a source is normalised: 8,192 × 0.1 KB × 8 fields, 7 MB. */
export const VALUE_MEMO_ENTRIES_MAX = 8192;
/** Bytes of all rows: row offsets are 32-bit, and Node 20 has no longer Buffer than 4 GiB. About 10 million events. */
export const ROW_BYTES_MAX: number = 4 * 1024 * MIB - 64 * KIB;
/** Events: ordinals are 32-bit, with 0xFFFFFFFF kept as "none". The row bytes end earlier. */
export const EVENTS_MAX = 0xfffffffe;

/** Bodies up to this size are gathered into one buffer and written with the headers at once. */
export const BODY_GATHER_BYTES_MAX: number = 64 * KIB;
/** Different Accept headers remembered with what they negotiate to: 256 × 0.2 KB. */
export const ACCEPT_MEMO_ENTRIES_MAX = 256;
/** Intervals per interval-tree-1d tree: 1,024 take about 2 ms to build, so no request waits longer for one. */
export const INTERVALS_PER_TREE_MAX = 1024;
/** Trees kept by one interval index: 256 × 1,024 intervals at about 100 bytes are 26 MB. */
export const INTERVAL_TREES_MAX = 256;
