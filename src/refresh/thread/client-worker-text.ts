/** The script of a thread that runs a task with a client of PostgreSQL or NATS; see worker-text.ts. */
export const CLIENT_WORKER_TEXT: string = '';
