/** Compares the document with its tables, and with real answers of the endpoints. */
import { randomBytes } from 'node:crypto';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formatsModule from 'ajv-formats';
import { type Test, test } from 'tap';
import {
  ENDPOINT_FORMATS,
  ENDPOINT_PARAMETERS,
  type EndpointName,
  FEED_PARAMETERS,
} from '../../../src/answer/endpoint-parameters.js';
import { PARAMETER_FAULTS, PROBLEMS } from '../../../src/base/errors.js';
import { OUTPUT_FIELDS } from '../../../src/base/model/fields.js';
import { FORMATS } from '../../../src/base/model/format.js';
import { createOpenApiDocument } from '../../../src/http/openapi/document.js';
import { bearer, type Client, EVENTS, serve, setUp, viewsOf } from '../harness.js';

interface Operation {
  readonly parameters?: readonly ({ $ref: string } | { name: string })[];
  readonly responses: Readonly<Record<string, ResponseObject>>;
  readonly security?: readonly object[];
}
interface ResponseObject {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, object>>;
  readonly content?: Readonly<Record<string, { schema: object; examples?: object }>>;
}
interface Document {
  readonly openapi: string;
  readonly servers: readonly { url: string }[];
  readonly paths: Readonly<Record<string, { get: Operation }>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, { properties: object; required: string[] }>>;
    readonly parameters: Readonly<Record<string, { name: string; description: string }>>;
    readonly responses: Readonly<Record<string, ResponseObject>>;
    readonly headers: object;
  };
}

const text = JSON.stringify(
  createOpenApiDocument({ basePath: '/api/v1', identifiers: 'uuid', version: '1.2.3' }),
);
const document = JSON.parse(text) as Document;

const ajv = new Ajv2020({ strict: false, allErrors: true });
formatsModule.default(ajv);
ajv.addSchema(document, 'openapi');

/** Validates a value against the schema at a JSON pointer of the document. */
function faultsOf(pointer: string, value: unknown): unknown {
  const validate = ajv.getSchema(`openapi#${pointer}`);
  if (validate === undefined) throw new Error(`no schema at ${pointer}`);
  return validate(value) ? null : validate.errors;
}

