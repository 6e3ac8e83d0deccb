/** The systemd unit and the Kubernetes manifests use existing settings. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { parseAllDocuments } from 'yaml';

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const HELP = execFileSync(process.execPath, [at('dist/cli.js'), 'serve', '--help'], { encoding: 'utf8' });

function assertOptions(t: { ok(value: boolean, name: string): unknown }, texts: readonly string[]): void {
  const names = texts.flatMap((text) => text.match(/--[a-z0-9-]+/g) ?? []);
  for (const name of names) t.ok(new RegExp(`\\s${name} `).test(HELP), `${name} is an option`);
}

const UNIT = at('deploy/lectern.service');
const skip =
  spawnSync('systemd-analyze', ['--version']).error !== undefined && 'systemd-analyze is not installed';

test('the systemd unit is valid and hardened', { skip }, (t) => {
  const verdict = execFileSync('systemd-analyze', ['verify', UNIT], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.equal(verdict, '', 'systemd-analyze verify finds no fault');
  // On a scale to 10.0, the score of a service without any hardening.
  const exposure = ['security', '--offline=true', '--threshold=20', UNIT];
  t.doesNotThrow(
    () => execFileSync('systemd-analyze', exposure, { stdio: 'pipe' }),
    'exposure of 2.0 or less',
  );
  t.end();
});

test('the options in the systemd unit exist', (t) => {
  const text = readFileSync(UNIT, 'utf8');
  assertOptions(t, [/ExecStart=[\s\S]*?[^\\]\n/.exec(text)?.[0] ?? 'none']);
  t.notMatch(text, /npm install[^\n]* lectern$/m, 'nothing is fetched by a name that anybody could take');
  t.match(text, /npm install --global --ignore-scripts \.\/lectern-[\d.]+\.tgz/);
  t.match(text, /SystemCallFilter=.*@pkey/, 'V8 calls pkey_alloc');
  t.end();
});

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}
interface Container {
  readonly args: readonly string[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
}

test('the Kubernetes manifests fit together', (t) => {
  const documents = parseAllDocuments(readFileSync(at('deploy/kubernetes.yaml'), 'utf8'));
  for (const document of documents) t.strictSame(document.errors, []);
  const [deployment, service, budget] = documents.map((document) => document.toJS());
  t.strictSame(
    [deployment, service, budget].map(({ kind }) => kind),
    ['Deployment', 'Service', 'PodDisruptionBudget'],
  );
  const { labels } = deployment.spec.template.metadata;
  for (const selector of [
    deployment.spec.selector.matchLabels,
    service.spec.selector,
    budget.spec.selector.matchLabels,
  ]) {
    t.strictSame(selector, labels);
  }
  t.equal(deployment.spec.template.spec.enableServiceLinks, false, 'or LECTERN_PORT would be an address');
  const container = deployment.spec.template.spec.containers[0] as Container;
  assertOptions(t, container.args);
  const admin = container.ports.find(({ name }) => name === 'admin')?.containerPort;
  t.ok(container.args.includes(`--admin-port=${admin}`));
  t.equal(service.spec.ports[0].targetPort, 'http');
  t.strictSame(container.livenessProbe.httpGet, { path: '/live', port: 'admin' });
  t.strictSame(container.readinessProbe.httpGet, { path: '/ready', port: 'admin' });
  t.strictSame(container.startupProbe.httpGet, { path: '/live', port: 'admin' });
  const drain = Number(container.args.find((arg) => arg.startsWith('--drain-seconds='))?.split('=')[1]);
  t.ok(
    drain + 10 < deployment.spec.template.spec.terminationGracePeriodSeconds,
    'killed only after all deadlines',
  );
  t.end();
});
