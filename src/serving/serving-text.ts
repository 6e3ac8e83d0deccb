/**
 * The module of a serving thread with everything that it imports, as the text of a CommonJS script: what stands here is
 * put in by the build (scripts/worker-text.mjs). Empty in the source, where the module itself is started.
 */
export const SERVING_TEXT: string = '';
