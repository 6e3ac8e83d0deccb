/** `lectern publish` and `lectern channel`. Inside for records of a store that no command writes. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Test, test } from 'tap';
import { unknownVariables } from '../../src/cli/serve-messages.js';
import { SigningKey } from '../../src/fleet/keys.js';
import { replace } from '../../src/fleet/store-records.js';
import { openStore } from '../../src/store/open-store.js';
import { storeAddress } from '../../src/store/store-address.js';
import { testFolder } from '../base/files/test-folder.js';
import { events, writeKeys } from '../fleet/fleet.js';
import { lectern as run, start } from './lectern.js';
import { runHere } from './run-here.js';

// One test waits until a command gives up.
const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

/** Variables of the tests, such as lectern_SLOW, would each cause a warning. */
const ENVIRONMENT = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith('lectern_')),
);

interface Ended {
  readonly status: number | null;
  readonly text: string;
}

/** For commands that write with a log, which does not go through `process.stdout`. */
function lectern(...argv: readonly string[]): Ended {
  const options = { encoding: 'utf8', env: ENVIRONMENT } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, ...argv], options);
  return { status, text: stdout + stderr };
}

async function lecternHere(t: Test, ...argv: readonly string[]): Promise<Ended> {
  const { code, stdout, stderr } = await runHere(t, argv);
  return { status: code, text: stdout + stderr };
}

test('publish --once announces an image; channel shows the images and chooses one', async (t) => {
  const folder = t.testdir();
  const [publisherKey, publisherPublicKey] = ['key', 'pub'].map((end) =>
    join(folder, `publisher.${end}`),
  ) as [string, string];
  t.equal(
    (await lecternHere(t, 'channel', 'keys', join(folder, 'publisher'))).text,
    `made ${publisherKey} for the publishers, which is secret, and ${publisherPublicKey} for the replicas\n`,
  );
  t.equal(statSync(publisherKey).mode & 0o777, 0o600);
  t.match(await lecternHere(t, 'channel', 'keys', join(folder, 'publisher')), {
    status: 1,
    text: /publisher\.key cannot be written: it exists already, and is not replaced; expected a new name/,
  });
  const [source, share] = [join(folder, 'events.ndjson'), join(folder, 'share')];
  const publish = (title: string, count = 5): string => {
    writeFileSync(
      source,
      events(count, title)
        .map((event) => JSON.stringify(event))
        .join('\n'),
    );
    const { status, text } = lectern(
      'publish',
      source,
      '--to',
      share,
      '--publisher-key',
      publisherKey,
      '--once',
    );
    t.equal(status, 0, text);
    return /"snapshot":"([\w-]{22})","sequence"/.exec(text)?.[1] ?? '';
  };
  const channel = (...argv: readonly string[]): Promise<Ended> =>
    lecternHere(t, 'channel', ...argv, '--publisher-key', publisherKey);
  const [first, second] = [publish('first'), publish('second')];
  t.not(first, second);
  const status = await lecternHere(
    t,
    'channel',
    'status',
    share,
    '--publisher-public-key',
    publisherPublicKey,
  );
  t.match(status.text, new RegExp(`^head +${second}, sequence \\d+, 5 events`, 'm'));
  t.match(status.text, /^pinned +none$/m);
  t.match(status.text, /^publisher +none leads$/m);
  for (const id of [first, second])
    t.match(status.text, new RegExp(`^image +${id}, sequence \\d+, 5 events, .*, announced 20\\d\\d-`, 'm'));
  const back = (await channel('rollback', share)).text;
  t.match(
    back,
    new RegExp(`^rolled back: pinned ${first}, sequence \\d+, 5 events, .*, announced 20\\d\\d-`),
  );
  t.notMatch(back, 'warning');
  t.match(JSON.parse((await channel('status', share, '--json')).text), {
    pinned: first,
    head: { id: second },
  });
  t.match(await channel('rollback', share), {
    status: 1,
    text: `the store has no image older than the pinned ${first}; to choose a newer image, run lectern channel pin <id>`,
  });
  t.match((await channel('unpin', share)).text, 'unpinned');
  t.match(await channel('pin', 'nothing', share), {
    status: 1,
    text: /is not in the store; its images are: /,
  });
  const store = await openStore(storeAddress(share), 'make');
  const signer = new SigningKey(publisherKey);
  for (const [agoMs, end] of [
    [1000, ''],
    [11_000, ': it may have ended'],
  ] as const) {
    const renewedAtMs = Date.now() - agoMs;
    const revision = (await store.read('leader'))?.revision ?? null;
    const lease = await signer.sign('lease', { owner: 'host-1', beat: 1, renewedAtMs });
    await store.swap('leader', lease, revision);
    const seen = `last seen ${new Date(renewedAtMs).toISOString()}${end}`;
    t.match((await channel('status', share)).text, new RegExp(`^publisher +host-1, ${seen}$`, 'm'));
  }
  await store.remove('leader');
  for (const [agoMs, what] of [
    [1000, 'serves nothing yet'],
    [11_000, 'it may have ended, and served nothing yet'],
  ] as const) {
    const reportedAtMs = Date.now() - agoMs;
    const report = {
      name: 'host-1:8080',
      version: '1',
      serves: null,
      damaged: null,
      lastError: null,
      beat: 1,
    };
    await replace(store, 'replica.one', JSON.stringify({ ...report, reportedAtMs }));
    const line = `host-1:8080, version 1, last seen ${new Date(reportedAtMs).toISOString()}: ${what}`;
    t.match((await channel('status', share)).text, new RegExp(`^replica +${line}$`, 'm'));
  }
  t.match(await channel('status', join(share, 'mistyped')), {
    status: 1,
    text: /share\/mistyped failed: there is no store at this address yet; the publisher makes it/,
  });
  await store.swap('replica.odd', '{"name":{"toString":1},"formats":["x"]}', null);
  t.match(await channel('status', share), {
    status: 0,
    text: /^ignored +record replica\.odd: it is malformed or forged$/m,
  });
  const sequence = '\u001b]0;title\u0007\u009b2J\r\u202e';
  const report = {
    version: sequence,
    serves: null,
    damaged: null,
    lastError: sequence,
    beat: 1,
    reportedAtMs: Date.now(),
  };
  await store.swap('replica.evil', JSON.stringify({ name: `evil${sequence}`, ...report }), null);
  for (const more of [[], ['--json']]) {
    const { text } = await channel('status', share, ...more);
    t.match(text, /evil\\u001b\]0;title\\u0007\\u009b2J\\(u000d|r)\\u202e/);
    t.notMatch(text, /[^\P{Cc}\n]|\p{Cf}/u, 'no character acts on a terminal');
  }
  const third = publish('third');
  const large = publish('large', 11);
  const small = (await channel('pin', third, share)).text;
  t.match(small, new RegExp(`^pinned ${third}, sequence \\d+, 5 events, `));
  t.match(small, /^warning: it has 5 events, and the head has 11 events: it may be a bad timetable/m);
  t.notMatch((await channel('pin', large, share)).text, 'warning');
});

