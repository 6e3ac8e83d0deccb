/**
 * The worker's module with everything that it imports, as one text: filled in by the build (scripts/finish-build.mjs).
 * Only used where the module's own file cannot be found.
 */
export const WORKER_TEXT: string = '';