function escapePointer(part: string): string {
  return part.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** The response object of a status, with references followed, and its JSON pointer. */
function responseOf(path: string, status: number): { response: ResponseObject; pointer: string } {
  const response = document.paths[path]?.get.responses[status];
  if (response === undefined) throw new Error(`${path} has no response ${status}`);
  if (response.$ref === undefined) {
    return { response, pointer: `/paths/${escapePointer(path)}/get/responses/${status}` };
  }
  const name = response.$ref.split('/').at(-1) as string;
  return {
    response: document.components.responses[name] as ResponseObject,
    pointer: `/components/responses/${name}`,
  };
}

test('every code of both error tables is in the document, and every problem has an example', async (t) => {
  for (const code of [...Object.keys(PROBLEMS), ...Object.keys(PARAMETER_FAULTS)]) {
    t.ok(text.includes(`"${code}"`), `${code} in an enum`);
    t.ok(text.includes(`\`${code}\``), `${code} in the text`);
  }
  for (const [name, response] of Object.entries(document.components.responses)) {
    const examples = response.content?.['application/problem+json']?.examples ?? {};
    t.ok(Object.keys(examples).length > 0, name);
    for (const [code, example] of Object.entries(examples)) {
      t.equal(
        faultsOf('/components/schemas/Problem', (example as { value: unknown }).value),
        null,
        `${name} ${code}`,
      );
    }
  }
});

test('the Event record has the fields of the table, in order, all required', async (t) => {
  const names = OUTPUT_FIELDS.map((field) => field.name);
  const event = document.components.schemas.Event;
  t.same(Object.keys(event?.properties ?? {}), names);
  t.same(event?.required, names);
  t.match(event?.properties, {
    id: { type: 'string', format: 'uuid' },
    time: { type: 'string', format: 'date-time' },
    title: { type: ['string', 'null'] },
    lecturerId: undefined,
  });
  const any = createOpenApiDocument({
    basePath: '',
    identifiers: 'any',
    version: '1',
  }) as unknown as Document;
  t.notMatch(JSON.stringify(any), /"uuid"/, 'no UUID is promised where identifiers are any text');
  const derived = createOpenApiDocument({ basePath: '', identifiers: 'derived', version: '1' });
  const { components } = derived as unknown as Document;
  t.match(components.schemas.Event?.properties, { roomId: { format: 'uuid' } });
  const roomId = JSON.stringify((components as { parameters?: object }).parameters);
  t.match(roomId, '"roomId"');
  t.notMatch(roomId, /"uuid"/, 'filters take the text that an identifier was derived from');
});

test('servers are relative to the document, even if a proxy adds a prefix', async (t) => {
  for (const basePath of ['', '/x', '/api/v1', '/a/b/c']) {
    const { servers, paths } = createOpenApiDocument({
      basePath,
      identifiers: 'uuid',
      version: '1',
    }) as unknown as Document & { paths: { '/health': { servers: { url: string }[] } } };
    for (const prefix of ['', '/timetable', '/far/away']) {
      const address = `http://proxy.example${prefix}${basePath}/docs/openapi.json`;
      // Paths begin with a slash, so a slash at the end of a server is removed.
      const from = (server: { url: string } | undefined): string =>
        new URL(server?.url ?? '', address).pathname.replace(/\/$/, '');
      t.equal(from(servers[0]), prefix + basePath, address);
      t.equal(from(paths['/health'].servers[0]), prefix, `${address} health`);
    }
  }
});

test('every endpoint lists exactly its parameters', async (t) => {
  const paths = {
    schedule: '/schedule',
    personal: '/schedule/personal',
    all: '/schedule/all',
    types: '/schedule/types',
    conflicts: '/schedule/conflicts',
    free: '/schedule/free',
    changes: '/schedule/changes',
    feed: '/schedule/feed',
    rooms: '/schedule/rooms',
    courses: '/schedule/courses',
    groups: '/schedule/groups',
    lecturers: '/schedule/lecturers',
  } as const;
  for (const [endpoint, path] of Object.entries(paths)) {
    const known = [
      ...(endpoint === 'feed' ? FEED_PARAMETERS : ENDPOINT_PARAMETERS[endpoint as EndpointName]).keys(),
    ];
    const shown = document.paths[path]?.get.parameters?.map((parameter) => {
      if (!('$ref' in parameter)) return parameter.name;
      const component = document.components.parameters[parameter.$ref.split('/').at(-1) as string];
      t.ok((component?.description.length ?? 0) > 20, `${parameter.$ref} is described`);
      return component?.name;
    });
    if (endpoint !== 'feed') known.push('Lectern-Min-Version');
    if (endpoint === 'changes') known.push('Last-Event-ID');
    t.same(shown, known, path);
  }
});

test('every reference has a target', async (t) => {
  const references = [...text.matchAll(/"\$ref":"#\/([^"]+)"/g)].map((match) => match[1] as string);
  t.ok(references.length > 50);
  for (const reference of new Set(references)) {
    let target: unknown = document;
    for (const part of reference.split('/')) target = (target as Record<string, unknown> | undefined)?.[part];
    t.ok(target, reference);
  }
});

/** Sends a request and compares status, header fields, content type and body with the document. */
async function hold(
  t: Test,
  send: Client['send'],
  path: string,
  status: number,
  options: { query?: string; method?: string; headers?: Record<string, string> } = {},
): Promise<void> {
  const filled = path.replace('{id}', EVENTS[0]?.id ?? '');
  const target = (path === '/health' ? path : `/api/v1${filled}`) + (options.query ?? '');
  const reply = await send(target, { method: options.method ?? 'GET', headers: options.headers ?? {} });
  const name = `${options.method ?? 'GET'} ${target} ${status}`;
  t.equal(reply.status, status, name);
  const { response, pointer } = responseOf(path, status);
  const conditional = ['link', 'content-disposition', 'last-modified', 'www-authenticate', 'retry-after'];
  for (const header of Object.keys(response.headers ?? {})) {
    if (conditional.includes(header.toLowerCase())) continue;
    t.ok(reply.headers[header.toLowerCase()] !== undefined, `${name}: ${header}`);
  }
  for (const header of [
    'etag',
    'x-total-count',
    'link',
    'www-authenticate',
    'retry-after',
    'allow',
    'content-disposition',
  ]) {
    const shown = Object.keys(response.headers ?? {}).some((other) => other.toLowerCase() === header);
    if (reply.headers[header] !== undefined && !(path === '/docs' && header === 'etag')) {
      t.ok(shown, `${name}: ${header} is in the document`);
    }
  }
  if (status === 304) {
    t.equal(reply.body.length, 0, name);
    return;
  }
  const mediaType = (reply.headers['content-type'] ?? '').replace(/;.*/, '');
  t.ok(response.content?.[mediaType], `${name}: ${mediaType} is in the document`);
  if (mediaType === 'text/html' || mediaType.includes('msgpack')) return;
  const isText = FORMATS.some((format) => format.isOfEvents && format.mediaType === mediaType);
  const body = isText ? reply.body.toString() : reply.json();
  const faults = faultsOf(`${pointer}/content/${escapePointer(mediaType)}/schema`, body);
  t.equal(JSON.stringify(faults), 'null', `${name}: the body is valid`);
}

test('answers of the endpoints agree with the document', async (t) => {
  const { send } = await serve(t, setUp({ dev: true }).handler);
  const good = bearer({ studyGroup: 'A' });
  const lists = Object.keys(document.paths).filter(
    (path) => path.startsWith('/schedule') && path !== '/schedule/feed',
  );
  t.equal(lists.length, 12);
  const { id } = viewsOf().summary ?? {};
  for (const path of lists) {
    const needed: Readonly<Record<string, string>> = {
      '/schedule/changes': `?since=${id}`,
      '/schedule/free': '?by=lecturer&date=2024-09-07',
    };
    const query = needed[path] ?? '';
    await hold(t, send, path, 200, { query, headers: good });
    await hold(t, send, path, 200, { query, headers: { ...good, Accept: 'application/msgpack' } });
    const endpoint = (path.split('/')[2] ?? 'schedule') as keyof typeof ENDPOINT_FORMATS;
    const { content } = responseOf(path, 200).response;
    const mediaTypes = ENDPOINT_FORMATS[endpoint].map((format) => format.mediaType);
    const streams = path === '/schedule/changes' ? ['text/event-stream'] : [];
    t.same(Object.keys(content ?? {}), [...mediaTypes, ...streams], `${path} has its representations`);
    for (const Accept of mediaTypes) await hold(t, send, path, 200, { query, headers: { ...good, Accept } });
    await hold(t, send, path, 304, { query, headers: { ...good, 'If-None-Match': '*' } });
    await hold(t, send, path, 400, { headers: good, query: '?x=1&x=2&format=xml' });
    await hold(t, send, path, 400, { headers: { Authorization: 'Bearer' } });
    await hold(t, send, path, 401);
    await hold(t, send, path, 401, { headers: { Authorization: 'Bearer x' } });
    await hold(t, send, path, 405, { method: 'PUT' });
    await hold(t, send, path, 406, { query, headers: { ...good, Accept: 'text/html' } });
    await hold(t, send, path, 414, { query: `?${'x'.repeat(8192)}` });
  }
  await hold(t, send, '/schedule', 200, { headers: good, query: '?limit=1' });
  await hold(t, send, '/schedule/conflicts', 200, { headers: good, query: '?by=room&merge=false' });
  await hold(t, send, '/schedule/personal', 403, { headers: bearer() });
  for (const path of ['/login', '/docs', '/health']) {
    await hold(t, send, path, 200);
    await hold(t, send, path, 405, { method: 'DELETE' });
  }
  await hold(t, send, '/login', 400, { query: '?x=1' });
});

test('feeds agree with the document', async (t) => {
  const feedSecrets = [randomBytes(32)];
  const { send, port } = await serve(t, setUp({ feedSecrets, feeds: {} }).handler);
  const headers = bearer({ studyGroup: 'A' });
  const path = '/schedule/feed';
  const query = '?for=personal';
  await hold(t, send, path, 200, { headers, query });
  await hold(t, send, path, 400, { headers });
  await hold(t, send, path, 401, { query });
  await hold(t, send, path, 403, { headers: bearer(), query });
  await hold(t, send, path, 405, { method: 'PUT' });
  await hold(t, send, path, 421, { headers: { ...headers, Host: `elsewhere:${port}` }, query });
  const issued = (await send(`/api/v1${path}${query}`, { headers })).json() as { url: string };
  const address = new URL(issued.url).pathname.replace(/\.\w+$/, '.json').slice('/api/v1'.length);
  // The document names the path by its template.
  const sendFeed: Client['send'] = (target, options) =>
    send(target.replace('/feeds/{feed}', address), options);
  await hold(t, sendFeed, '/feeds/{feed}', 200);
  for (const format of ['ics', 'csv', 'html']) {
    const sendOther: Client['send'] = (_, options) =>
      send(`/api/v1${address.replace('json', format)}`, options);
    await hold(t, sendOther, '/feeds/{feed}', 200);
  }
  await hold(t, sendFeed, '/feeds/{feed}', 304, { headers: { 'If-None-Match': '*' } });
  await hold(t, sendFeed, '/feeds/{feed}', 405, { method: 'PUT' });
  await hold(t, sendFeed, '/feeds/{feed}', 412, { headers: { 'If-Match': '"a"' } });
  await hold(t, send, '/feeds/{feed}', 404);
});

test('the document has the answers before the first snapshot', async (t) => {
  const views = viewsOf(EVENTS);
  views.view = null;
  views.status = 'starting';
  const { send } = await serve(t, setUp({ dev: true, views }).handler);
  for (const path of [
    '/schedule',
    '/schedule/personal',
    '/schedule/all',
    '/schedule/types',
    '/schedule/conflicts',
  ]) {
    await hold(t, send, path, 503, { headers: bearer({ studyGroup: 'A' }) });
  }
  await hold(t, send, '/login', 503);
  await hold(t, send, '/health', 503);
});

test('the validation would notice a wrong answer', async (t) => {
  const event = { id: 'x' };
  t.ok(faultsOf('/components/schemas/Event', event));
  t.ok(faultsOf('/components/schemas/Problem', { code: 'other' }));
});

test('no sentence of the document touches the next one', async (t) => {
  t.strictSame(text.match(/[a-z)"]\.[A-Z][a-z]+ [^"]*/g), null);
});