test('publish --once ends with an error if another publisher leads', async (t) => {
  const folder = testFolder(t);
  const { publisherKey } = writeKeys(folder, 'publisher');
  const [source, other, share] = ['events.ndjson', 'other.ndjson', 'share'].map((name) => join(folder, name));
  const [one, two] = [events(5, 'one'), events(5, 'two')].map((all) =>
    all.map((each) => JSON.stringify(each)),
  );
  writeFileSync(source ?? '', one?.join('\n') ?? '');
  writeFileSync(other ?? '', two?.join('\n') ?? '');
  const common = ['--to', share ?? '', '--publisher-key', publisherKey];
  const temporary = join(folder, 'tmp');
  mkdirSync(temporary);
  const leader = start(['publish', source ?? '', ...common], { TMPDIR: temporary });
  t.teardown(() => leader.child.kill('SIGKILL'));
  await new Promise<void>((resolve) => {
    let log = '';
    leader.child.stderr?.on('data', (text: string) => {
      log += text;
      if (log.includes('timetable announced')) resolve();
    });
  });
  const left = readdirSync(temporary).filter((name) => name.startsWith('lectern-'));
  t.strictSame(left, [], 'a publisher that is killed leaves no image');
  const { code, stderr } = await run(['publish', other ?? '', ...common, '--once']);
  t.equal(code, 1);
  t.match(stderr, /"msg":"publisher stands by"/);
  t.match(
    stderr,
    /was not announced in the store .* within 15 s of the load; the log says why; if another publisher leads, stop that publisher/,
  );
});

