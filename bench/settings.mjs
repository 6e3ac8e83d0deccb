import { parseArgs } from 'node:util';
import { SETS } from './sets.mjs';

const FULL = {
  // Two processes of one program differ by a tenth for their whole life. More rounds do not reduce this difference.
  launches: 3,
  // Many short rounds: a disturbance of one round does not affect the median.
  rounds: 5,
  roundSeconds: 1,
  // By then most posting lists of 100,000 events are laid out; slow servers are measured after the last slice anyway.
  warmUp: { sliceSeconds: 1, slicesMin: 3, slicesMax: 12, requestsMin: 60_000, differenceMax: 0.05 },
  // The caches of a million events are full after 200,000 requests, which take a slow machine a minute.
  warmUpOfSizes: { sliceSeconds: 1, slicesMin: 3, slicesMax: 60, requestsMin: 250_000, differenceMax: 0.05 },
  // Servers take turns: between two equal requests a server gets 100,000 others. No cache keeps so many,
  // except for frequent queries.
  requests: 400_000,
  coldLoads: 5,
  settleSeconds: 12,
  events: { small: 10_000, medium: 100_000, large: 1_000_000, distinct: 100_000 },
};

/** Only shows that everything works; the figures mean little. */
const QUICK = {
  launches: 2,
  rounds: 1,
  roundSeconds: 0.1,
  warmUp: { sliceSeconds: 0.1, slicesMin: 1, slicesMax: 1, requestsMin: 0, differenceMax: 0.05 },
  warmUpOfSizes: { sliceSeconds: 0.1, slicesMin: 1, slicesMax: 1, requestsMin: 0, differenceMax: 0.05 },
  requests: 3000,
  coldLoads: 1,
  settleSeconds: 0.1,
  events: { small: 3000, medium: 5000, large: 10_000, distinct: 3000 },
};

const HELP = `npm run bench -- [options]

  --quick           shows that the bench works: small sets, short rounds, figures without verdicts; leaves out peers
                    that are not installed
  --sets <names>    sets, separated by commas: ${SETS.join(', ')}; all by default
  --only <text>     only measurements with this text in their name
  --loads <counts>  also loads generated sets of so many events, separated by commas: 3000000,10000000 take 15 minutes,
                    8 GB of memory and 6 GB of temporary files
  --launches <n>    number of process starts, ${FULL.launches} by default; peers start once
  --rounds <n>      rounds of each measurement with the same processes, ${FULL.rounds} by default
  --seconds <s>     length of a round for each server, ${FULL.roundSeconds} by default
  --no-peers        leaves out the servers that Lectern is compared with
  --peers <names>   peers by parts of their names, separated by commas; all by default
  --before <folder> folder of another built checkout, whose service is measured in the same rounds, for each workload
  --json <file>     file for the results. By default, a whole run writes bench/results/node<major>.json; other runs write none
`;

/** The settings from the command line.
 *
 * @param {string[]} argv
 * @returns the settings; `isWhole` if nothing was left out or shortened; null if the help was printed
 */
export function settingsOf(argv) {
  const { values } = parseArgs({
    args: argv,
    options: {
      quick: { type: 'boolean', default: false },
      sets: { type: 'string' },
      only: { type: 'string', default: '' },
      loads: { type: 'string' },
      launches: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      peers: { type: 'string' },
      'no-peers': { type: 'boolean', default: false },
      before: { type: 'string' },
      json: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return null;
  }
  const base = values.quick ? QUICK : FULL;
  const sets = values.sets?.split(',') ?? SETS;
  const unknown = sets.filter((name) => !SETS.includes(name));
  if (unknown.length > 0) throw new Error(`--sets ${unknown.join(',')}: the sets are ${SETS.join(', ')}`);
  return {
    ...base,
    quick: values.quick,
    launches: countOf('--launches', values.launches, base.launches),
    rounds: countOf('--rounds', values.rounds, base.rounds),
    roundSeconds: numberOf('--seconds', values.seconds, base.roundSeconds),
    connections: 64,
    seed: 1,
    sets,
    loads: values.loads?.split(',').map((count) => countOf('--loads', count)) ?? [],
    only: values.only,
    peers: values['no-peers'] ? [] : (values.peers?.split(',') ?? ['']),
    before: values.before ?? null,
    json: values.json,
    isWhole:
      !values.quick &&
      !values['no-peers'] &&
      values.only === '' &&
      [values.before, values.sets, values.launches, values.rounds, values.seconds, values.peers].every(
        (value) => value === undefined,
      ),
  };
}

function numberOf(option, text, fallback) {
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!(value > 0)) throw new Error(`${option} ${text}: expected a number above 0`);
  return value;
}

function countOf(option, text, fallback) {
  const value = numberOf(option, text, fallback);
  if (!Number.isInteger(value)) throw new Error(`${option} ${text}: expected a whole number`);
  return value;
}
