/**
 * The script of a serving thread. The build inserts it (scripts/worker-text.mjs); from source, the module
 * itself is started.
 */
export const SERVING_TEXT: string = '';
