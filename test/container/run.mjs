/**
 * npm run test:container -- [--stand-in-bases]
 *
 * Builds and runs the image of the Dockerfile. Then runs the pod of deploy/kubernetes.yaml unchanged except
 * for the two addresses of other services. Needs podman and the right to use it. With --stand-in-bases it
 * works without an image registry: see bases.mjs.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { generateEvents } from '../../bench/generate.mjs';
import { tokenOf } from '../../bench/workloads.mjs';
import { freePort } from '../hard/free-port.mjs';
import { makeBases } from './bases.mjs';
import { Podman, programOf } from './podman.mjs';
import { EVENTS, startUpstream } from './upstream.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SECRET = 'a secret for trying the image, of 32 bytes or more';
const NOBODY = 65_532;
const NODE = '/nodejs/bin/node';
const READY_SECONDS_MAX = 30;
const { values } = parseArgs({ options: { 'stand-in-bases': { type: 'boolean', default: false } } });

let passed = 0;
/** One check, reported once it holds. */
function holds(what, found, expected = true) {
  assert.deepEqual(found, expected, what);
  passed++;
  console.log(`ok ${passed} - ${what}`);
}

async function get(url, token) {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(url, { headers });
  return { status: response.status, body: await response.json() };
}

/** Sends requests until the answer is as expected. */
async function until(wanted, ask) {
  let last;
  for (const endMs = performance.now() + READY_SECONDS_MAX * 1000; performance.now() < endMs; ) {
    last = await ask().catch((error) => error);
    if (wanted(last)) return last;
    await delay(200);
  }
  throw new Error(
    `not within ${READY_SECONDS_MAX} s: ${last instanceof Error ? last.message : JSON.stringify(last)}`,
  );
}

/** The user of a process in a container, and the folders it can write to. */
async function rightsOf(podman, container, paths) {
  const script = `const { writeFileSync, rmSync, readFileSync } = require('node:fs');
    const tryTo = (path) => { try { writeFileSync(path, ''); rmSync(path); return 'ok'; } catch (error) { return error.code; } };
    const status = readFileSync('/proc/self/status', 'utf8');
    const of = (name) => new RegExp('^' + name + ':\\\\s*(\\\\w+)', 'm').exec(status)[1];
    console.log(JSON.stringify({ uid: process.getuid(), gid: process.getgid(), capabilities: Number.parseInt(of('CapEff'), 16),
      noNewPrivileges: of('NoNewPrivs'), writes: ${JSON.stringify(paths)}.map(tryTo) }));`;
  return JSON.parse(await podman.do('exec', container, NODE, '-e', script));
}

async function stopped(podman, container) {
  const exitCode = Number(await podman.do('inspect', '--format', '{{.State.ExitCode}}', container));
  const { stdout, stderr } = await podman.outcome('logs', container);
  return { exitCode, isLogged: `${stdout}${stderr}`.includes('"msg":"closed"') };
}

/** Uses the image as the Dockerfile's first lines say. */
async function tryImage(podman, image) {
  const data = join(podman.folder, 'timetable.ndjson');
  writeFileSync(
    data,
    [...generateEvents({ events: EVENTS, seed: 1 })].map((event) => JSON.stringify(event)).join('\n'),
  );
  const looked = await podman.do(
    ...['run', '--rm', '--volume', `${data}:/data/timetable.ndjson:ro`, '--entrypoint', NODE, image],
    ...['dist/cli.js', 'inspect', '/data/timetable.ndjson', '--json'],
  );
  holds('another command of Lectern runs in the image', JSON.parse(looked).summary.events, EVENTS);
  const port = await freePort();
  await podman.do(
    ...[
      'run',
      '--detach',
      '--name',
      'image',
      '--read-only',
      '--cap-drop=all',
      '--security-opt=no-new-privileges',
    ],
    ...['--publish', `127.0.0.1:${port}:3000`, '--env', `LECTERN_HS256_SECRET=${SECRET}`],
    ...['--volume', `${data}:/data/timetable.ndjson:ro`, image],
  );
  const url = `http://127.0.0.1:${port}/api/v1/schedule/types`;
  const { body } = await until(
    ({ status }) => status === 200,
    () => get(url, tokenOf(SECRET, { sub: 'somebody' })),
  );
  holds('the image serves the file that it is given', Array.isArray(body) && body.length > 0);
  holds('who has no token gets 401', (await get(url)).status, 401);
  const health = await podman.outcome('healthcheck', 'run', 'image').then(
    () => 'healthy',
    (error) => error.message,
  );
  holds('its health check finds it healthy', health, 'healthy');
  holds('it runs without rights', await rightsOf(podman, 'image', ['/app/x']), {
    uid: NOBODY,
    gid: NOBODY,
    capabilities: 0,
    noNewPrivileges: '1',
    writes: ['EROFS'],
  });
  const shell = await podman.do('exec', 'image', '/bin/sh', '-c', 'true').then(
    () => 'a shell',
    () => 'none',
  );
  holds('it has no shell', shell, 'none');
  await podman.do('stop', '--time', '20', 'image');
  holds('it ends by SIGTERM', await stopped(podman, 'image'), { exitCode: 0, isLogged: true });
}

