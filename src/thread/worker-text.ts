/**
 * The script of a thread that runs a task. The build inserts it (scripts/worker-text.mjs). From source, the module itself
 * is started.
 */
export const WORKER_TEXT: string = '';
