/** The script of a serving thread. The build puts it here (scripts/worker-text.mjs); in the source the module itself is started. */
export const SERVING_TEXT: string = '';
