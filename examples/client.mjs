// Prints the lessons of a group this week, and then each change, with `lectern/client`.
//
//   npm start                                                     (in another terminal)
//   node examples/client.mjs http://127.0.0.1:3000/api/v1 INF-2B
//
// In production, take the token from your login instead of /login.
import { TimetableClient, TimetableProblem } from 'lectern/client';

const [baseUrl, group] = process.argv.slice(2);
if (baseUrl === undefined || group === undefined) {
  console.error('usage: node examples/client.mjs <base of the API> <study group>');
  process.exit(1);
}

let token = null;
const client = new TimetableClient({ baseUrl, token: () => token });
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
process.once('SIGINT', () => stop.abort());

async function printWeek() {
  const query = { studyGroup: [group], date: process.env.DATE ?? 'today', days: 7, limit: 100 };
  for await (const { time, title } of client.entries('/schedule', query)) console.log(`${time} ${title}`);
}

try {
  token = (await client.get('/login')).data.access_token;
  await printWeek();
  for await (const message of client.changes({ signal: stop.signal })) {
    if (message.kind === 'version') console.log(`following version ${message.version}`);
    else await printWeek();
  }
} catch (error) {
  if (!(error instanceof TimetableProblem)) throw error;
  console.error(`${error.status} ${error.code}: ${error.message}`);
  process.exitCode = 1;
}
