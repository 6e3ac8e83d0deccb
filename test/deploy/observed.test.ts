/** The alert rules and the dashboard use metrics and labels that exist. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { type Test, test } from 'tap';
import { parse } from 'yaml';
import { get } from '../app/threads.js';
import { SECRET } from '../auth/tokens.js';
import { testFolder } from '../base/files/test-folder.js';
import { openFleet } from '../fleet/fleet.js';
import { MemorySource, startService } from '../refresh/built.js';

const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly summary: string };
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}

const { groups } = parse(readFileSync(at('deploy/alerts.yaml'), 'utf8')) as {
  groups: readonly { readonly rules: readonly Rule[] }[];
};
const RULES = groups.flatMap(({ rules }) => rules);
const { panels: PANELS } = JSON.parse(readFileSync(at('deploy/dashboard.json'), 'utf8')) as {
  panels: readonly Panel[];
};

/** Metrics of a service, a publisher and a replica that have everything. */
async function scrapedTexts(t: Test): Promise<readonly string[]> {
  const issuer = createServer((_, response) => response.writeHead(503).end());
  issuer.listen(0, '127.0.0.1');
  await once(issuer, 'listening');
  t.teardown(() => issuer.close());
  const rooms = `${testFolder(t, { 'rooms.json': '[]' })}/rooms.json`;
  const time = '2026-10-05T08:00:00Z';
  const event = { id: '00000000-0000-4000-8000-000000000000', time, endTime: time };
  const service = await startService({
    source: new MemorySource([event]),
    rooms,
    port: 0,
    adminPort: 0,
    hs256Secret: SECRET,
    jwks: `http://127.0.0.1:${(issuer.address() as AddressInfo).port}/keys`,
  });
  t.teardown(() => service.close());
  await service.ready;
  await get(`${service.baseUrl}/schedule`);
  const fleet = await openFleet(t, 'folder');
  const publishing = await fleet.publisher(new MemorySource([event]), { admin: { port: 0 } });
  const replica = fleet.replica();
  await publishing.announced;
  await replica.ready;
  const server = await replica.serve({ port: 0, auth: { hs256Secret: SECRET }, admin: { port: 0 } });
  const admins = [service.adminAddress, publishing.adminAddress, server.adminAddress];
  return Promise.all(admins.map(async (admin) => (await get(`${admin?.origin}/metrics`)).body.toString()));
}

/** Labels by metric. */
function labelsOf(text: string): ReadonlyMap<string, ReadonlySet<string>> {
  const metrics = new Map<string, Set<string>>();
  for (const [, name = ''] of text.matchAll(/^# TYPE (\S+) /gm))
    metrics.set(name, metrics.get(name) ?? new Set());
  for (const [, name = '', labels = ''] of text.matchAll(/^([a-z0-9_]+)(?:\{([^}]*)\})? /gm)) {
    const known = metrics.get(name) ?? metrics.get(name.replace(/_(?:bucket|sum|count)$/, ''));
    for (const [, label = ''] of labels.matchAll(/([a-z]+)="/g)) known?.add(label);
  }
  return metrics;
}

const skip = spawnSync('promtool', ['--version']).error !== undefined && 'promtool is not installed';

test('rules and dashboard name existing metrics', async (t) => {
  const texts = await scrapedTexts(t);
  await t.test('promtool finds no fault in the metrics', { skip }, async (t) => {
    for (const input of texts) {
      const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
        input,
        encoding: 'utf8',
      });
      t.strictSame({ status, said: stdout + stderr }, { status: 0, said: '' });
    }
  });
  const metrics = labelsOf(texts.join('\n'));
  const expressions: readonly (readonly [where: string, expr: string])[] = [
    ...RULES.map(({ alert, expr }) => [alert, expr] as const),
    ...PANELS.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)),
  ];
  t.ok(expressions.length > 40);
  for (const [where, expr] of expressions) {
    const asked = [...expr.matchAll(/\b((?:lectern|nodejs|process)_[a-z0-9_]+)(?:\{([^}]*)\})?/g)];
    t.ok(asked.length > 0, where);
    const known = new Set(['instance', 'job']);
    for (const [, name = '', matchers = ''] of asked) {
      const labels = metrics.get(name) ?? metrics.get(name.replace(/_bucket$/, ''));
      if (!t.ok(labels, `${where}: ${name}`)) continue;
      for (const label of labels ?? []) known.add(label);
      for (const [, label = ''] of matchers.matchAll(/([a-z]+)(?:=~|!=|=)"/g))
        t.ok(label === 'instance' || labels?.has(label), `${where}: ${name} has the label ${label}`);
    }
    for (const [, list = ''] of expr.matchAll(/\b(?:by|without|ignoring|on) \(([^)]*)\)/g))
      for (const label of list.split(', ').filter(Boolean))
        t.ok(known.has(label), `${where}: ${label} of "${list}"`);
  }
});

test('each condition that needs an operator has an alert', (t) => {
  const expressions = RULES.map(({ expr }) => expr).join('\n');
  for (const name of [
    'lectern_sources_overdue',
    'lectern_files_refused',
    'lectern_snapshot_file_failed',
    'lectern_ready',
    'lectern_publisher_leader',
    'lectern_channel_lag_seconds',
    'lectern_channel_quarantined_images',
  ]) {
    t.match(expressions, name);
  }
  // Those of a whole fleet name no instance.
  const isOfFleet = (expr: string): boolean => /^(?:count|max)\(/.test(expr);
  for (const { alert, annotations, expr } of RULES)
    if (!isOfFleet(expr)) t.match(annotations.summary, '{{ $labels.instance }}', alert);
  t.end();
});

test('panels of the dashboard do not overlap, and have distinct ids', (t) => {
  const taken = new Set<string>();
  for (const { title, gridPos } of PANELS) {
    const { x, y, w, h } = gridPos;
    t.ok(x + w <= 24, title);
    for (let row = y; row < y + h; row++) {
      for (let column = x; column < x + w; column++) {
        const place = `${column},${row}`;
        if (taken.has(place)) t.fail(`${title} covers another panel at ${place}`);
        taken.add(place);
      }
    }
  }
  t.equal(new Set(PANELS.map(({ id }) => id)).size, PANELS.length);
  t.equal(new Set(PANELS.map(({ title }) => title)).size, PANELS.length);
  t.end();
});

test('promtool understands every expression', { skip }, (t) => {
  const rules = PANELS.flatMap(({ id, targets = [] }) =>
    targets.map(({ expr }, n) => ({
      record: `panel:${id}:${n}`,
      expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*'),
    })),
  );
  // YAML 1.2 includes JSON.
  const file = `${t.testdir({ 'panels.yaml': JSON.stringify({ groups: [{ name: 'panels', rules }] }) })}/panels.yaml`;
  const { status, stdout, stderr } = spawnSync(
    'promtool',
    ['check', 'rules', at('deploy/alerts.yaml'), file],
    {
      encoding: 'utf8',
    },
  );
  t.equal(status, 0, stdout + stderr);
  t.end();
});
