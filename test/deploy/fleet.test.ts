/** The manifests and the compose file of a fleet fit together, and use existing settings. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { parse, parseAllDocuments } from 'yaml';
import { writeKeys } from '../fleet/fleet.js';

const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const FLEET = at('deploy/fleet');

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}
interface Container {
  readonly command?: readonly string[];
  readonly args: readonly string[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly readinessProbe: Probe;
  readonly securityContext: object;
}
interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly replicas: number;
    readonly selector: { readonly matchLabels: object; readonly app: string };
    readonly podSelector: { readonly matchLabels: object };
    readonly ingress: readonly { readonly ports: readonly { readonly port: string }[] }[];
    readonly ports: readonly { readonly targetPort: string }[];
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
    readonly template: {
      readonly metadata: { readonly labels: object };
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly enableServiceLinks: boolean;
        readonly volumes?: readonly { readonly name: string }[];
        readonly containers: readonly Container[];
      };
    };
  };
}

const KUSTOMIZATION = parse(readFileSync(join(FLEET, 'kustomization.yaml'), 'utf8')) as {
  readonly resources: readonly string[];
};
const MANIFESTS = KUSTOMIZATION.resources.flatMap((name) =>
  parseAllDocuments(readFileSync(join(FLEET, name), 'utf8')).map((document) => {
    if (document.errors.length > 0) throw new Error(`${name}: ${document.errors[0]?.message}`);
    return document.toJS() as Manifest;
  }),
);
const WORKLOADS = MANIFESTS.filter(({ kind }) => ['Deployment', 'StatefulSet'].includes(kind));

function helpOf(command: string): string {
  return execFileSync(process.execPath, [at('dist/cli.js'), command, '--help'], { encoding: 'utf8' });
}

function unknownOptions(command: 'serve' | 'publish', args: readonly string[]): string[] {
  const help = helpOf(command);
  const names = args.flatMap((arg) => arg.match(/^--[a-z0-9-]+/) ?? []);
  return names.filter((name) => !new RegExp(`\\s${name} `).test(help));
}

test('workloads, services, budgets and policies select each other', (t) => {
  t.strictSame(WORKLOADS.map(({ metadata }) => metadata.name).sort(), [
    'lectern',
    'lectern-publisher',
    'nats',
  ]);
  const labels = new Map(
    WORKLOADS.map(({ metadata, spec }) => [metadata.name, spec.template.metadata.labels]),
  );
  for (const { kind, metadata, spec } of MANIFESTS) {
    const expected = labels.get(metadata.name);
    const name = `${kind} ${metadata.name}`;
    if (kind === 'Service') t.strictSame(spec.selector, expected, name);
    else if (kind === 'NetworkPolicy') t.strictSame(spec.podSelector.matchLabels, expected, name);
    else if (kind !== 'Namespace') t.strictSame(spec.selector.matchLabels, expected, name);
  }
  for (const kind of ['PodDisruptionBudget', 'NetworkPolicy'])
    for (const name of ['lectern', 'lectern-publisher'])
      t.ok(
        MANIFESTS.some((each) => each.kind === kind && each.metadata.name === name),
        `${kind} of ${name}`,
      );
  t.end();
});

test('ports, volumes and probes exist, and containers have few rights', (t) => {
  for (const { metadata, spec } of WORKLOADS) {
    const pod = spec.template.spec;
    t.equal(pod.enableServiceLinks, false, 'or LECTERN_PORT would be an address');
    const volumes = [
      ...(pod.volumes ?? []).map(({ name }) => name),
      ...(spec.volumeClaimTemplates ?? []).map((claim) => claim.metadata.name),
    ];
    const [container] = pod.containers as readonly [Container];
    const ports = container.ports.map(({ name }) => name);
    t.strictSame(container.volumeMounts.map(({ name }) => name).sort(), volumes.sort(), metadata.name);
    t.ok(ports.includes(container.readinessProbe.httpGet.port), metadata.name);
    const rights = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true };
    t.match(container.securityContext, rights, metadata.name);
    for (const { kind, metadata: other, spec: policy } of MANIFESTS) {
      if (other.name !== metadata.name) continue;
      const named =
        kind === 'NetworkPolicy'
          ? policy.ingress.flatMap((rule) => rule.ports.map(({ port }) => port))
          : kind === 'Service'
            ? policy.ports.map(({ targetPort }) => targetPort)
            : [];
      for (const port of named) t.ok(ports.includes(port), `${kind} ${other.name}: ${port}`);
    }
  }
  t.end();
});

test('the options of publishers and replicas exist', (t) => {
  const containerOf = (name: string): Container =>
    WORKLOADS.find(({ metadata }) => metadata.name === name)?.spec.template.spec.containers[0] as Container;
  const [publisher, replica] = [containerOf('lectern-publisher'), containerOf('lectern')];
  t.strictSame(unknownOptions('publish', publisher.args), []);
  t.strictSame(unknownOptions('serve', replica.args), []);
  t.strictSame(publisher.command?.slice(-2), ['dist/cli.js', 'publish']);
  t.ok(publisher.args.includes(`--to=${replica.args[0]}`), 'replicas read the store of the publisher');
  const drain = Number(replica.args.find((arg) => arg.startsWith('--drain-seconds='))?.split('=')[1]);
  const pod = WORKLOADS.find(({ metadata }) => metadata.name === 'lectern')?.spec.template.spec;
  t.ok(drain + 10 < (pod?.terminationGracePeriodSeconds ?? 0), 'killed only after all deadlines');
  t.end();
});

test('the services of the compose file have existing options, files and targets', (t) => {
  const text = readFileSync(join(FLEET, 'compose.yaml'), 'utf8');
  const { services, secrets, configs } = parse(text, { merge: true }) as {
    readonly services: Readonly<
      Record<
        string,
        {
          readonly entrypoint?: readonly string[];
          readonly command: readonly string[];
          readonly environment?: Readonly<Record<string, string>>;
          readonly secrets?: readonly string[];
          readonly configs?: readonly { readonly source: string }[];
          readonly deploy?: { readonly replicas: number };
          readonly healthcheck?: { readonly test: readonly string[] };
          readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
        }
      >
    >;
    readonly secrets: object;
    readonly configs: object;
  };
  t.strictSame(Object.keys(services), ['nats', 'publisher', 'replica', 'balancer']);
  const { publisher, replica, balancer } = services;
  for (const service of [publisher, replica]) {
    t.ok(service?.command.includes('--admin-host=0.0.0.0'), 'dashboards reach the admin port');
    const port = service?.command.find((arg) => arg.startsWith('--admin-port='))?.split('=')[1];
    t.match(service?.healthcheck?.test.at(-1), `http://127.0.0.1:${port}/ready`);
    t.strictSame(service?.healthcheck?.test.slice(0, 2), ['CMD', publisher?.entrypoint?.[0]]);
  }
  t.match(balancer?.depends_on, { replica: { condition: 'service_healthy' } });
  t.strictSame(unknownOptions('publish', publisher?.command ?? []), []);
  t.strictSame(unknownOptions('serve', replica?.command ?? []), []);
  t.ok(publisher?.command.includes(`--to=${replica?.command[0]}`));
  t.ok((publisher?.deploy?.replicas ?? 0) > 1 && (replica?.deploy?.replicas ?? 0) > 1);
  for (const service of Object.values(services)) {
    for (const name of service.secrets ?? []) {
      t.ok(name in secrets);
      t.ok(
        [...service.command, ...Object.entries(service.environment ?? {}).map((each) => each.join('='))].some(
          (arg) => arg.endsWith(`=/run/secrets/${name}`),
        ),
        name,
      );
    }
    for (const { source } of service.configs ?? []) t.ok(source in configs);
  }
  t.end();
});

const noKubectl = spawnSync('kubectl', ['version', '--client']).status !== 0 && 'kubectl is not installed';

test('kustomize builds the manifests', { skip: noKubectl }, (t) => {
  const folder = t.testdir({ 'secrets.env': 'NATS_TOKEN=one\nUPSTREAM_TOKEN=two\n' });
  cpSync(FLEET, folder, { recursive: true });
  const { publisherKey, publisherPublicKey } = writeKeys(folder, 'publisher');
  t.ok(publisherKey.endsWith('publisher.key') && publisherPublicKey.endsWith('publisher.pub'));
  const built = execFileSync('kubectl', ['kustomize', folder], { encoding: 'utf8' });
  t.equal(parseAllDocuments(built).length, MANIFESTS.length + 3, 'two secrets and a map more');
  t.notMatch(
    built,
    /secretName: publisher-key$/m,
    'the name has a hash, so that a new key restarts its pods',
  );
  t.end();
});

const noCompose =
  spawnSync('docker', ['compose', 'version']).status !== 0 && 'docker compose is not installed';

test('docker compose understands the file', { skip: noCompose }, (t) => {
  const folder = t.testdir({ '.env': 'NATS_TOKEN=one\nRUN_AS=1:1\n' });
  writeFileSync(join(folder, 'compose.yaml'), readFileSync(join(FLEET, 'compose.yaml')));
  execFileSync('docker', ['compose', '--project-directory', folder, 'config', '--quiet'], { stdio: 'pipe' });
  t.end();
});
