import { constants } from 'node:fs';

/** Opens a file without waiting for the writer of a pipe. Windows has no flag for this and needs none. */
export const WITHOUT_WAITING: number = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
