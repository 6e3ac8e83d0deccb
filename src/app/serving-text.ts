/**
 * The script of a serving thread. The build inserts the script (scripts/worker-text.mjs); when Lectern runs
 * from source, the module itself is started.
 */
export const SERVING_TEXT: string = '';
