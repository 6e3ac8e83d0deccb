/**
 * The thread's module with everything that it imports, as the text of a CommonJS script: what stands here is put in by
 * the build (scripts/worker-text.mjs). Only used where the module's own file cannot be found.
 */
export const WORKER_TEXT: string = '';