test('publish refuses wrong usage', async (t) => {
  const folder = t.testdir({ 'events.ndjson': '', 'bad.key': 'no key' });
  const { publisherPublicKey } = writeKeys(folder, 'publisher');
  const source = join(folder, 'events.ndjson');
  t.match(lectern('publish', source), { status: 2, text: /--to <store>/ });
  const make =
    'To make publisher\\.key for the publishers and publisher\\.pub for the replicas, run: lectern channel keys';
  t.match(lectern('publish', source, '--to', folder), {
    status: 2,
    text: new RegExp(`--publisher-key is missing: announcements are signed\\. ${make}`),
  });
  t.match(lectern('serve', 'nats://127.0.0.1:1/timetable', '--dev'), {
    status: 2,
    text: new RegExp(
      `^error: --publisher-public-key is missing: a replica serves only what its publisher signed\\. ${make}; or, for a folder of your own account, give --unsigned$`,
      'm',
    ),
  });
  t.match(await lecternHere(t, 'channel', 'status', folder), {
    status: 1,
    text: /^error: a channel needs a key: give/,
  });
  const both = ['--unsigned', '--publisher-key', publisherPublicKey];
  t.match(lectern('publish', source, '--to', folder, ...both), {
    status: 2,
    text: /--unsigned has no effect with --publisher-key/,
  });
  for (const [key, problem] of [
    [join(folder, 'bad.key'), 'cannot be used: it is not a private key as PEM or JWK'],
    [publisherPublicKey, 'cannot be used: it is not a private key as PEM or JWK'],
    [join(folder, 'none'), 'cannot be read: there is no such file'],
    [folder, 'cannot be read: it is a directory; expected a file'],
  ] as const) {
    const { status, text } = lectern('publish', source, '--to', folder, '--publisher-key', key, '--once');
    t.not(status, 0, key);
    t.match(text, `the key file ${key} ${problem}`);
  }
  const good = ['--to', join(folder, 'share'), '--publisher-key', writeKeys(folder, 'signing').publisherKey];
  const reasonOf = (...argv: readonly string[]): string => {
    const { status, text } = lectern('publish', source, ...good, ...argv);
    t.equal(status, 2, text);
    return (JSON.parse(text) as { readonly reason: string }).reason;
  };
  t.match(reasonOf('--calendar-to', 'x'), /^--calendar-to \(LECTERN_CALENDAR_TO\) is "x": it must be a date/);
  t.equal(
    reasonOf('--calendar-from', '2026-02-01', '--calendar-to', '2026-01-01'),
    '--calendar-from must be before --calendar-to',
  );
  t.match(reasonOf('--log-level', 'loud'), /^--log-level \(LECTERN_LOG_LEVEL\) is "loud"/);
  t.match(reasonOf('--table', 'events'), /^--table has no effect, as no source is a PostgreSQL address/);
  const several = lectern('serve', source, 'nats://127.0.0.1:1/timetable', '--dev');
  t.match(several, { status: 2, text: /cannot be merged/ });
  t.match(lectern('serve', source, '--publisher-public-key', publisherPublicKey, '--dev'), {
    status: 2,
    text: /not a store/,
  });
});

test('publish and serve know the variables of both commands, and warn of unknown variables', async (t) => {
  const folder = t.testdir({
    'events.ndjson': events(5, 'x')
      .map((each) => JSON.stringify(each))
      .join('\n'),
  });
  const temporary = join(folder, 'tmp');
  // The image of a killed publisher, of a running one in another container, and a folder of another program.
  const [gone, running, other] = ['lectern-image-abcdef', 'lectern-image-ghijkl', 'lectern-x'];
  for (const name of [gone, running, other]) {
    mkdirSync(join(temporary, name), { recursive: true });
    writeFileSync(join(temporary, name, 'image'), '');
    if (name !== running) utimesSync(join(temporary, name), 0, 0);
  }
  const variables = {
    LECTERN_PUBLISH_TO: join(folder, 'share'),
    LECTERN_PUBLISHER_KEY: writeKeys(folder, 'publisher').publisherKey,
    LECTERN_CALENDAR_TO: '2030-01-01',
    LECTERN_ONCE: 'on',
    LECTERN_CALENDAR_TOO: '2030-01-01',
    TMPDIR: temporary,
  };
  const { code, stderr } = await start(['publish', join(folder, 'events.ndjson')], variables).ended;
  t.equal(code, 0, stderr);
  const left = readdirSync(temporary).filter((each) => each.startsWith('lectern-'));
  t.strictSame(left.sort(), [running, other].sort(), 'only the files of the killed one go');
  t.match(stderr, '"msg":"timetable announced"');
  const warned = stderr.split('\n').filter((line) => line.includes('unknown variable'));
  t.equal(warned.length, 1, stderr);
  t.match(warned[0], /LECTERN_CALENDAR_TOO.* did you mean LECTERN_CALENDAR_TO\?/);
  t.strictSame(unknownVariables(variables, {}).length, 1);
});

test('switches have a variable, which can be off', async (t) => {
  const argv = ['publish', 'no-such-file', '--to', t.testdir(), '--publisher-key', 'no-such-key'];
  const wrong = await start(argv, { LECTERN_ONCE: 'yes' }).ended;
  t.match(wrong.stderr, /--once \(LECTERN_ONCE\) is \\"yes\\": it must be on or off/);
  const off = await start(argv, { LECTERN_ONCE: 'off' }).ended;
  t.match(off.stderr, /no-such-key cannot be read: there is no such file/);
});
