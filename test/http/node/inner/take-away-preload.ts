/** For --import: removes the part that the environment names. */
import type { InnerPart } from '../../../../src/http/node/inner-parts.js';
import { startTakingAway } from './take-away.js';

startTakingAway().part = process.env.TAKE_AWAY as InnerPart;
