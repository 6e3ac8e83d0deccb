/** The script of a thread that does a task. The build puts it here (scripts/worker-text.mjs); in the source the module itself is started. */
export const WORKER_TEXT: string = '';
