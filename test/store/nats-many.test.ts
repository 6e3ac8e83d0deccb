/** A bucket with many objects, on a real server. */
import { connect } from '@nats-io/transport-node';
import { test } from 'tap';
import { openStore } from '../../src/store/open-store.js';
import { testFolder } from '../base/files/test-folder.js';
import { NATS_MISSING, startNats } from './nats-server.js';

const OBJECTS = 45_000;
/** Only a test that fails waits so long. */
const STORED_MS_MAX = 120_000;

test('a store with 45,000 objects is listed, however long all answers take together', {
  skip: NATS_MISSING,
}, async (t) => {
  const server = await startNats(testFolder(t));
  t.teardown(() => server.stop());
  const store = await openStore(server.address(), 'make');
  t.teardown(() => store.close());
  await store.put('first', [Buffer.from('a')] as never);
  const connection = await connect({ servers: server.address() });
  for (let n = 1; n < OBJECTS; n++) {
    const name = `object-${n}`;
    const subject = `$O.timetable.M.${Buffer.from(name).toString('base64')}`;
    const info = { name, bucket: 'timetable', nuid: `${n}`, size: 1, chunks: 1, digest: 'SHA-256=' };
    const isLast = n === OBJECTS - 1;
    // The answer comes when all before it are stored. The client's own limit is a second.
    if (isLast) await connection.request(subject, JSON.stringify(info), { timeout: STORED_MS_MAX });
    else connection.publish(subject, JSON.stringify(info));
  }
  await connection.close();
  t.equal((await store.list()).length, OBJECTS);
});
