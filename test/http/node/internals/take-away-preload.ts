/** For --import: removes the part that the environment names. */
import type { Internal } from '../../../../src/http/node/internals.js';
import { startTakingAway } from './take-away.js';

startTakingAway().part = process.env.TAKE_AWAY as Internal;
