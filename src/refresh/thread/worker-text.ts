/**
 * The script of a thread that runs a task. The build inserts the script (scripts/worker-text.mjs). When
 * Lectern runs from source, the module itself is started.
 */
export const WORKER_TEXT: string = '';