/** The pod of the manifests. podman acts like a kubelet, but ignores replicas, services and budgets. */
async function tryManifests(podman, image) {
  const text = readFileSync(join(ROOT, 'deploy/kubernetes.yaml'), 'utf8');
  const deployment = parseAllDocuments(text)[0].toJS();
  const { spec } = deployment.spec.template;
  const [container] = spec.containers;
  const { name, args, env } = container;
  const given = (option) => args.find((arg) => arg.startsWith(`--${option}=`)).slice(option.length + 3);
  const { secretKeyRef } = env.find(({ valueFrom }) => valueFrom?.secretKeyRef !== undefined).valueFrom;
  const upstreamToken = 'of-upstream';
  const upstream = await startUpstream({
    upstreamToken,
    issuer: given('issuer'),
    audience: given('audience'),
  });
  try {
    const secret = join(podman.folder, 'secret');
    writeFileSync(
      secret,
      JSON.stringify({ [secretKeyRef.key]: Buffer.from(upstreamToken).toString('base64') }),
    );
    await podman.do('secret', 'create', secretKeyRef.name, secret);
    const away = join(podman.folder, 'away.yaml');
    const named = text.replace(/image: \S+/, `image: ${image}`).replace(/replicas: \d+/, 'replicas: 1');
    writeFileSync(away, named);
    await podman.do('play', 'kube', away);
    const [pod] = (await podman.do('pod', 'ps', '--format', '{{.Name}}')).split('\n');
    const inPod = `${pod}-${name}`;
    const admin = 'http://127.0.0.1:3001';
    await until(
      ({ status }) => status === 200,
      () => get(`${admin}/live`),
    );
    const ready = await get(`${admin}/ready`);
    holds('the pod as it stands, with source and issuer out of reach, is alive and not ready', ready, {
      status: 503,
      body: { ready: false, reasons: ['no-snapshot', 'no-keys'] },
    });
    await podman.do('pod', 'rm', '--force', pod);

    const here = join(podman.folder, 'here.yaml');
    const at = `http://host.containers.internal:${upstream.port}`;
    writeFileSync(here, named.replace(args[0], `${at}/all`).replace(given('jwks'), `${at}/keys`));
    await podman.do('play', 'kube', here);
    await until(
      ({ status }) => status === 200,
      () => get(`${admin}/ready`),
    );
    const all = await get('http://127.0.0.1:3000/api/v1/schedule/all', upstream.token);
    holds('with both within reach it serves', [all.status, all.body.length], [200, EVENTS]);
    holds(
      'it has the rights that the manifests give',
      await rightsOf(podman, inPod, ['/app/x', '/var/lib/lectern/x', '/tmp/x']),
      {
        uid: NOBODY,
        gid: NOBODY,
        capabilities: 0,
        noNewPrivileges: '1',
        writes: ['EROFS', 'ok', 'ok'],
      },
    );
    const began = performance.now();
    await podman.do('pod', 'stop', '--time', String(spec.terminationGracePeriodSeconds), pod);
    const seconds = (performance.now() - began) / 1000;
    const drain = Number(given('drain-seconds'));
    holds('it drains', seconds >= drain && seconds < spec.terminationGracePeriodSeconds);
    holds('and ends within its grace period', await stopped(podman, inPod), { exitCode: 0, isLogged: true });
  } finally {
    upstream.close();
  }
}

if (programOf('podman') === null) {
  console.error('podman is missing: apt-get install podman buildah runc catatonit');
  process.exit(2);
}
const podman = new Podman();
try {
  const bases = [...readFileSync(join(ROOT, 'Dockerfile'), 'utf8').matchAll(/^FROM (\S+)/gm)].map(
    ([, name]) => (name.includes('/') ? name : `docker.io/library/${name}`),
  );
  if (values['stand-in-bases']) await makeBases(podman, bases);
  const image = 'localhost/lectern:0.1.0';
  const pull = values['stand-in-bases'] ? 'never' : 'missing';
  await podman.do('build', `--pull=${pull}`, '--format', 'docker', '--network', 'host', '--tag', image, ROOT);
  holds('the Dockerfile builds', (await podman.do('images', '--quiet', image)).length > 0);
  await tryImage(podman, image);
  await tryManifests(podman, image);
  console.log(
    `${passed} passed, 0 failed${values['stand-in-bases'] ? ', on stand-ins for the base images' : ''}`,
  );
} catch (error) {
  console.error(error.stderr ?? error);
  console.error(`${passed} passed, 1 failed`);
  process.exitCode = 1;
} finally {
  await podman.end();
}
